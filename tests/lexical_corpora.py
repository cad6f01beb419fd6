"""Small seeded corpora of weighted terms, for the tests of the lexical index."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from asterism import LexicalWeights
from asterism.kernels.reference_lexical import find_best, score_documents
from asterism.views.lexical.bm25 import Bm25
from asterism.views.lexical.searcher import LexicalSearcher
from asterism.views.lexical.segment import open_lexical
from asterism.views.lexical.writer import write_lexical

HASH = 0x7FFF_FFFF_FFFF  # so that terms need 64 bits


def make_entries(
    documents: int, longest: int = 12, vocabulary: int = 40, levels: int = 4, seed: int = 0, counts: bool = False
) -> LexicalWeights:
    """Rare and frequent terms, few different weights (so that scores tie), weights of 0, and empty documents."""
    rng = np.random.default_rng(seed)
    rows = []
    for length in rng.integers(0, longest + 1, documents):
        ranks = np.floor(vocabulary ** rng.random(length)).astype(np.int64) - 1
        rows.append(np.unique(ranks * HASH))
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    terms = np.concatenate([np.empty(0, np.int64), *rows])
    weights = rng.integers(0, levels + 1, len(terms)).astype(np.float32)
    return LexicalWeights(offsets, terms, weights if counts else weights / np.float32(3))


def joined(parts: Sequence[LexicalWeights]) -> LexicalWeights:
    """One after the other."""
    lengths = np.concatenate([np.empty(0, np.int64), *(np.diff(part.offsets) for part in parts)])
    return LexicalWeights(
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([np.empty(0, np.int64), *(part.terms for part in parts)]),
        np.concatenate([np.empty(0, np.float32), *(part.weights for part in parts)]),
    )


def chosen(entries: LexicalWeights, alive: np.ndarray) -> LexicalWeights:
    """The documents that are kept."""
    kept = np.repeat(alive, np.diff(entries.offsets))
    offsets = np.concatenate([[0], np.cumsum(np.diff(entries.offsets)[alive])])
    return LexicalWeights(offsets, entries.terms[kept], entries.weights[kept])


@contextmanager
def hurried() -> Iterator[None]:
    """Without fsync: these files need not survive a power cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def searcher_of(
    folder: Path, parts: Sequence[LexicalWeights], bm25: Bm25 | Sequence[Bm25] | None = None
) -> LexicalSearcher:
    """A segment for each part; with bm25, of all or of each, the weights are counts."""
    folder.mkdir(exist_ok=True)
    with hurried():
        each = bm25 if isinstance(bm25, Sequence) else [bm25] * len(parts)
        facts = [write_lexical(folder / str(i), part, each[i]) for i, part in enumerate(parts)]
    return LexicalSearcher(folder, [open_lexical(folder / str(i), of) for i, of in enumerate(facts)])


def weigh_by_hand(entries: LexicalWeights, k1: float, b: float) -> LexicalWeights:
    """BM25's weights of counts, one at a time, in float32: the mean length is that of these documents."""
    total, single = 0, np.float32
    lengths = []
    for i in range(len(entries)):
        lengths.append(int(entries[i][1].sum(dtype=np.float64)))
        total += lengths[-1]
    mean = max(1.0, total / max(1, len(entries)))
    gain, base, slope = single(k1 + 1), single(k1 * (1 - b)), single(k1 * b / mean)
    weights = []
    for i, length in enumerate(lengths):
        for count in entries[i][1]:
            below = count + (base + slope * single(length))
            weights.append(count * gain / below if count else single(0))
    return LexicalWeights(entries.offsets, entries.terms, np.array(weights, np.float32))


def expected_hits(
    entries: LexicalWeights, queries: LexicalWeights, k: int, eligible: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    found = [
        find_best(score_documents(entries.offsets, entries.terms, entries.weights, *queries[i]), k, eligible)
        for i in range(len(queries))
    ]
    ids, scores = zip(*found, strict=True) if found else ((), ())
    shape = (len(queries), k)
    return np.array(ids, np.int64).reshape(shape), np.array(scores, np.float32).reshape(shape)
