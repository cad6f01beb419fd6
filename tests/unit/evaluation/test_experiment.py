"""Methods side by side: measured in parts as if at once, few rankings in memory, and runs in files of their own."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from asterism import Document
from asterism.errors import InputError
from asterism.evaluation import experiment
from asterism.evaluation.datasets import EvaluationSet
from asterism.evaluation.experiment import DEPTH, SHALLOW, MethodResult, evaluate, name_run
from asterism.evaluation.metrics import MEASURES, measure
from asterism.results import Ranking, read_trec_run
from asterism.settings import Fusion, Method

DOCUMENTS = 1200
CHUNK = 4


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "CHUNK", CHUNK)


class Shuffled:
    """What `evaluate` asks of a retriever: a random ranking for every query and method, another for each depth."""

    path = Path("shuffled.ast")

    def __init__(self) -> None:
        self.documents = [Document(f"d{i}", "text") for i in range(DOCUMENTS)]

    def __len__(self) -> int:
        return DOCUMENTS

    def __contains__(self, id: str) -> bool:
        return True

    def check_method(self, method: str) -> None:
        pass

    def search(self, query: str, k: int, *, method: str) -> Ranking:
        order = np.random.default_rng([*method.encode(), int(query), k]).permutation(DOCUMENTS)[:k]
        found = [(self.documents[number], 1.0 - rank / k) for rank, number in enumerate(order)]
        return Ranking.from_scores(query, method, found, {"encode": 0.0})

    def search_many(self, queries: Sequence[str], k: int, *, method: str) -> list[Ranking]:
        assert len(queries) <= CHUNK
        return [self.search(query, k, method=method) for query in queries]


def make_data(queries: int) -> EvaluationSet:
    rng = np.random.default_rng(queries)
    qrels = {f"q{i}": {f"d{j}": int(rng.integers(1, 4)) for j in rng.choice(DOCUMENTS, 300)} for i in range(queries)}
    return EvaluationSet({f"q{i}": str(i) for i in range(queries)}, qrels)


def evaluated(data: EvaluationSet, methods: Sequence[str], **options: Any) -> list[MethodResult]:
    return evaluate(Shuffled(), data, methods, **options)


@pytest.mark.parametrize("queries", [1, CHUNK, CHUNK + 1, 3 * CHUNK - 1])
def test_parts_are_measured_as_the_whole(queries: int, tmp_path: Path) -> None:
    """Values, their order and the run are those of all queries at once; up to rank 10 of the shallow search."""
    data, retriever = make_data(queries), Shuffled()
    (result,) = evaluated(data, ["exact"], runs={"exact": tmp_path / "x.run"})
    whole = {}
    for depth in (SHALLOW, DEPTH):
        rankings = {name: retriever.search(text, depth, method="exact") for name, text in data.queries.items()}
        whole[depth] = {name: {hit.id: hit.score for hit in ranking} for name, ranking in rankings.items()}
    assert list(result.values) == list(MEASURES)
    for name, values in result.values.items():
        depth = SHALLOW if name in ("nDCG@10", "MRR@10", "Recall@10", "Success@5") else DEPTH
        np.testing.assert_array_equal(values, measure(data.qrels, whole[depth])[name])
    assert result.milliseconds.shape == (queries,)
    assert read_trec_run(tmp_path / "x.run") == whole[DEPTH]
    assert list(read_trec_run(tmp_path / "x.run")) == list(data.queries)


def test_memory_does_not_grow_with_queries_and_methods(tmp_path: Path) -> None:
    """Beyond two chunks; a run of 1,000 documents a query would show."""
    retriever = Shuffled()

    def peak(queries: int, methods: Sequence[str]) -> int:
        data = make_data(queries)
        runs = {method: tmp_path / f"{queries}.{method}" for method in methods}
        tracemalloc.start()
        try:
            evaluate(retriever, data, methods, runs=runs)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(CHUNK, ["exact"])  # imports
    assert peak(5 * CHUNK, ["exact", "xtr", "dense"]) < 1.2 * peak(2 * CHUNK, ["exact"])


def test_progress_counts_searches() -> None:
    told: list[int] = []
    evaluated(make_data(7), ["exact", "xtr"], progress=told.append)
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0, 14)
    assert 7 in told


def test_every_method_has_a_file_name_of_its_own() -> None:
    """Without characters that Windows refuses, and also where case does not count."""
    methods = [*get_args(Method), *(f"hybrid:{fusion}" for fusion in get_args(Fusion))]
    names = [name_run(method) for method in methods]
    assert name_run("hybrid:rrf") == "hybrid-rrf"
    assert len({name.lower() for name in names}) == len(methods)
    assert not set("".join(names)) & set('<>:"/\\|?* ')


def test_runs_that_cannot_be_written_are_refused_before_any_search(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    cases = [
        ({"exact": tmp_path / "x", "xtr": tmp_path / "x"}, "the runs of 'exact' and 'xtr' are both .*x, expected diff"),
        ({"dense": tmp_path / "x"}, "runs has 'dense', expected only methods that are evaluated: exact, xtr"),
        ({"xtr": tmp_path / "absent" / "x"}, "there is no folder .*absent.: create it first"),
        ({"xtr": tmp_path / "folder"}, "it is not a regular file"),
    ]
    for runs, message in cases:
        with pytest.raises(InputError, match=message):
            evaluated(make_data(1), ["exact", "xtr"], runs=runs, progress=pytest.fail)
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_what_is_read_first_does_not_count_as_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches of a method that are not measured come first."""
    asked: list[str] = []
    shuffled = Shuffled()
    search = Shuffled.search
    monkeypatch.setattr(
        Shuffled, "search", lambda self, query, k, **o: asked.append(query) or search(self, query, k, **o)
    )
    data = make_data(3)
    (result,) = evaluate(shuffled, data, ["exact"])  # type: ignore[arg-type]
    assert asked[:3] == asked[3:6] == list(data.queries.values())
    assert len(result.milliseconds) == 3
