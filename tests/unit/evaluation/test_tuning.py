"""Weights for somebody's own judgements: found where they are, measured on queries that did not choose them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Document, HybridSearch, Retriever
from asterism.errors import InputError
from asterism.evaluation.datasets import EvaluationSet, read_evaluation_set
from asterism.evaluation.metrics import measure
from asterism.evaluation.tuning import FOLDS, VIEWS, Judged, Tuning, _assign_folds, _judge_query, _make_grid, tune
from tests import layouts
from tests.unit.cli.running import jsonl, run

DOCUMENTS, QUERIES = 60, 30


# --- nDCG ---


@pytest.mark.parametrize("seed", range(5))
def test_ndcg_is_that_of_ir_measures(seed: int) -> None:
    """Graded and negative judgements; some judged documents are no candidates."""
    rng = np.random.default_rng(seed)
    ids = [f"d{i}" for i in range(int(rng.integers(1, 40)))]
    shares = rng.random((3, len(ids))).astype(np.float32)
    judged = {id: int(rng.integers(-1, 4)) for id in [*rng.permutation(ids)[:12].tolist(), "missing1", "missing2"]}
    found = _judge_query(ids, list(shares), judged)
    weights = rng.random((6, 3))
    for row, value in zip(weights, found.ndcg(weights), strict=True):
        scores = dict(zip(ids, (row @ shares.astype(np.float64)).tolist(), strict=True))
        assert value == pytest.approx(measure({"q": judged}, {"q": scores})["nDCG@10"][0], abs=1e-9)


def test_ndcg_where_there_is_nothing() -> None:
    some = np.array([[1.0, 0.0]])
    assert Judged(np.zeros((2, 0)), np.zeros(0), 1.0).ndcg(some).tolist() == [0]  # no candidates
    assert _judge_query(["a"], [np.ones(1, np.float32)] * 2, {"a": 0}).ndcg(some).tolist() == [0]  # nothing relevant


def test_the_grid() -> None:
    for views in (2, 3):
        grid = _make_grid(views)
        np.testing.assert_allclose(grid.sum(axis=1), 1)
        assert len(np.unique(grid, axis=0)) == len(grid)
        for view in range(views):
            assert np.eye(views)[view].tolist() in grid.tolist()


# --- planted weights ---


class Planted:
    """What `tune` asks of a retriever: random shares for every query."""

    path = Path("planted.ast")

    def __init__(self, views: Sequence[str] = VIEWS, weights: tuple[float, ...] = (1, 1, 1), seed: int = 0) -> None:
        self.views = tuple(views)
        self.weights = weights
        rng = np.random.default_rng(seed)
        self.tables = {f"q{i}": rng.random((3, DOCUMENTS)).astype(np.float32) for i in range(200)}

    def __contains__(self, id: str) -> bool:
        return True

    def shares(self, queries: Sequence[str]) -> list[tuple[list[str], dict[str, np.ndarray]]]:
        ids = [f"d{i}" for i in range(DOCUMENTS)]
        return [
            (ids, {view: row for view, row in zip(VIEWS, self.tables[query], strict=True) if view in self.views})
            for query in queries
        ]

    def judged_by(self, weights: tuple[float, ...], queries: int = QUERIES, best: int = 5) -> EvaluationSet:
        """Relevant are those that these weights rank first, in their order."""
        qrels = {}
        for i in range(queries):
            order = np.argsort(-(np.array(weights) @ self.tables[f"q{i}"]))[:best]
            qrels[f"q{i}"] = {f"d{document}": best - rank for rank, document in enumerate(order)}
        return EvaluationSet({name: name for name in qrels}, qrels)


def tuned(planted: Planted, data: EvaluationSet, **options: Any) -> Any:
    return tune(planted, data, **options)


@pytest.mark.parametrize("weights", [(0.7, 0.1, 0.2), (0.1, 0.8, 0.1), (0.25, 0.25, 0.5), (0, 0, 1), (0.5, 0.5, 0)])
def test_planted_weights_are_recovered(weights: tuple[float, float, float]) -> None:
    planted = Planted()
    found = tuned(planted, planted.judged_by(weights))
    assert found.weights == pytest.approx(weights, abs=0.051)  # a step of the grid
    assert sum(found.weights) == pytest.approx(1)
    assert found.after.mean() > 0.95
    assert len(found.before) == len(found.after) == QUERIES


@pytest.mark.parametrize("place", range(3))
def test_a_view_that_is_not_there_has_no_weight(place: int) -> None:
    planted = Planted([view for i, view in enumerate(VIEWS) if i != place])
    wanted = tuple(0.0 if i == place else (0.8, 0.2, 0.8)[i] for i in range(3))
    found = tuned(planted, planted.judged_by(wanted))
    assert found.weights[place] == 0
    assert found.weights == pytest.approx(np.array(wanted) / sum(wanted), abs=0.051)


def test_a_gain_is_told_from_chance() -> None:
    planted = Planted()
    found = tuned(planted, planted.judged_by((0.9, 0.05, 0.05)))
    low, high = found.interval
    assert 0 < low < found.gain < high
    assert found.gain == pytest.approx(found.after.mean() - found.before.mean())
    assert found.p < 0.01


def test_weights_that_are_the_best_already() -> None:
    """Nothing differs, and p says so."""
    planted = Planted(weights=(0.6, 0.3, 0.1))
    found = tuned(planted, planted.judged_by((0.6, 0.3, 0.1)))
    assert found.before.tolist() == [pytest.approx(1)] * QUERIES
    assert found.gain <= 0
    assert found.interval[0] <= found.gain <= found.interval[1]
    assert found.p > 0.05 or found.gain < 0


def test_noise_gains_nothing_that_lasts() -> None:
    """Judgements that no weights explain: the best of all queries looks better than what cross-validation admits."""
    planted, rng = Planted(), np.random.default_rng(5)
    qrels = {f"q{i}": {f"d{j}": 1 for j in rng.choice(DOCUMENTS, 5, replace=False)} for i in range(QUERIES)}
    found = tuned(planted, EvaluationSet({name: name for name in qrels}, qrels))
    chosen = [_judge_query(*_arrays(planted, name), qrels[name]).ndcg(np.array([found.weights]))[0] for name in qrels]
    assert found.after.mean() < np.mean(chosen)
    assert found.p > 0.05
    assert found.interval[0] < 0 < found.interval[1]
    assert not found.helps


@pytest.mark.parametrize(
    ("gain", "p", "helps"), [(0.01, 0.049, True), (0.01, 0.05, False), (0.0002, 0.98, False), (-0.01, 0.001, False)]
)
def test_only_a_significant_gain_helps(gain: float, p: float, helps: bool) -> None:
    assert Tuning((1.0, 0.0, 0.0), np.zeros(10), np.full(10, gain), (gain, gain), p).helps is helps


def test_noise_is_seldom_kept() -> None:
    """With judgements that no weights explain, half of all gains are above 0; the test lets one in twenty pass.

    That the folds choose their weights from queries they share makes gains less independent than the test assumes, so
    it is measured. 11 or more of 100 would come about once in a hundred times if one in twenty were true.
    """
    positive = kept = 0
    for seed in range(100):
        planted, rng = Planted(seed=seed), np.random.default_rng(seed)
        qrels = {f"q{i}": {f"d{j}": 1 for j in rng.choice(DOCUMENTS, 3, replace=False)} for i in range(QUERIES)}
        found = tuned(planted, EvaluationSet({name: name for name in qrels}, qrels))
        positive, kept = positive + (found.gain > 0), kept + found.helps
    assert 30 < positive < 70
    assert kept <= 10


def _arrays(planted: Planted, query: str) -> tuple[list[str], list[np.ndarray]]:
    ids, shares = planted.shares([query])[0]
    return ids, [shares[view] for view in VIEWS]


@pytest.mark.parametrize("odd", range(0, QUERIES, 7))
def test_a_query_does_not_choose_its_own_weights(odd: int) -> None:
    """All queries but one have nothing relevant, so that they have no wish; that one wants `dense` alone."""
    planted = Planted()
    data = planted.judged_by((1, 0, 0))
    for name in data.qrels:
        if name != f"q{odd}":
            data.qrels[name] = {"d0": 0}
    found = tuned(planted, data)
    alone = _judge_query(*_arrays(planted, f"q{odd}"), data.qrels[f"q{odd}"])
    assert alone.ndcg(np.array([found.weights]))[0] == pytest.approx(1)  # from all queries
    assert found.after[odd] < 0.9  # it would be 1 if the query had been asked


@pytest.mark.parametrize("queries", [2 * FOLDS, 2 * FOLDS + 1, 33, 1000])
def test_folds_of_even_size(queries: int) -> None:
    sizes = np.bincount(_assign_folds(queries, seed=7), minlength=FOLDS)
    assert (len(sizes), sizes.sum()) == (FOLDS, queries)
    assert sizes.max() - sizes.min() <= 1


def test_the_same_seed_gives_the_same() -> None:
    planted = Planted()
    data = planted.judged_by((0.3, 0.3, 0.4))
    first, second, other = (tuned(planted, data, seed=seed) for seed in (1, 1, 2))
    assert (first.weights, first.interval, first.p) == (second.weights, second.interval, second.p)
    assert np.array_equal(first.after, second.after)
    assert other.weights == first.weights  # folds do not matter for what all queries choose


def test_progress_is_told() -> None:
    planted, told = Planted(), []
    tuned(planted, planted.judged_by((1, 0, 0), queries=70), progress=told.append)
    assert told == [32, 64, 70]


def test_too_little_to_tune_with() -> None:
    planted = Planted()
    with pytest.raises(InputError, match="9 queries have a relevant document, expected at least 10: judge more"):
        tuned(planted, planted.judged_by((1, 0, 0), queries=9))
    with pytest.raises(InputError, match="has the view dense alone, expected several"):
        tuned(Planted(["dense"]), planted.judged_by((1, 0, 0)))


# --- an index ---


def texts(count: int, words: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(layouts.WORDS, words, replace=False)) for _ in range(count)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dense vectors and words; not to be changed."""
    folder = tmp_path_factory.mktemp("tuned")
    model = layouts.sentence_transformer(folder / "model")
    with Retriever.create(folder / "x.ast", model) as retriever:
        retriever.add(Document(f"d{i}", text) for i, text in enumerate(texts(40, 12, seed=1)))
    return folder / "x.ast"


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "x.ast")


@pytest.fixture(scope="module")
def data(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Judged by the dense view alone, of which the weights so far make little."""
    place = tmp_path_factory.mktemp("judged")
    queries = [{"_id": f"q{i}", "text": text} for i, text in enumerate(texts(14, 4, seed=2))]
    jsonl(place / "queries.jsonl", queries)
    (place / "qrels").mkdir()
    with Retriever.open(made) as retriever:
        best = retriever.search_many([query["text"] for query in queries], 3, method="dense")
    rows = [f"q{i}\t{hit.id}\t{4 - hit.rank}" for i, ranking in enumerate(best) for hit in ranking]
    for split, count in (("train", len(rows)), ("few", 9)):
        (place / "qrels" / f"{split}.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows[:count]]))
    return place


def ndcg(retriever: Retriever, data: EvaluationSet, **options: Any) -> np.ndarray:
    """Of searches as everybody makes them."""
    rankings = retriever.search_many(list(data.queries.values()), 10, **options)
    found = {name: {hit.id: hit.score for hit in one} for name, one in zip(data.queries, rankings, strict=True)}
    return measure(data.qrels, found)["nDCG@10"]


def test_what_is_measured_is_what_a_search_gives(made: Path, data: Path) -> None:
    judged = read_evaluation_set(data, "train")
    with Retriever.open(made) as retriever:
        found = tune(retriever, judged)
        np.testing.assert_allclose(found.before, ndcg(retriever, judged, method="hybrid"), atol=1e-9)
        assert found.weights[0] > found.weights[1]
        assert ndcg(retriever, judged, settings=HybridSearch(weights=found.weights)).mean() > found.before.mean()
        assert retriever.fusion == HybridSearch()  # nothing was kept


def test_tune_keeps_the_weights(folder: Path, data: Path) -> None:
    ran = run("tune", folder, "--data", data, "--json")
    assert (ran.code, ran.err) == (0, "")
    (line,) = ran.lines()
    assert (line["queries"], line["kept"], line["weights"]["multi"]) == (14, True, 0)
    assert line["interval"][0] <= line["gain"] <= line["interval"][1]
    assert 0 < line["p"] <= 1
    weights = tuple(line["weights"][view] for view in VIEWS)
    judged = read_evaluation_set(data, "train")
    for _ in range(2):  # opened again, and after changes
        with Retriever.open(folder) as opened:
            assert (opened.fusion, opened.weights) == (HybridSearch(weights=weights), weights)
            for query in judged.queries.values():
                expected = opened.search(query, settings=HybridSearch(weights=weights))
                assert opened.search(query) == opened.search(query, method="hybrid") == expected
            assert ndcg(opened, judged).mean() > ndcg(opened, judged, method="hybrid:standard").mean()
            opened.check()
            opened.compact()
    again = run("tune", folder, "--data", data, "--json").lines()[0]  # nothing more to gain
    assert (again["kept"], again["gain"] <= 0) == (False, True)
    with Retriever.open(folder) as opened:
        assert opened.weights == weights


def test_a_dry_run_changes_nothing(folder: Path, data: Path) -> None:
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    ran = run("tune", folder, "--data", data, "--dry-run")
    assert ran.code == 0
    assert ran.err == "the index was not changed: --dry-run\n"
    assert ran.out.startswith("weights: dense ")
    assert "nDCG@10 " in ran.out.splitlines()[1]
    assert "14 queries" in ran.out.splitlines()[1]
    assert json.loads(run("tune", folder, "--data", data, "--dry-run", "--json").out)["kept"] is False
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    assert run("tune", folder, "--data", data).err == "kept with the index\n"
    assert run("tune", folder, "--data", data, "--quiet").err == ""


def test_noise_changes_nothing(folder: Path, data: Path, tmp_path: Path) -> None:
    """Judgements without a reason: a difference that may be chance is not kept, whichever sign it has."""
    shutil.copytree(data, tmp_path / "noise")
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    reasons = set()
    for seed in range(8):
        chosen = np.random.default_rng(seed).integers(0, 40, 14)
        rows = [f"q{i}\td{document}\t1" for i, document in enumerate(chosen)]
        (tmp_path / "noise" / "qrels" / "train.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))
        (line,) = run("tune", folder, "--data", tmp_path / "noise", "--json").lines()
        assert (line["kept"], line["p"] >= 0.05) == (False, True)
        ran = run("tune", folder, "--data", tmp_path / "noise")
        reason = "the gain may be chance, p is not below 0.05" if line["gain"] > 0 else "there is no gain"
        assert ran.err == f"the index was not changed: {reason}\n"
        reasons.add(reason)
    assert len(reasons) == 2
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_queries_without_a_relevant_document_do_not_count(folder: Path, data: Path, tmp_path: Path) -> None:
    """The result is as if they were not there, and tune says how many there are."""
    plain = run("tune", folder, "--data", data, "--dry-run", "--json").lines()[0]
    queries = [json.loads(line) for line in (data / "queries.jsonl").read_text().splitlines()]
    (tmp_path / "more" / "qrels").mkdir(parents=True)
    jsonl(tmp_path / "more" / "queries.jsonl", [*queries, *({"_id": f"none{i}", "text": "sun"} for i in range(3))])
    rows = [f"none{i}\td{i}\t0" for i in range(3)]
    judged = (data / "qrels" / "train.tsv").read_text()
    (tmp_path / "more" / "qrels" / "train.tsv").write_text("\n".join([judged, *rows]))
    more = run("tune", folder, "--data", tmp_path / "more", "--dry-run", "--json").lines()[0]
    assert (plain["without_relevant"], more["without_relevant"]) == (0, 3)
    assert {**more, "without_relevant": 0} == plain
    shown = run("tune", folder, "--data", tmp_path / "more", "--dry-run").out
    assert "14 queries (3 without a relevant document left out)" in shown


def others(place: Path, data: Path) -> Path:
    """Judgements of another corpus."""
    shutil.copytree(data, place)
    rows = [f"q{i}\telsewhere\t1" for i in range(14)]
    (place / "qrels" / "train.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))
    return place


def test_tune_refuses(folder: Path, data: Path, tmp_path: Path) -> None:
    cases: list[tuple[list[object], str]] = [
        (["--data", data, "--split", "few"], "3 queries have a relevant document, expected at least 10: judge more"),
        (["--data", data, "--split", "test"], "choose one of few, train"),
        (["--data", tmp_path / "nowhere"], "is not a folder"),
        (["--data", others(tmp_path / "others", data)], "index that corpus first"),
    ]
    for options, message in cases:
        ran = run("tune", folder, *options)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert message in ran.err


@pytest.mark.parametrize("compacted", [False, True])
def test_tune_in_an_index_without_documents(folder: Path, data: Path, compacted: bool) -> None:
    with Retriever.open(folder) as opened:
        opened.delete([f"d{i}" for i in range(40)])
        if compacted:
            opened.compact()
    ran = run("tune", folder, "--data", data)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "index that corpus first" in ran.err
