"""Everything that a retriever does works with each eligible of the views."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from asterism import Document, Retriever
from asterism.errors import InputError, SettingError
from asterism.search.fusion import M3
from tests.unit.retriever.all_views import FEW, METHODS, QUERY, PutWith, scores

VIEWS = ("dense", "lexical", "multi")
SUBSETS = [views for size in (1, 2, 3) for views in combinations(VIEWS, size)]


def possible(views: tuple[str, ...]) -> list[str]:
    """The methods that these views allow."""
    needs = {"dense": {"dense"}, "lexical": {"lexical"}, "hybrid": set(), "hybrid:rrf": set()}
    needs |= {method: {"multi"} for method in ("exact", "colbert", "xtr")}
    for name, protocol in M3.items():
        counting = zip(("dense", "lexical", "multi"), protocol.weights, strict=True)
        needs[f"hybrid:{name}"] = {view for view, weight in counting if weight} | {"dense"}
    several = len(views) > 1
    return [one for one in METHODS if needs[one] <= set(views) and (several or not one.startswith("hybrid"))]


@pytest.mark.parametrize("views", SUBSETS, ids="+".join)
def test_the_life_of_an_index(put_with: PutWith, m3: Path, views: tuple[str, ...]) -> None:
    made = put_with(m3, FEW[:3], views=list(reversed(views)))  # in any order
    made.add(FEW[3:])
    made.add([Document("gone", "read the quick fox"), Document("changed", "to read", "fox")])
    made.update([Document("changed", "of light and speed")])
    made.delete(["gone"])
    fresh = put_with(m3, [*FEW, Document("changed", "of light and speed")], views=views)
    assert made.views == fresh.views == views
    for method in METHODS:
        if method in possible(views):
            expected = scores(fresh, method)
            assert scores(made, method) == expected
            assert made.search_many([QUERY, "a"], 50, method=method)[0].ids == made.search(QUERY, 50, method=method).ids
        else:
            with pytest.raises(SettingError, match="build it with --views"):
                made.search(QUERY, method=method)
            with pytest.raises(SettingError, match="build it with --views"):
                made.explain(QUERY, "fox", method=method)
    check_the_default(made, views)
    before = [made.search(QUERY, method=method) for method in possible(views)]
    made.compact()
    made.check()
    assert [made.search(QUERY, method=method) for method in possible(views)] == before
    info = made.info()
    assert (info["documents"], info["deleted"], info["segments"], info["views"]) == (6, 0, 1, list(views))
    assert info["terms"] == ("model" if "lexical" in views else None)
    assert (info["vectors"] > 0, info["dimensions"] > 0) == ("multi" in views, "multi" in views)
    assert info["bytes"] == sum(
        file.stat().st_size for file in made.path.rglob("*") if file.suffix in (".npy", ".sqlite", ".faiss")
    )
    made.close()
    with Retriever.open(made.path) as opened:
        assert opened.views == views
        assert [opened.search(QUERY, method=method) for method in possible(views)] == before
        opened.delete(document.id for document in FEW)
        opened.delete(["changed"])
        for _ in range(2):
            assert [opened.search(QUERY, method=method).ids for method in possible(views)] == [[]] * len(before)
            opened.compact()
            opened.check()
        opened.add(FEW)
        assert {hit.id for hit in opened.search(QUERY, 50)} == set(before[0].ids) - {"changed"}


def check_the_default(made: Retriever, views: tuple[str, ...]) -> None:
    """The method of a search and of an explanation if none is given."""
    method = "hybrid" if len(views) > 1 else "colbert" if views == ("multi",) else views[0]
    ranking = made.search(QUERY)
    assert ranking.method == method
    assert ranking.hits == made.search(QUERY, method=method).hits
    assert made.explain(QUERY, ranking.ids[0]).method == method
    assert made.search(QUERY, filter={"year": 1}).ids == []
    early = set(made.search(QUERY, filter={"year": {"$lt": 2010}}).ids)
    assert early == (set() if views == ("lexical",) else {"fox", "light"})  # the model gives their words no weight


@pytest.mark.parametrize(
    "views", [[], "dense", ["sparse"], ["dense", "Multi"], [None], 5, [["dense"]], ["multi_vector"]], ids=repr
)
def test_unknown_views(single: Path, tmp_path: Path, views: Any) -> None:
    with pytest.raises(InputError, match="expected some of dense, lexical, multi"):
        Retriever.create(tmp_path / "x.ast", single, views=views)
    assert not list(tmp_path.iterdir())


def test_views_that_the_model_lacks(single: Path, tokens: Path, tmp_path: Path) -> None:
    for model, view, has in ((single, "multi", "dense"), (tokens, "dense", "multi")):
        with pytest.raises(InputError, match=rf"the model has no {view} vectors \(it has {has}\)"):
            Retriever.create(tmp_path / "x.ast", model, views=[view, "lexical"])
    assert not list(tmp_path.iterdir())
