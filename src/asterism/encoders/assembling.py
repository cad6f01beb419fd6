"""From a model's outputs, batch by batch, to the views of a chunk of texts, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..representations import LexicalWeights, Representations, TokenVectors
from .batching import Batch
from .checkpoints.checkpoint import Checkpoint
from .graph.heads import apply_layers
from .runtimes.backbone import Floats, Output
from .tokens import TextRules, TokenisedTexts

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Side:
    """Documents or queries of a model: rules, ids without a vector, ids without a lexical weight (vocabulary,)."""

    rules: TextRules
    skipped: Mask
    dropped: Mask
    constant: bool  # C vectors a text, pooled from the states
    repeated_cls: int | None  # the id that is averaged where there are several [CLS]


@dataclass(frozen=True)
class BatchViews:
    """What counts of one batch's outputs.

    pooled (rows, hidden) sums and shares (rows,); row, id and weight of each term (n,); vectors (n, d) and how many
    belong to each row.
    """

    numbers: npt.NDArray[np.int64]
    pooled: tuple[Floats, Floats] | None = None
    terms: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats] | None = None
    vectors: tuple[Floats, npt.NDArray[np.int64]] | None = None


def outputs_for(views: Sequence[str], side: Side) -> list[Output]:
    """What the model must give for these views."""
    of_view: dict[str, Output] = {
        "dense": "pooled",
        "lexical": "lexical",
        "multi": "states" if side.constant else "vectors",
    }
    return [of_view[view] for view in views]


def with_vectors(side: Side, batch: Batch) -> Mask:
    """(rows, tokens) the places that have a vector, unless vectors are pooled."""
    counts = batch.own() & ~side.skipped[batch.ids]
    if not side.rules.first_counts:
        counts[:, 0] = False
    return counts


def counted(checkpoint: Checkpoint, side: Side, batch: Batch, shares: Floats, found: dict[str, Floats]) -> BatchViews:
    """Of padded outputs, what counts; done where they are made, so that little is kept."""
    pooled, terms, vectors = None, None, None
    if "pooled" in found:
        pooled = (found["pooled"], shares.sum(axis=1))
    if "lexical" in found:
        rows, places = np.nonzero(batch.own() & batch.seen() & ~side.dropped[batch.ids] & (found["lexical"] > 0))
        terms = (batch.numbers[rows], batch.ids[rows, places], found["lexical"][rows, places])
    if "states" in found and checkpoint.multi:
        made = checkpoint.multi.pool_states(found["states"])  # (rows, C, d)
        vectors = (made.reshape(-1, made.shape[2]), np.full(len(made), made.shape[1]))
    elif "vectors" in found:
        counts = with_vectors(side, batch)
        vectors = (found["vectors"][counts], counts.sum(axis=1))
    return BatchViews(batch.numbers, pooled, terms, vectors)


@dataclass
class Assembly:
    """Puts the batches of one chunk together; rows of a text (its windows) become one."""

    checkpoint: Checkpoint
    texts: TokenisedTexts
    _parts: list[BatchViews] = field(default_factory=list)

    def take(self, part: BatchViews) -> None:
        """Batches come in any order of lengths."""
        self._parts.append(part)

    def representations(self) -> Representations:
        """All views that the batches had."""
        texts, first = self.texts.texts, self._parts[0]
        text_of = np.array([row.text for row in self.texts.rows], np.int64)
        return Representations(
            texts,
            self._dense(text_of) if first.pooled else None,
            self._lexical(text_of) if first.terms else None,
            self._vectors(text_of) if first.vectors else None,
            self.texts.truncated,
        )

    def _each(self, name: str) -> list[tuple[npt.NDArray[np.int64], Any]]:
        return [(part.numbers, getattr(part, name)) for part in self._parts]

    def _dense(self, text_of: npt.NDArray[np.int64]) -> Floats:
        parts = self._each("pooled")
        sums = np.zeros((self.texts.texts, parts[0][1][0].shape[1]), np.float32)
        shares = np.zeros(self.texts.texts, np.float32)
        for numbers, (pooled, share) in parts:
            np.add.at(sums, text_of[numbers], pooled)
            np.add.at(shares, text_of[numbers], share)
        layers = self.checkpoint.dense.layers if self.checkpoint.dense else ()
        sums /= shares[:, None]
        return np.ascontiguousarray(apply_layers(layers, sums))

    def _lexical(self, text_of: npt.NDArray[np.int64]) -> LexicalWeights:
        rows, terms, weights = (
            np.concatenate(column) for column in zip(*(terms for _, terms in self._each("terms")), strict=True)
        )
        return LexicalWeights.from_largest(self.texts.texts, text_of[rows], terms, weights)

    def _vectors(self, text_of: npt.NDArray[np.int64]) -> TokenVectors:
        parts = self._each("vectors")
        sizes = np.zeros(len(text_of), np.int64)
        for numbers, (_, counts) in parts:
            sizes[numbers] = counts
        begins = np.concatenate([[0], np.cumsum(sizes)])
        flat = np.empty((begins[-1], parts[0][1][0].shape[1]), np.float32)
        for numbers, (vectors, counts) in parts:
            for number, rows in zip(numbers, np.split(vectors, np.cumsum(counts)[:-1]), strict=True):
                flat[begins[number] : begins[number + 1]] = rows
        texts = np.bincount(text_of, sizes, self.texts.texts).astype(np.int64)
        return TokenVectors(flat, np.concatenate([[0], np.cumsum(texts)]))
