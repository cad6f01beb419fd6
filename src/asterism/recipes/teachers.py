"""Rankings and teachers for training, made of indexes and models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..documents.document import Document
from ..encoders.encoder import Encoder
from ..encoders.loading import load_encoder, load_pair_scorer
from ..errors import CheckpointError, InputError
from ..representations import TokenVectors
from ..retriever import Retriever
from ..retriever.profiling import compare_token_vectors
from ..settings import View
from ..training.negatives import Scorer

VIEWS: dict[str, list[View] | None] = {"lexical": ["lexical"], "dense": ["dense"], "colbert": ["multi"], "hybrid": None}
DEPTH = 100  # passages that one search scores; others are looked at one by one


class PassageIndex:
    """An index of all passages of a training set: a ranking by one method, and a teacher by its scores."""

    def __init__(self, path: Path, passages: Sequence[str], method: str, model: str) -> None:
        """Open the index at `path`, or make it; an interrupted one is continued. Ids are the passages' numbers."""
        self._method = method
        self._ids = {text: str(number) for number, text in enumerate(passages)}
        self._retriever = Retriever.open(path) if path.exists() else Retriever.create(path, model, views=VIEWS[method])
        documents = (Document(id, text) for text, id in self._ids.items())
        self._retriever.add(self._retriever.missing(documents))

    def __call__(self, queries: Sequence[str], k: int) -> list[list[int]]:
        """The k best passages for each query, by number, best first."""
        rankings = self._retriever.search_many(list(queries), k, method=self._method)
        return [[int(hit.id) for hit in ranking] for ranking in rankings]

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """(texts,) the scores of passages of the set."""
        found = {hit.id: hit.score for hit in self._retriever.search(query, DEPTH, method=self._method)}
        scores = []
        for id in (self._ids[text] for text in texts):
            reached = id in found
            scores.append(found[id] if reached else self._retriever.explain(query, id, method=self._method).score)
        return np.array(scores, np.float32)

    def close(self) -> None:
        """Close the index."""
        self._retriever.close()


class EncoderTeacher:
    """The cosine of a model's dense vectors, or the mean similarity of its token vectors if it has no others."""

    def __init__(self, encoder: Encoder) -> None:
        """Any model with one of these views."""
        if not {"dense", "multi"} & set(encoder.views):
            raise InputError(f"the teacher has only {', '.join(encoder.views)}, expected dense or token vectors")
        self._encoder = encoder
        self._view: View = "dense" if "dense" in encoder.views else "multi"
        self._known: dict[str, npt.NDArray[np.float32]] = {}  # by text: vectors (n, d), n = 1 if they are dense

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """(texts,)."""
        for text in texts:
            if text not in self._known:  # one by one: the last digits depend on what is encoded together
                self._known[text] = self._encode(text, "document")
        asked = TokenVectors.from_documents([self._encode(query, "query")])
        known = TokenVectors.from_documents([self._known[text] for text in texts])
        return np.asarray(compare_token_vectors(asked, known)[0], np.float32)

    def _encode(self, text: str, side: str) -> npt.NDArray[np.float32]:
        """(n, d), n = 1 if the vectors are dense."""
        encode = self._encoder.encode_query if side == "query" else self._encoder.encode_document
        found = encode([text], views=[self._view])
        return np.asarray(found.dense if found.multi is None else found.multi[0], np.float32)


def load_teacher(model: str) -> Scorer:
    """A cross-encoder, or any other model, by name or folder."""
    try:
        return load_pair_scorer(model)
    except CheckpointError:
        return EncoderTeacher(load_encoder(model, precision="int8"))
