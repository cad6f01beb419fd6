"""BM25's statistics against counting by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from asterism import LexicalWeights
from asterism.views.eligible import Mask
from asterism.views.lexical import statistics
from asterism.views.lexical.bm25 import Bm25
from asterism.views.lexical.segment import OpenLexical, open_lexical
from asterism.views.lexical.statistics import LexicalStatistics
from asterism.views.lexical.writer import write_lexical

COUNTS = np.random.default_rng(3).integers(0, 3, (9, 6))  # of six terms in nine documents
TERMS = np.arange(8)  # two of them are nowhere


@pytest.fixture
def segments(tmp_path: Path) -> list[OpenLexical]:
    """Four documents and five."""
    found = []
    for name, rows in (("a", COUNTS[:4]), ("b", COUNTS[4:])):
        entries = LexicalWeights(np.cumsum([0, *(rows > 0).sum(axis=1)]), np.nonzero(rows)[1], rows[rows > 0])
        found.append(open_lexical(tmp_path / name, write_lexical(tmp_path / name, entries, Bm25(1.2, 0.75, 5.0))))
    return found


def count_by_hand(kept: Mask) -> tuple[int, int, list[int]]:
    living = COUNTS[kept]
    return len(living), int(living.sum()), [*(living > 0).sum(axis=0).tolist(), 0, 0]


def count(given: LexicalStatistics) -> tuple[int, int, list[int]]:
    frequencies: npt.NDArray[np.int64] = given.frequencies(TERMS)
    return given.documents, given.length, frequencies.tolist()


@pytest.mark.parametrize("deleted", [[], [0], [3, 4], [0, 1, 2, 3], [5, 8], list(range(9))])
def test_deleted_documents_do_not_count(segments: list[OpenLexical], deleted: list[int]) -> None:
    kept = np.ones(9, bool)
    kept[deleted] = False
    assert count(LexicalStatistics(segments, kept)) == count_by_hand(kept)
    parts = [LexicalStatistics(segments[:1], kept[:4]), LexicalStatistics(segments[1:], kept[4:])]
    assert count(parts[0].join(parts[1:])) == count_by_hand(kept)
    assert count(LexicalStatistics([]).join(parts)) == count_by_hand(kept)


def test_all_documents_count_unless_some_are_deleted(segments: list[OpenLexical]) -> None:
    assert count(LexicalStatistics(segments)) == count_by_hand(np.ones(9, bool))


def test_few_terms_are_remembered(segments: list[OpenLexical], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "MOST_REMEMBERED", 2)
    kept = np.arange(9) % 2 == 0
    given = LexicalStatistics(segments, kept)
    assert count(given) == count(given) == count_by_hand(kept)
