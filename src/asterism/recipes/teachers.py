"""Rankings and teachers for training, made of indexes and models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..documents.document import Document
from ..encoders.encoder import Encoder
from ..encoders.loading import load_encoder, load_pair_scorer
from ..errors import CheckpointError
from ..retriever import Retriever
from ..settings import View
from ..training.negatives import Scorer
from .recipe import NegativeSettings

VIEWS: dict[str, list[View] | None] = {"lexical": ["lexical"], "dense": ["dense"], "colbert": ["multi"], "hybrid": None}


class PassageIndex:
    """An index of all passages of a training set; ids are their numbers."""

    def __init__(self, retriever: Retriever, method: str) -> None:
        """Search it by one method."""
        self._retriever, self._method = retriever, method

    @classmethod
    def open_or_make(cls, path: Path, passages: Sequence[str], method: str, model: str) -> PassageIndex:
        """Open the index at `path`, or make it; an interrupted one is continued."""
        made = Retriever.open(path) if path.exists() else Retriever.create(path, model, views=VIEWS[method])
        documents = (Document(str(number), text) for number, text in enumerate(passages))
        made.add(made.missing(documents))
        return cls(made, method)

    def __call__(self, queries: Sequence[str], k: int) -> list[list[int]]:
        """The k best passages for each query, by number, best first."""
        rankings = self._retriever.search_many(list(queries), k, method=self._method)
        return [[int(hit.id) for hit in ranking] for ranking in rankings]

    def close(self) -> None:
        """Close the index."""
        self._retriever.close()


class IndexTeacher:
    """The score that an index gives to a query and one of its passages, all views together."""

    def __init__(self, retriever: Retriever, passages: Sequence[str]) -> None:
        """`passages` in the order of their numbers."""
        self._retriever = retriever
        self._numbers = {text: str(number) for number, text in enumerate(passages)}

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """(texts,) passages that the search does not reach are looked at one by one."""
        found = {hit.id: hit.score for hit in self._retriever.search(query, 100, method="hybrid")}
        ids = [self._numbers[text] for text in texts]
        scores = [found[id] if id in found else self._retriever.explain(query, id, method="hybrid").score for id in ids]
        return np.array(scores, np.float32)


class EncoderTeacher:
    """The cosine of a model's dense vectors, or the mean similarity of its token vectors if it has no others."""

    def __init__(self, encoder: Encoder) -> None:
        """Any model with one of these views."""
        self._encoder = encoder
        self._view: View = "dense" if "dense" in encoder.views else "multi"
        self._known: dict[str, npt.NDArray[np.float32]] = {}

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """(texts,)."""
        self._learn(texts)
        asked = self._encoder.encode_query([query], views=[self._view])
        if asked.dense is not None:
            return np.array([asked.dense[0] @ self._known[text] for text in texts], np.float32)
        if asked.multi is None:
            return np.zeros(len(texts), np.float32)
        tokens = np.asarray(asked.multi.flat, np.float32)
        return np.array([(self._known[text] @ tokens.T).max(axis=0).mean() for text in texts], np.float32)

    def _learn(self, texts: Sequence[str]) -> None:
        """Encode the texts that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if not new:
            return
        found = self._encoder.encode_document(new, views=[self._view])
        if found.dense is not None:
            self._known |= dict(zip(new, found.dense, strict=True))
        elif found.multi is not None:
            self._known |= {text: np.asarray(found.multi[i], np.float32) for i, text in enumerate(new)}


def load_teacher(settings: NegativeSettings, passages: Sequence[str], folder: Path) -> Scorer | None:
    """The teacher that the settings name."""
    if not settings.teacher:
        return None
    if settings.teacher == "hybrid":
        path = folder / "teacher.ast"
        PassageIndex.open_or_make(path, passages, "hybrid", settings.model).close()
        return IndexTeacher(Retriever.open(path), passages)
    try:
        return load_pair_scorer(settings.teacher)
    except CheckpointError:
        return EncoderTeacher(load_encoder(settings.teacher, precision="int8"))
