"""A model in training as a ranker: its own token vectors in an index that lives as long as the ranker."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from ..training.model import LateInteractionModel
from ..training.texts import TrainingTexts
from ..views.tokens.index import TokenIndex

AT_ONCE = 4096  # passages of a part
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
        parts = [
            texts.represent(model, range(start, min(start + AT_ONCE, passages)), "passage")
            for start in range(0, passages, AT_ONCE)
        ]
        self._index = TokenIndex.build(Path(self._folder.name) / "x.tokens", parts, bits=BITS)

    def __call__(self, queries: Sequence[str], k: int) -> list[list[int]]:
        """The k best passages for each query, by number, best first."""
        vectors = self._texts.represent(self._model, [self._numbers[text] for text in queries], "query")
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
