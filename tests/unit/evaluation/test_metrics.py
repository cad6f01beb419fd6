"""Every measure against its definition, written out in NumPy."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from asterism.errors import InputError, MissingPackage
from asterism.evaluation.metrics import MEASURES, measure

Judgements = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def by_hand(judged: dict[str, int], scores: dict[str, float]) -> dict[str, float]:
    """The measures of one query; equal scores by descending id."""
    ids = sorted(scores, key=lambda document: (scores[document], document), reverse=True)
    gains = np.maximum([judged.get(document, 0) for document in ids], 0)
    ideal = np.sort(np.maximum(list(judged.values()), 0))[::-1]
    relevant, found = np.count_nonzero(ideal), gains > 0
    first = np.argmax(found[:10]) + 1 if found[:10].any() else np.inf
    values = {"nDCG@10": dcg(gains[:10]) / dcg(ideal[:10]) if relevant else 0.0, "MRR@10": 1 / first}
    for depth in (10, 100, 1000):
        values[f"Recall@{depth}"] = np.count_nonzero(found[:depth]) / relevant if relevant else 0.0
    return {**values, "Success@5": float(found[:5].any())}


def dcg(gains: np.ndarray) -> float:
    return float(np.sum(gains / np.log2(np.arange(len(gains)) + 2)))


def random_case(seed: int, levels: int) -> tuple[Judgements, Run]:
    """30 queries, some without results or relevant documents; as many score levels as asked for."""
    generator = np.random.default_rng(seed)
    documents = [f"d{number}" for number in range(1500)]
    qrels: Judgements = {}
    run: Run = {}
    for number in generator.permutation(30):
        judged = generator.choice(documents, generator.integers(1, 40), replace=False)
        qrels[f"q{number}"] = {str(document): int(generator.integers(-1, 4)) for document in judged}
        found = {*generator.choice(documents, generator.choice([0, 3, 9, 50, 500, 1400])), *judged[::2]}
        scores = {str(document): float(generator.integers(levels)) / levels for document in sorted(found)}
        run[f"q{number}"] = {document: score + 0.3 * (document in judged) for document, score in scores.items()}
    run["not judged"] = {"d1": 1.0}
    del run["q3"], run["q8"]
    qrels["q5"] = dict.fromkeys(qrels["q5"], 0)
    return qrels, run


@pytest.mark.parametrize("levels", [3, 100, 2**52])
@pytest.mark.parametrize("seed", range(4))
def test_same_as_by_hand(seed: int, levels: int) -> None:
    qrels, run = random_case(seed, levels)
    values = measure(qrels, run)
    expected = [by_hand(judged, run.get(query, {})) for query, judged in qrels.items()]
    assert list(values) == list(MEASURES)
    for name, array in values.items():
        assert array.dtype == np.float64
        np.testing.assert_allclose(array, [one[name] for one in expected], rtol=0, atol=1e-12, err_msg=name)
    assert all(array.any() and array.min() == 0 for array in values.values())
    assert len(np.unique(values["nDCG@10"])) > 10
    assert not values["Recall@1000"][list(qrels).index("q3")]


def test_a_worked_example() -> None:
    """Judged 3, 1 and not found 2: DCG 3/log2(3) + 1/log2(4), ideal 3 + 2/log2(3) + 1/2."""
    qrels = {"q": {"a": 3, "b": 1, "c": 2}}
    values = measure(qrels, {"q": {"x": 9.0, "a": 8.0, "b": 7.0}})
    ndcg = (3 / np.log2(3) + 0.5) / (3 + 2 / np.log2(3) + 0.5)
    assert values["nDCG@10"] == pytest.approx([ndcg], abs=1e-12)
    assert values["MRR@10"] == [0.5]
    assert values["Recall@10"] == pytest.approx([2 / 3], abs=1e-12)
    assert values["Success@5"] == [1.0]


def test_equal_scores_go_by_descending_id_in_every_measure() -> None:
    values = measure({"q": {"a": 1}, "r": {"b": 1}}, {query: {"a": 1.0, "b": 1.0} for query in ("q", "r")})
    assert values["MRR@10"].tolist() == [0.5, 1.0]
    assert values["nDCG@10"] == pytest.approx([1 / np.log2(3), 1.0], abs=1e-12)


def test_scores_are_not_rounded() -> None:
    values = measure({"q": {"a": 1}}, {"q": {"a": 1.0 + 1e-12, "b": 1.0}})
    assert values["nDCG@10"].tolist() == values["MRR@10"].tolist() == [1.0]


def test_scores_of_numpy_and_infinity() -> None:
    values = measure({"q": {"a": 1}}, {"q": {"a": np.float32(2), "b": -np.inf, "c": 1}})
    assert values["MRR@10"].tolist() == [1.0]


def test_nothing_found_or_judged() -> None:
    assert all(array.tolist() == [0.0, 0.0] for array in measure({"q": {"a": 1}, "r": {}}, {}).values())
    assert all(array.shape == (0,) for array in measure({}, {"q": {"a": 1.0}}).values())


def test_nan_is_refused() -> None:
    with pytest.raises(InputError, match="document 'a' of query 'q' NaN"):
        measure({"q": {"a": 1}}, {"q": {"a": float("nan")}})


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingPackage, match=r'pip install "asterism\[evaluate\]"'):
        measure({"q": {"a": 1}}, {})
