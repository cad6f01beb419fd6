"""The rows of a chunk of texts to its views: run batch by batch, then put together in the order of the texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..representations import LexicalWeights, Representations, TokenVectors
from ..settings import View
from .batching import Batch, Mask, make_batches
from .checkpoints.checkpoint import Checkpoint
from .graph.heads import Pooling, apply_layers
from .runtimes.backbone import Backbone, Floats, Output
from .tokens import TextRules, TokenisedTexts

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Side:
    """How the documents, or the queries, of a model are encoded.

    skipped (vocabulary,)   ids without a vector
    dropped (vocabulary,)   ids without a lexical weight
    constant                whether a text has C vectors that are pooled from the states
    repeated_cls            the id of [CLS] if a text has several, whose mean is the dense vector; else None
    pooling                 which states the dense vector is made of
    outputs                 what the model must give for each view
    """

    rules: TextRules
    skipped: Mask
    dropped: Mask
    constant: bool
    repeated_cls: int | None
    pooling: Pooling
    outputs: Mapping[View, Output]


@dataclass(frozen=True)
class BatchViews:
    """What is kept of one batch's outputs.

    numbers (rows,) of the rows; pooled (rows, hidden) sums and shares (rows,); row, id and weight of each term (n,);
    vectors (n, d) and how many belong to each row.
    """

    numbers: Numbers
    pooled: tuple[Floats, Floats] | None = None
    terms: tuple[Numbers, Numbers, Floats] | None = None
    vectors: tuple[Floats, Numbers] | None = None


@dataclass(frozen=True)
class ChunkEncoder:
    """Runs a checkpoint on chunks of texts, about `batch_tokens` ids at a time."""

    checkpoint: Checkpoint
    backbone: Backbone
    batch_tokens: int

    def encode(self, texts: TokenisedTexts, side: Side, views: Sequence[View]) -> Representations:
        """These views of all texts of a chunk."""
        wanted = [side.outputs[view] for view in views]
        parts = []
        for batch in make_batches(texts.rows, self.batch_tokens):
            shares = _weigh_states(side, batch)
            found = self.backbone.run(wanted, batch, shares)
            parts.append(self._select(side, batch, shares, found))
        return self._assemble(texts, parts)

    def _select(self, side: Side, batch: Batch, shares: Floats, found: Mapping[str, Floats]) -> BatchViews:
        """The outputs without padding; selected batch by batch, so that little is kept in memory."""
        pooled, terms, vectors = None, None, None
        if "pooled" in found:
            pooled = (found["pooled"], shares.sum(axis=1))
        if "lexical" in found:
            weighed = batch.own & batch.seen & ~side.dropped[batch.ids] & (found["lexical"] > 0)
            rows, places = np.nonzero(weighed)
            terms = (batch.numbers[rows], batch.ids[rows, places], found["lexical"][rows, places])
        if "states" in found and self.checkpoint.multi:
            made = self.checkpoint.multi.pool_states(found["states"])  # (rows, C, d)
            vectors = (made.reshape(-1, made.shape[2]), np.full(len(made), made.shape[1]))
        elif "vectors" in found:
            places_with_vector = find_places_with_vector(side, batch)
            vectors = (found["vectors"][places_with_vector], places_with_vector.sum(axis=1))
        return BatchViews(batch.numbers, pooled, terms, vectors)

    def _assemble(self, texts: TokenisedTexts, parts: Sequence[BatchViews]) -> Representations:
        """All views that the batches have; the rows (windows) of a text become one."""
        first = parts[0]
        text_of = np.array([row.text for row in texts.rows], np.int64)
        return Representations(
            texts.texts,
            self._assemble_dense(texts.texts, text_of, parts) if first.pooled else None,
            _assemble_lexical(texts.texts, text_of, parts) if first.terms else None,
            _assemble_vectors(texts.texts, text_of, parts) if first.vectors else None,
            texts.truncated,
        )

    def _assemble_dense(self, texts: int, text_of: Numbers, parts: Sequence[BatchViews]) -> Floats:
        """(texts, d): the mean over the windows of a text, weighted by their shares, then the layers."""
        found = _list_outputs(parts, "pooled")
        sums = np.zeros((texts, found[0][1][0].shape[1]), np.float32)
        shares = np.zeros(texts, np.float32)
        for numbers, (pooled, share) in found:
            np.add.at(sums, text_of[numbers], pooled)
            np.add.at(shares, text_of[numbers], share)
        layers = self.checkpoint.dense.layers if self.checkpoint.dense else ()
        sums /= shares[:, None]
        return np.ascontiguousarray(apply_layers(layers, sums))


def find_places_with_vector(side: Side, batch: Batch) -> Mask:
    """(rows, tokens) the places that have a vector, unless vectors are pooled."""
    places = batch.own & ~side.skipped[batch.ids]
    if not side.rules.first_counts:
        places[:, 0] = False
    return places


def _weigh_states(side: Side, batch: Batch) -> Floats:
    """(rows, tokens) each state's share of the dense vector; a text's shares are divided by their sum later."""
    if side.pooling == "mean":
        return (batch.own & batch.seen).astype(np.float32)
    shares = np.zeros(batch.ids.shape, np.float32)
    if side.repeated_cls is not None:
        shares[(batch.ids == side.repeated_cls) & batch.seen] = 1
    shares[:, 0] = 1
    return shares


def _list_outputs(parts: Sequence[BatchViews], name: str) -> list[tuple[Numbers, Any]]:
    return [(part.numbers, getattr(part, name)) for part in parts]


def _assemble_lexical(texts: int, text_of: Numbers, parts: Sequence[BatchViews]) -> LexicalWeights:
    rows, terms, weights = (
        np.concatenate(column) for column in zip(*(terms for _, terms in _list_outputs(parts, "terms")), strict=True)
    )
    return LexicalWeights.from_largest(texts, text_of[rows], terms, weights)


def _assemble_vectors(texts: int, text_of: Numbers, parts: Sequence[BatchViews]) -> TokenVectors:
    found = _list_outputs(parts, "vectors")
    sizes = np.zeros(len(text_of), np.int64)
    for numbers, (_, counts) in found:
        sizes[numbers] = counts
    begins = np.concatenate([[0], np.cumsum(sizes)])
    flat = np.empty((begins[-1], found[0][1][0].shape[1]), np.float32)
    for numbers, (vectors, counts) in found:
        for number, rows in zip(numbers, np.split(vectors, np.cumsum(counts)[:-1]), strict=True):
            flat[begins[number] : begins[number + 1]] = rows
    vectors_of_texts = np.bincount(text_of, sizes, texts).astype(np.int64)
    return TokenVectors(flat, np.concatenate([[0], np.cumsum(vectors_of_texts)]))
