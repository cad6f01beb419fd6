"""An index that a scorer searches: exact where the rank allows it, within its budget, and after adds and deletes."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import asterism
from asterism.errors import IndexExists, InputError, ScorerError, SettingError, TextError
from asterism.factorised.scorers import Asking
from tests.unit.factorised.matrices import MatrixScorer, draw_matrix, name_items, name_queries

ITEMS, QUERIES, RANK = 300, 40, 7
MATRIX = draw_matrix(QUERIES, ITEMS, RANK, 3)
ANCHORS = list(range(20))
METHODS = ("anncur", "adacur", "axn")


def build(path: Path, scorer: MatrixScorer | None = None, **changes: object) -> asterism.FactorisedIndex:
    given = {"anchor_items": 12, **changes}
    return asterism.FactorisedIndex.build(
        scorer or MatrixScorer(MATRIX), name_items(ITEMS), name_queries(ANCHORS), path, **given
    )


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> asterism.FactorisedIndex:
    return build(tmp_path_factory.mktemp("cross") / "x.cur")


def find_best(query: int, k: int) -> list[str]:
    return [str(number) for number in np.argsort(-MATRIX[query], kind="stable")[:k]]


@pytest.mark.parametrize("method", ["anncur", "adacur", "axn"])
@pytest.mark.parametrize("query", [20, 31, 39])
def test_an_exact_rank_has_recall_one(index: asterism.FactorisedIndex, method: str, query: int) -> None:
    found = index.search(f"q{query}", 10, calls=60, method=method)
    assert found.ids == find_best(query, 10)
    assert [hit.score for hit in found] == [np.float32(MATRIX[query, int(hit.id)]) for hit in found]
    assert found.method == method
    assert found.calls is not None
    assert found.calls <= 60


@pytest.mark.parametrize("anchors", ["random", "clusters", "pivots"])
def test_all_choices_of_anchors(tmp_path: Path, anchors: str) -> None:
    with build(tmp_path / "x.cur", anchors=anchors, precision="float32") as made:
        assert made.search("q25", 10, calls=60, method="anncur").ids == find_best(25, 10)


@pytest.mark.parametrize("method", METHODS)
def test_no_pair_is_scored_twice(tmp_path: Path, method: str) -> None:
    scorer = MatrixScorer(MATRIX)
    with build(tmp_path / "x.cur", scorer) as made:
        assert len(scorer.asked) == ITEMS * len(ANCHORS)
        scorer.asked.clear()
        found = made.search("q30", 5, calls=50, method=method)
        assert len(scorer.asked) == len(set(scorer.asked)) == found.calls == 50
        assert {"scorer", "first stage"} <= set(found.timings)
        assert found.to_json()["calls"] == 50


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("calls", [1, 5, ITEMS, 10 * ITEMS])
def test_any_budget(index: asterism.FactorisedIndex, method: str, calls: int) -> None:
    found = index.search("q33", 1000, calls=calls, method=method)
    assert len(found) == found.calls == min(calls, ITEMS)
    if calls >= ITEMS:
        assert found.ids == find_best(33, ITEMS)


def test_re_ranking_orders_what_was_found_and_nothing_else(tmp_path: Path) -> None:
    """A third of the items has the query's only word."""
    items = [f"{'q30' if number % 3 == 0 else 'other'} item {number}" for number in range(ITEMS)]
    scorer = MatrixScorer(MATRIX)
    with asterism.FactorisedIndex.build(scorer, items, name_queries(ANCHORS), tmp_path / "x.cur") as made:
        scorer.asked.clear()
        found = made.search("q30", 10, calls=ITEMS, method="rerank")
        assert len(scorer.asked) == len(set(scorer.asked)) == found.calls == ITEMS / 3
        assert found.ids == [id for id in find_best(30, ITEMS) if int(id) % 3 == 0][:10]
        assert len(made.search("q31", 10, calls=20, method="rerank")) == 0


def test_filters_and_documents(tmp_path: Path) -> None:
    items = [asterism.Document(f"d{n}", f"item {n}", metadata={"even": n % 2 == 0}) for n in range(ITEMS)]
    with asterism.FactorisedIndex.build(
        MatrixScorer(MATRIX), items, name_queries(ANCHORS), tmp_path / "x.cur", anchor_items=12
    ) as made:
        for method in METHODS:
            found = made.search("q22", 5, calls=60, method=method, filter={"even": True})
            expected = [f"d{id}" for id in find_best(22, ITEMS) if int(id) % 2 == 0][:5]
            assert found.ids == expected


def test_adding_and_deleting(tmp_path: Path) -> None:
    scorer = MatrixScorer(MATRIX)
    with asterism.FactorisedIndex.build(
        scorer, name_items(200), name_queries(ANCHORS), tmp_path / "x.cur", anchor_items=12
    ) as made:
        scorer.asked.clear()
        new = [asterism.Document(str(number), f"item {number}") for number in range(200, ITEMS)]
        assert made.add(new) == 100
        assert len(scorer.asked) == 100 * len(ANCHORS)
        assert made.search("q35", 10, calls=60, method="anncur").ids == find_best(35, 10)
        made.delete(find_best(35, 3))
        for _ in range(2):
            assert made.search("q35", 7, calls=60, method="anncur").ids == find_best(35, 10)[3:]
            made.compact()
        assert made.info()["documents"] == made.info()["scored"] == ITEMS - 3
        made.check()
    with asterism.FactorisedIndex.open(tmp_path / "x.cur", scorer) as again:
        assert again.search("q35", 7, calls=60).ids == find_best(35, 10)[3:]


def test_replacing(tmp_path: Path) -> None:
    with build(tmp_path / "x.cur") as made:
        worst = find_best(29, ITEMS)[-1]
        best = find_best(29, 1)[0]
        made.add([asterism.Document(worst, f"now item {best}")], update=True)
        assert set(made.search("q29", 2, calls=60).ids) == {best, worst}


def test_scores_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was done to the documents before is no failure; it is found by the ordinary search until it is scored."""

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with build(tmp_path / "x.cur") as made:
        best = find_best(29, 2)
        monkeypatch.setattr("asterism.factorised.table.write_arrays", fail)
        made.retriever.set_metadata({"year": 1859}, [best[0]])
        assert made.retriever.get(best[0]).metadata == {"year": 1859}
        made.delete(best[1:])
        made.compact()
        monkeypatch.undo()
        assert made.info()["scored"] == made.info()["documents"] - 1 == ITEMS - 2
        made.add([])
        assert made.info()["scored"] == ITEMS - 1
        made.check()
        assert made.search("q29", 1, calls=60).ids == best[:1]


class Failing(MatrixScorer):
    """Fails after some calls."""

    def __init__(self, calls: int) -> None:
        super().__init__(MATRIX)
        self.left = calls

    def score(self, query: str, texts: Sequence[str]) -> np.ndarray:
        if self.left < len(texts):
            raise ConnectionError("gone")
        self.left -= len(texts)
        return super().score(query, texts)


def test_a_failed_build_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asterism.retriever.cross_building.BLOCK_CALLS", 50 * len(ANCHORS))
    with pytest.raises(ScorerError, match="ConnectionError"):
        build(tmp_path / "x.cur", Failing(130 * len(ANCHORS)), asking=Asking(batch=7, retries=0))
    scorer = MatrixScorer(MATRIX)
    with build(tmp_path / "x.cur", scorer) as made:
        assert len(scorer.asked) == (ITEMS - 100) * len(ANCHORS)  # two blocks of fifty were there
        assert made.search("q35", 10, calls=60).ids == find_best(35, 10)
    with build(tmp_path / "y.cur") as whole:
        files = [path.relative_to(whole.retriever.path) for path in (whole.retriever.path / "cross").rglob("*.npy")]
        assert len(files) == 2
        for file in files:
            parts = [next(folder.glob(f"cross/*/{file.name}")).read_bytes() for folder in tmp_path.glob("*.cur")]
            assert parts[0] == parts[1]


def test_progress(tmp_path: Path) -> None:
    seen = []
    build(tmp_path / "x.cur", progress=seen.append).close()
    assert seen[-1].done == seen[-1].total == ITEMS * len(ANCHORS)
    assert seen[0].rate > 0
    assert seen[-1].seconds_left == 0


def test_bad_input(tmp_path: Path, index: asterism.FactorisedIndex) -> None:
    scorer = MatrixScorer(MATRIX)
    make = asterism.FactorisedIndex.build
    with pytest.raises(InputError, match="there are no anchor queries"):
        make(scorer, ["a"], [], tmp_path / "a.cur")
    with pytest.raises(InputError, match="there are no items"):
        make(scorer, [], ["q1"], tmp_path / "b.cur")
    with pytest.raises(InputError, match="items is one text"):
        make(scorer, "item 1", ["q1"], tmp_path / "c.cur")
    with pytest.raises(InputError, match="item 0 is a int"):
        make(scorer, [3], ["q1"], tmp_path / "d.cur")
    with pytest.raises(InputError, match="anchor_queries is a str"):
        make(scorer, ["item 1"], "q1", tmp_path / "e.cur")
    with pytest.raises(InputError, match="the scorer is a str"):
        make("model", ["item 1"], ["q1"], tmp_path / "f.cur")
    with pytest.raises(SettingError, match="anchors is 'best'"):
        make(scorer, name_items(3), ["q1"], tmp_path / "g.cur", anchors="best")
    with pytest.raises(SettingError, match="seed is -1, expected"):
        make(scorer, name_items(3), ["q1"], tmp_path / "h.cur", seed=-1)
    assert not scorer.asked
    with pytest.raises(IndexExists):
        make(scorer, name_items(3), ["q1"], index.retriever.path)
    with pytest.raises(SettingError, match="calls"):
        index.search("q1", calls=0)
    with pytest.raises(SettingError, match="method is 'best'"):
        index.search("q1", method="best")
    with pytest.raises(TextError):
        index.search("  ")
    for name in "abcdef":
        assert not (tmp_path / f"{name}.cur").exists()


def test_other_items_than_before(tmp_path: Path) -> None:
    """A build does not go on with other items, and does not take over an index of another kind."""
    path = tmp_path / "x.cur"
    with pytest.raises(ScorerError):
        build(path, Failing(0), asking=Asking(retries=0))
    scorer = MatrixScorer(MATRIX)
    with pytest.raises(InputError, match=r"the item '1' is not the one that .* was begun with"):
        asterism.FactorisedIndex.build(scorer, ["item 0", "item 7"], name_queries(ANCHORS), path)
    views = asterism.Views(lexical="words", counting=asterism.TermCounting())
    with asterism.Retriever(asterism.Collection.create(tmp_path / "y.ast", views, {})) as retriever:
        retriever.add([asterism.Document("d", "item 3")])
    with pytest.raises(IndexExists):
        build(tmp_path / "y.ast", scorer)
    assert not scorer.asked
    build(path, scorer).close()
    assert len(scorer.asked) == ITEMS * len(ANCHORS)


def test_duplicate_items_and_a_poor_matrix(tmp_path: Path) -> None:
    """Equal texts are items of their own; a matrix of rank 1 has one anchor; all scores may be 0."""
    for name, matrix in (("one", np.outer(np.arange(1, 9), np.arange(20.0))), ("zero", np.zeros((8, 20)))):
        with asterism.FactorisedIndex.build(
            MatrixScorer(matrix), [*name_items(20), "item 19"], name_queries(range(4)), tmp_path / name
        ) as made:
            found = made.search("q6", 2, calls=8, method="anncur")
            assert len(found) == 2
            assert (made.info()["anchor_items"], made.info()["unfinished"]) == (1, False)
            if name == "one":
                assert found.ids == ["19", "20"]
