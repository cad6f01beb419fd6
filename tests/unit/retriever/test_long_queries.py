"""A query that is too long is searched by its beginning."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism import Retriever
from asterism.errors import QueryCut
from asterism.retriever.long_queries import MOST_CHARACTERS
from tests.unit.retriever.all_views import PutWith

LONG = "the quick fox " * 2_000
ENDLESS = " ".join(f"word{i}" for i in range(40_000))


@pytest.mark.parametrize("method", ["exact", "colbert", "hybrid"])
@pytest.mark.parametrize("query", [LONG, ENDLESS, " " * 2 * MOST_CHARACTERS + "fox"], ids=["tokens", "terms", "spaces"])
def test_the_beginning_is_searched(full: Retriever, method: str, query: str) -> None:
    with pytest.warns(QueryCut):
        found = full.search(query, method=method)
    assert found.query == query
    with pytest.warns(QueryCut):
        reason = full.explain(query, found[0].id, method=method)
    assert reason.query == query
    assert reason.score == pytest.approx(found[0].score, abs=1e-4)


def test_counted_words_that_are_too_many(put_with: PutWith, tokens: Path) -> None:
    made = put_with(tokens, views=["lexical"])
    with pytest.warns(QueryCut, match=r"the first [0-9,]+ of its [0-9,]+ characters"):
        assert made.search(f"fox {ENDLESS}").ids == ["title", "fox"]


def test_only_the_long_ones_are_cut(full: Retriever) -> None:
    short = full.search("the quick fox", method="exact")
    with pytest.warns(QueryCut) as warned:
        long, other = full.search_many([LONG, "the quick fox"], method="exact")
    assert len(warned) == 1
    assert len(long) == len(short)
    assert other.ids == short.ids
