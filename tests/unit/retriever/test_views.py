"""Indexes with some of the views: everything that a retriever does works with each subset of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Document, EncoderSettings, Explanation, HybridSearch, Retriever, TokenBuild
from asterism.collection import writer as collection_writer
from asterism.errors import InputError, SettingError, UnknownModel
from asterism.retriever import retriever
from asterism.search.fusion import M3
from asterism.views.dense import segment as dense_segment
from tests import layouts

VIEWS = ("dense", "lexical", "multi")
SUBSETS = [views for size in (1, 2, 3) for views in combinations(VIEWS, size)]
METHODS = ["exact", "colbert", "xtr", "dense", "lexical", "hybrid", "hybrid:rrf", *(f"hybrid:{name}" for name in M3)]
QUERY = "how to read the quick fox"
FEW = [
    Document("fox", "The quick brown fox jumps over the lazy dog.", metadata={"year": 1999}),
    Document("light", "Who first measured the speed of light?", "How Speed", {"year": 2001}),
    Document("python", "Run a function to read a file every few seconds.", "Python", {"year": 2020}),
    Document("none", "", metadata={"year": 2020}),
    Document("title", "", "the fox"),
]
CHINESE = [
    Document("moon", "月球是地球唯一的天然卫星。", "天体：月球"),
    Document("bread", "面包是用面粉做的。"),
    Document("both", "一只狐狸 the quick fox 在月球。", "Fox 狐狸"),
]
Put = Callable[..., Retriever]


@pytest.fixture(scope="module")
def m3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has all views, terms by its own weights."""
    return layouts.bge_m3(tmp_path_factory.mktemp("models") / "m3")


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has token vectors; words are counted."""
    return layouts.colbert(tmp_path_factory.mktemp("models") / "colbert")


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has a vector for a text; words are counted."""
    return layouts.sentence_transformer(tmp_path_factory.mktemp("models") / "dense")


@pytest.fixture
def put(tmp_path: Path, closed_later: Callable[[Retriever], Retriever]) -> Put:
    """Makes an index of documents."""

    def make(model: Path, documents: list[Document] = FEW, **settings: Any) -> Retriever:
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}.ast"
        made = closed_later(Retriever.create(folder, model, encoder=EncoderSettings(precision="float32"), **settings))
        made.add(documents)
        return made

    return make


@pytest.fixture(scope="module")
def full(m3: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    """All views; not to be changed."""
    with Retriever.create(tmp_path_factory.mktemp("full") / "x.ast", m3) as made:
        made.add(FEW)
        yield made


def possible(views: tuple[str, ...]) -> list[str]:
    """The methods that these views allow."""
    needs = {"dense": {"dense"}, "lexical": {"lexical"}, "hybrid": set(), "hybrid:rrf": set()}
    needs |= {method: {"multi"} for method in ("exact", "colbert", "xtr")}
    for name, protocol in M3.items():
        counting = zip(("dense", "lexical", "multi"), protocol.weights, strict=True)
        needs[f"hybrid:{name}"] = {view for view, weight in counting if weight} | {"dense"}
    several = len(views) > 1
    return [one for one in METHODS if needs[one] <= set(views) and (several or not one.startswith("hybrid"))]


def scores(made: Retriever, method: str, **options: Any) -> dict[str, Any]:
    return {hit.id: pytest.approx(hit.score, abs=1e-5) for hit in made.search(QUERY, 50, method=method, **options)}


def places_are_right(explanation: Explanation) -> int:
    """Checks every place, of the query and of the document; returns how many there were in the document."""
    document, count = explanation.document, 0
    for match in [*explanation.matches, *(match for share in explanation.shares for match in share.matches)]:
        if match.query_begin >= 0:
            asked = explanation.query[match.query_begin : match.query_end]
            assert asked.lower() == match.query_token.removeprefix("##").removeprefix("▁").lower()
        if match.begin >= 0:
            written = {"title": document.title, "text": document.text}[match.field][match.begin : match.end]
            assert written.lower() == match.token.removeprefix("##").removeprefix("▁").lower()
            count += 1
        else:
            assert (match.field, match.end) == ("", -1)
    return count


# --- every subset ---


@pytest.mark.parametrize("views", SUBSETS, ids="+".join)
def test_the_life_of_an_index(put: Put, m3: Path, views: tuple[str, ...]) -> None:
    made = put(m3, FEW[:3], views=list(reversed(views)))  # in any order
    made.add(FEW[3:])
    made.add([Document("gone", "read the quick fox"), Document("changed", "to read", "fox")])
    made.update([Document("changed", "of light and speed")])
    made.delete(["gone"])
    fresh = put(m3, [*FEW, Document("changed", "of light and speed")], views=views)
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
    """What a search and an explanation without a method do."""
    method = "colbert" if "multi" in views else "hybrid" if len(views) > 1 else views[0]
    ranking = made.search(QUERY)
    assert ranking.method == method
    assert ranking.hits == made.search(QUERY, method=method).hits
    assert made.explain(QUERY, ranking.ids[0]).method == method
    assert made.search(QUERY, filter={"year": 1}).ids == []
    assert set(made.search(QUERY, filter={"year": {"$lt": 2010}}).ids) <= {"fox", "light"}


@pytest.mark.parametrize("method", METHODS)
def test_explanations_add_up(full: Retriever, method: str) -> None:
    for where in (None, {"year": 2020}):
        for hit in full.search(QUERY, 3, method=method, filter=where):
            found = full.explain(QUERY, hit.id, k=3, method=method, filter=where)
            assert found.score == pytest.approx(hit.score, abs=1e-6)
            assert found.method == method.partition(":")[0]
            places_are_right(found)
            if method.startswith("hybrid"):
                assert sum(share.share for share in found.shares) == pytest.approx(hit.score, abs=1e-6)
                assert found.matches == ()
                for share in found.shares:
                    total = sum(match.similarity for match in share.matches)
                    if share.view == "lexical":
                        assert total == pytest.approx(share.score, abs=1e-5)
                    if share.view == "multi":
                        assert total / len(share.matches) == pytest.approx(share.score, abs=1e-5)
            elif method != "dense":
                assert sum(match.similarity for match in found.matches) == pytest.approx(hit.score, abs=1e-5)


@pytest.mark.parametrize("method", [method for method in METHODS if not method.startswith("hybrid:m3")])
def test_more_than_there_are(full: Retriever, method: str) -> None:
    found = full.search(QUERY, 10**9, method=method).ids
    assert len(found) == len(set(found))
    assert set(found) == {"fox", "light", "python", "none", "title"} or method == "lexical"


# --- matched words ---


def words_of(explanation: Explanation) -> dict[str, tuple[str, str]]:
    """Of the terms that were found: query word -> field and the words of the document there."""
    fields = {"title": explanation.document.title, "text": explanation.document.text}
    return {
        match.query_token: (match.field, fields[match.field][match.begin : match.end])
        for match in explanation.matches
        if match.begin >= 0
    }


def test_matched_words_in_title_and_text(put: Put, tokens: Path) -> None:
    made = put(tokens)
    found = made.explain("SPEED and light, how?", "light", method="lexical")
    assert words_of(found) == {"speed": ("title", "Speed"), "light": ("text", "light"), "how": ("title", "How")}
    assert {match.query_token: match.similarity > 0 for match in found.matches} == {
        "speed": True,
        "and": False,
        "light": True,
        "how": True,
    }
    assert [found.query[match.query_begin : match.query_end] for match in found.matches] == [
        "SPEED",
        "and",
        "light",
        "how",
    ]
    assert words_of(made.explain("the fox", "title", method="lexical")) == {
        "the": ("title", "the"),
        "fox": ("title", "fox"),
    }


def test_matched_words_in_chinese(put: Put, tokens: Path, single: Path) -> None:
    for model in (tokens, single):
        made = put(model, CHINESE)
        assert made.search("月球", method="lexical").ids[0] == "moon"
        assert made.search("面粉", method="lexical").ids == ["bread"]
        found = made.explain("月球的卫星", "moon", method="lexical")
        assert places_are_right(found) >= 2
        assert words_of(found)["月球"] == ("title", "月球")
        assert words_of(found)["卫星"] == ("text", "卫星")
        mixed = words_of(made.explain("quick 狐狸 月球", "both", method="lexical"))
        assert mixed["quick"] == ("text", "quick")
        assert mixed["狐狸"] == ("title", "狐狸")
        assert mixed["月球"] == ("text", "月球")
        hybrid = made.explain("月球的卫星", "moon", method="hybrid")
        shares = {share.view: share for share in hybrid.shares}
        assert shares["lexical"].matches == found.matches


def test_no_common_word(put: Put, tokens: Path) -> None:
    made = put(tokens)
    assert made.search("zebra", method="lexical").ids == []
    assert made.search("?!", method="lexical").ids == []
    found = made.explain("zebra", "fox", method="lexical")
    assert (found.score, [match.token for match in found.matches]) == (0, [""])
    assert set(made.search("zebra", method="hybrid").ids) == {document.id for document in FEW}
    assert set(made.search("?!", method="hybrid:rrf").ids) == {document.id for document in FEW}


def test_words_are_counted_where_the_model_has_no_weights(put: Put, single: Path, full: Retriever) -> None:
    made = put(single)
    assert (made.views, made.info()["terms"]) == (("dense", "lexical"), "words")
    assert made.weights == (1, 1, 1)
    assert full.weights == (1, 0.3, 1)
    assert made.search("fox").method == "hybrid"


# --- without the model ---


def test_a_lexical_search_does_not_load_the_model(put: Put, tokens: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full, alone = put(tokens), put(tokens, views=["lexical"])

    def never(*_: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(retriever, "loaded_model", never)
    for path in (full.path, alone.path):
        with Retriever.open(path) as opened:
            assert set(opened.search("quick fox", method="lexical").ids) == {"fox", "title"}
            assert opened.search_many(["fox", "light"], method="lexical")[1].ids == ["light"]
            assert places_are_right(opened.explain("quick fox", "fox", method="lexical")) == 2
    with Retriever.open(alone.path) as opened:
        opened.add([Document("new", "zebra")])
        opened.update([Document("new", "two zebras")])
        opened.compact()
        assert opened.search("zebras").ids == ["new"]


def test_a_lexical_index_outlives_its_model(put: Put, tokens: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tokens, tmp_path / "copy")
    path = put(copy).path
    shutil.rmtree(copy)
    with Retriever.open(path) as opened:
        assert opened.search("light", method="lexical").ids == ["light"]
        with pytest.raises(UnknownModel, match="say where the model is now"):
            opened.search("light", method="hybrid")


# --- settings of the index ---


def test_the_fusion_is_kept(put: Put, m3: Path) -> None:
    made = put(m3)
    chosen = HybridSearch(fusion="rrf", weights=(0.5, 0.25, 1), depth=7)
    made.fusion = chosen
    expected = made.search(QUERY, settings=chosen)
    with Retriever.open(made.path) as opened:
        opened.update(FEW[:1])
        opened.compact()
        assert (opened.fusion, opened.weights) == (chosen, (0.5, 0.25, 1))
        assert scores(opened, "hybrid") == {hit.id: pytest.approx(hit.score) for hit in expected}
        assert scores(opened, "hybrid:linear") == scores(opened, "hybrid", settings=HybridSearch())
        opened.check()


@pytest.mark.parametrize("wrong", [{"fusion": "rrf"}, None, "rrf", (1, 1, 1)])
def test_a_wrong_fusion_is_not_kept(full: Retriever, wrong: Any) -> None:
    with pytest.raises(InputError, match="expected HybridSearch"):
        full.fusion = wrong
    assert full.fusion == HybridSearch()


# --- wrong views ---


@pytest.mark.parametrize(
    "views", [[], "dense", ["sparse"], ["dense", "Multi"], [None], 5, [["dense"]], ["multi_vector"]], ids=repr
)
def test_unknown_views(single: Path, tmp_path: Path, views: Any) -> None:
    with pytest.raises(InputError, match="expected some of dense, lexical, multi"):
        Retriever.create(tmp_path / "x.ast", single, views=views)
    assert not list(tmp_path.iterdir())


def test_views_that_the_model_has_not(single: Path, tokens: Path, tmp_path: Path) -> None:
    for model, view, has in ((single, "multi", "dense"), (tokens, "dense", "multi")):
        with pytest.raises(InputError, match=rf"the model has no {view} vectors \(it has {has}\)"):
            Retriever.create(tmp_path / "x.ast", model, views=[view, "lexical"])
    assert not list(tmp_path.iterdir())


# --- large indexes ---


def test_codes_and_graphs(m3: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As indexes are from some size on: token vectors in codes with a finer copy, dense vectors in a graph."""
    monkeypatch.setattr(collection_writer, "FLAT_TOKENS", 300)
    monkeypatch.setattr(dense_segment, "MANY", 20)
    rng = np.random.default_rng(0)
    documents = [
        Document(f"d{i}", " ".join(rng.choice(layouts.WORDS, 12)), "fox" * (i % 2), {"n": i}) for i in range(80)
    ]
    with Retriever.create(tmp_path / "x.ast", m3, build=TokenBuild(refinement="float16")) as made:
        made.add(documents[:60])
        made.add(documents[60:])
        made.delete(["d3", "d70"])
        assert made.info()["centroids"] > 1
        assert list(made.path.rglob("neighbours.npy"))
        for method in METHODS:
            for where, count in ((None, 78), ({"n": {"$lt": 30}}, 29), ({"n": {"$lt": 5}}, 4)):
                ranking = made.search(QUERY, 80, method=method, filter=where)
                assert len(ranking) == count or method == "lexical"
                for hit in ranking[:3]:
                    found = made.explain(QUERY, hit.id, k=80, method=method, filter=where)
                    assert found.score == pytest.approx(hit.score, abs=1e-5)
                    for share in found.shares:
                        if share.view == "multi":
                            total = sum(match.similarity for match in share.matches)
                            assert total / len(share.matches) == pytest.approx(share.score, abs=1e-5)
            many = made.search_many([QUERY, "a", "fox"], 5, method=method, threads=2)
            assert many == [made.search(query, 5, method=method) for query in (QUERY, "a", "fox")]
