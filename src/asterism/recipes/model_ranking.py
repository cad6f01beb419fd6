"""A model in training as a ranker: its own token vectors in an index that lives as long as the ranker."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import torch
from torch import Tensor

from ..representations import TokenVectors
from ..training.model import LateInteractionModel
from ..training.texts import TrainingTexts
from ..views.tokens.index import TokenIndex

AT_ONCE = 256  # texts
BITS = 2


class ModelRanker:
    """Ranks the passages of a training set by the model as it is now; use it in a `with` block."""

    def __init__(
        self, model: LateInteractionModel, texts: TrainingTexts, queries: Sequence[str], passages: int
    ) -> None:
        """Encode all passages, and index them in a temporary folder."""
        self._model, self._texts = model, texts
        self._numbers = {text: number for number, text in enumerate(queries)}
        self._folder = tempfile.TemporaryDirectory()
        model.eval()
        parts = []
        for start in range(0, passages, AT_ONCE):
            with torch.inference_mode():
                found = texts.encode_passages(model, list(range(start, min(start + AT_ONCE, passages))))
            parts.append(_to_vectors(*found))
        self._index = TokenIndex.build(Path(self._folder.name) / "x.tokens", parts, bits=BITS)

    def __call__(self, queries: Sequence[str], k: int) -> list[list[int]]:
        """The k best passages for each query, by number, best first."""
        with torch.inference_mode():
            found = self._texts.encode_queries(self._model, [self._numbers[text] for text in queries])
        vectors = _to_vectors(*found)
        hits = self._index.search_many([vectors[i] for i in range(len(vectors))], k)
        return [row[row >= 0].tolist() for row in hits.ids]

    def __enter__(self) -> ModelRanker:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the index."""
        self._folder.cleanup()


def _to_vectors(vectors: Tensor, mask: Tensor) -> TokenVectors:
    """(b, m, d), (b, m) -> the vectors of all places that have one, as float16 to save memory."""
    offsets = np.concatenate([[0], np.cumsum(mask.sum(dim=1).cpu().numpy())])
    return TokenVectors(vectors[mask].cpu().numpy().astype(np.float16), offsets)
