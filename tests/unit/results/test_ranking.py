"""Rankings behave like sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from asterism.results import Hit, Ranking

DOCUMENT: Any = "any document"
HITS = tuple(Hit(rank, f"d{rank}", 1.0 / rank, DOCUMENT) for rank in (1, 2, 3))
RANKING = Ranking("what?", "exact", HITS, {"encode": 0.01})


def test_ranking_is_a_sequence() -> None:
    assert isinstance(RANKING, Sequence)
    assert len(RANKING) == 3
    assert [hit.rank for hit in RANKING] == [1, 2, 3]
    assert RANKING[0].id == "d1"
    assert RANKING[-1] is HITS[-1]
    assert RANKING[:2] == HITS[:2]
    assert RANKING.ids == ["d1", "d2", "d3"]
    assert HITS[1] in RANKING


def test_an_empty_ranking_is_false() -> None:
    empty = Ranking("what?", "exact", ())
    assert not empty
    assert empty.ids == []
    assert empty.timings == {}


def test_timings_do_not_tell_rankings_apart() -> None:
    assert Ranking("what?", "exact", HITS, {"encode": 9.0}) == RANKING
    assert Ranking("why?", "exact", HITS) != RANKING
