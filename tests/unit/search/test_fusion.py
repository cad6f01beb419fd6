"""Several views, one score: candidates, missing components, ranks, weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from asterism import Collection, HybridSearch, TermCounting, TokenSearch
from asterism.search.fusion import M3, choose_protocol, compute_ranks
from asterism.settings import Fusion

from .by_hand import Text, axis, candidates_in, collection_of, found_in, plan_of
from .few_texts import FEW, QUERY, SCORES

FUSIONS = get_args(Fusion)
MANY = 1300


def sums(weights: tuple[float, ...]) -> dict[str, float]:
    return {id: float(np.dot(scores, weights)) for id, scores in SCORES.items()}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Collection, np.ndarray, np.ndarray]]:
    """More documents than any protocol takes, and the scores (MANY,) of their dense and lexical views for QUERY."""
    rng = np.random.default_rng(3)
    dense = rng.permutation(MANY).astype(np.float32)  # whole numbers up to 2048 are exact in float16
    lexical = rng.permutation(MANY).astype(np.float32) + 1
    texts = [Text(f"{i}", axis(dense[i]), {1: float(lexical[i])}, axis(1)[None], kind=int(i % 2)) for i in range(MANY)]
    with closing(collection_of(tmp_path_factory.mktemp("many") / "x", texts[:700], texts[700:])) as made:
        yield made, dense, lexical


# --- the protocols of BGE-M3 ---


def test_the_protocols_are_those_of_bge_m3() -> None:
    """arXiv:2402.03216, 4.1 and appendix: w1 = 1, w2 = 0.3, w3 = 1; for long documents 0.2, 0.8 and 0.15, 0.5, 0.35."""
    both, dense = {"dense": 1000, "lexical": 1000}, {"dense": 200}
    found = {name: (dict(protocol.candidates), protocol.weights) for name, protocol in M3.items()}
    assert found == {
        "m3-dense+lexical": (both, (1, 0.3, 0)),
        "m3-multi": (dense, (0, 0, 1)),
        "m3-all": (dense, (1, 0.3, 1)),
        "m3-long-dense+lexical": (both, (0.2, 0.8, 0)),
        "m3-long-all": (dense, (0.15, 0.5, 0.35)),
    }
    for name in M3:
        for counted in (True, False):
            assert choose_protocol(HybridSearch(fusion=name), counted) == M3[name]


@pytest.mark.parametrize("where", [None, {"kind": 1}], ids=["all", "filtered"])
@pytest.mark.parametrize("fusion", M3)
def test_candidates_of_m3(many: Any, fusion: Any, where: Any) -> None:
    collection, dense, lexical = many
    counts = np.arange(MANY) % 2 == 1 if where else np.ones(MANY, bool)

    def best(scores: np.ndarray, count: int) -> set[str]:
        return {f"{i}" for i in np.argsort(-np.where(counts, scores, -1))[: min(count, counts.sum())]}

    expected = best(dense, 1000) | best(lexical, 1000) if "lexical" in M3[fusion].candidates else best(dense, 200)
    assert candidates_in(collection, QUERY, HybridSearch(fusion=fusion), where=where) == expected


def test_m3_ranks_all_its_candidates_and_nothing_else(many: Any) -> None:
    collection, dense, lexical = many
    found = found_in(collection, QUERY, plan_of("hybrid:m3-all"), 200)
    best = np.argsort(-dense)[:200]
    totals = dense[best] + 0.3 * lexical[best] + 0.5  # the token is one of two query vectors, the other adds 0
    assert {id for id, _ in found} == {f"{i}" for i in best}
    np.testing.assert_allclose([score for _, score in found], np.sort(totals)[::-1], rtol=1e-6)


def test_candidates_are_never_fewer_than_k(many: Any) -> None:
    collection, dense, _ = many
    for fusion, k in (("m3-all", 250), ("m3-multi", 1200), ("linear", 900)):
        assert len(found_in(collection, QUERY, plan_of(f"hybrid:{fusion}"), k)) == k
    expected = {f"{i}" for i in np.argsort(-dense)[:250]}
    assert candidates_in(collection, QUERY, HybridSearch(fusion="m3-all"), k=250) == expected


# --- scores ---


@pytest.mark.parametrize("fusion", M3)
def test_m3_adds_up_weighted_scores(few: Collection, fusion: Any) -> None:
    found = found_in(few, QUERY, plan_of(f"hybrid:{fusion}"))
    expected = sorted(sums(M3[fusion].weights).items(), key=lambda item: -item[1])
    assert [id for id, _ in found] == [id for id, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-6)


def test_linear_takes_the_weights_of_m3_for_a_models_weights(few: Collection) -> None:
    assert dict(found_in(few, QUERY, plan_of("hybrid:linear"))) == pytest.approx(sums((1, 0.3, 1)), abs=1e-6)


@pytest.mark.parametrize("fusion", [fusion for fusion in FUSIONS if fusion not in ("standard", "rrf")])
@pytest.mark.parametrize("weights", [(0.2, 0.3, 0.5), (1, 0, 0), (0, 2, 0), (0, 1, 5)])
def test_weights_instead_of_the_fusions_own(few: Collection, fusion: Any, weights: Any) -> None:
    plan = plan_of("hybrid", HybridSearch(fusion=fusion, weights=weights))
    assert dict(found_in(few, QUERY, plan)) == pytest.approx(sums(weights), abs=1e-6)


def test_a_missing_component_is_computed(few: Collection) -> None:
    """With one candidate of each view, every one of them has scores that only another view found."""
    plan = plan_of("hybrid", HybridSearch(fusion="linear", weights=(1, 1, 1), depth=1))
    assert candidates_in(few, QUERY, plan.hybrid) == {"a", "b", "c"}
    assert found_in(few, QUERY, plan, 1) == [("b", pytest.approx(sum(SCORES["b"])))]
    only = HybridSearch(fusion="m3-all", weights=(1, 1, 1), depth=1)
    assert found_in(few, QUERY, plan_of("hybrid", only), 1) == [("a", pytest.approx(sum(SCORES["a"])))]


@pytest.mark.parametrize("fusion", FUSIONS)
def test_a_length_penalty_of_the_token_search_only_chooses_candidates(few: Collection, fusion: Any) -> None:
    """Scores that are known from the search and those that are added later are on one scale."""
    for depth in (1, 4):
        plain, penalised = (
            found_in(few, QUERY, plan_of("hybrid", HybridSearch(fusion=fusion, depth=depth, tokens=tokens)))
            for tokens in (TokenSearch(method="exact"), TokenSearch(method="exact", length_penalty=0.25))
        )
        assert plain == penalised


def test_depth_is_a_number_for_each_view(few: Collection) -> None:
    for depth, expected in ((1, {"a", "b"}), (2, {"a", "b", "c"}), (9, {"a", "b", "c", "d"})):
        settings = HybridSearch(fusion="m3-dense+lexical", depth=depth)
        assert candidates_in(few, QUERY, settings) == expected
    assert len(found_in(few, QUERY, plan_of("hybrid", HybridSearch(depth=1)), 4)) == 4  # never fewer than k


def test_counted_words_add_a_share_of_what_is_possible(tmp_path: Path) -> None:
    """BM25 has no scale of its own; in linear search it adds from 0 to its weight."""
    texts = [Text(f"{i}", axis(0.5), {7: 1000.0 if i == 0 else 1.0, 8: 1.0}) for i in range(4)]
    texts += [Text("none", axis(0.5), {9: 2.0})]
    with closing(collection_of(tmp_path / "x", texts, counted=True)) as made:
        query = Text(dense=axis(0.0), terms={7: 1.0}, tokens=axis(1)[None])
        plan = plan_of("hybrid", HybridSearch(fusion="linear", weights=(1, 2, 0)))
        found = dict(found_in(made, query, plan))
        assert found["none"] == 0
        assert all(0 < score < 2 for id, score in found.items() if id != "none")
        assert max(found, key=lambda id: found[id]) == "0"
        unknown = Text(dense=axis(0.5), terms={}, tokens=axis(1)[None])
        assert set(dict(found_in(made, unknown, plan)).values()) == {0.25}


@pytest.mark.parametrize("k1", [0.0, 0.9, 3.0])
def test_what_is_possible_follows_from_the_indexs_own_k1(k1: float, tmp_path: Path) -> None:
    """By hand: two documents of the mean length, so that a weight is tf (k1 + 1) / (tf + k1), in shares of k1 + 1."""
    texts = [Text("often", axis(0.5), {7: 3.0, 8: 1.0}), Text("once", axis(0.5), {7: 1.0, 8: 3.0})]
    with closing(collection_of(tmp_path / "x", texts, counted=True, counting=TermCounting(k1=k1))) as made:
        query = Text(dense=axis(0.0), terms={7: 1.0}, tokens=axis(1)[None])
        found = dict(found_in(made, query, plan_of("hybrid", HybridSearch(fusion="linear", weights=(1, 1, 0)))))
        assert found == pytest.approx({"often": 3 / (3 + k1), "once": 1 / (1 + k1)}, rel=1e-5)


# --- reciprocal ranks ---


def test_equal_scores_share_the_best_rank() -> None:
    assert compute_ranks(np.array([0.5, 2.0, 0.5, -1.0, 2.0], np.float32)).tolist() == [3, 1, 3, 5, 1]
    assert compute_ranks(np.zeros(3, np.float32)).tolist() == [1, 1, 1]
    assert compute_ranks(np.zeros(0, np.float32)).tolist() == []


RANKS = {"a": (1, 3, 2), "b": (2, 1, 3), "c": (3, 2, 1), "d": (4, 3, 4)}


@pytest.mark.parametrize("weights", [None, (1, 1, 1), (0.5, 0, 2), (0, 0, 1)])
def test_reciprocal_ranks(few: Collection, weights: Any) -> None:
    plan = plan_of("hybrid", HybridSearch(fusion="rrf", weights=weights))
    expected = {
        id: sum(weight / (60 + rank) for weight, rank in zip(weights or (1, 1, 1), of, strict=True))
        for id, of in RANKS.items()
    }
    assert dict(found_in(few, QUERY, plan)) == pytest.approx(expected, rel=1e-6)


def test_ranks_are_among_eligible_documents(few: Collection) -> None:
    found = dict(found_in(few, QUERY, plan_of("hybrid:rrf"), where={"kind": 1}))
    assert found == pytest.approx({"c": 3 / 61, "d": 3 / 62}, rel=1e-6)


# --- ends ---


@pytest.mark.parametrize("fusion", FUSIONS)
def test_nothing_to_find(tmp_path: Path, fusion: Any) -> None:
    plan = plan_of(f"hybrid:{fusion}")
    with closing(collection_of(tmp_path / "x")) as made:
        assert found_in(made, QUERY, plan) == []
        with made.writing() as writer:
            writer.compact()
        assert found_in(made, QUERY, plan, where={"kind": 1}) == []


@pytest.mark.parametrize("fusion", FUSIONS)
def test_all_are_deleted(tmp_path: Path, fusion: Any) -> None:
    plan = plan_of(f"hybrid:{fusion}")
    with closing(collection_of(tmp_path / "x", FEW[:2], FEW[2:])) as made:
        with made.writing() as writer:
            writer.delete([text.id for text in FEW])
        assert found_in(made, QUERY, plan) == []
        with made.writing() as writer:
            writer.settle()  # merges segments whose documents are all deleted
        assert found_in(made, QUERY, plan) == []
        with made.writing() as writer:
            writer.compact()
        assert found_in(made, QUERY, plan, where={"kind": 0}) == []


@pytest.mark.parametrize("fusion", FUSIONS)
def test_more_than_there_are_and_none_that_match(few: Collection, fusion: Any) -> None:
    plan = plan_of(f"hybrid:{fusion}")
    assert {id for id, _ in found_in(few, QUERY, plan, 10**6)} == {"a", "b", "c", "d"}
    assert found_in(few, QUERY, plan, where={"kind": 2}) == []
    assert {id for id, _ in found_in(few, QUERY, plan, 100, {"kind": 1})} == {"c", "d"}


@pytest.mark.parametrize("counted", [True, False], ids=["BM25", "weights"])
@pytest.mark.parametrize("fusion", FUSIONS)
def test_documents_without_words_and_token_vectors(tmp_path: Path, fusion: Any, counted: bool) -> None:
    bare = [Text(f"{i}", axis(0.25 * i + 0.125)) for i in range(3)]
    with closing(collection_of(tmp_path / "x", bare, counted=counted)) as made:
        found = found_in(made, QUERY, plan_of(f"hybrid:{fusion}"))
        assert {id for id, _ in found} == {"0", "1", "2"}
        assert np.isfinite([score for _, score in found]).all()
        if fusion != "m3-multi":
            assert [id for id, _ in found] == ["2", "1", "0"]


@pytest.mark.parametrize("views", [("multi", "dense"), ("multi", "lexical"), ("dense", "lexical")], ids="+".join)
def test_two_views(tmp_path: Path, views: tuple[str, ...]) -> None:
    with closing(collection_of(tmp_path / "x", FEW[:2], FEW[2:], views=views)) as made:
        there = [view in views for view in ("dense", "lexical", "multi")]
        weights = tuple(np.where(there, (1, 0.3, 1), 0))
        ids = ("a", "b", "c", "d") if "dense" in views else ("a", "b", "c")  # d has nothing that another view finds
        expected = {id: score for id, score in sums(weights).items() if id in ids}
        assert dict(found_in(made, QUERY, plan_of("hybrid:linear", None, views))) == pytest.approx(expected, abs=1e-6)
        ranked = {
            id: sum(1 / (60 + rank) for rank, counts in zip(of, there, strict=True) if counts)
            for id, of in RANKS.items()
            if id in ids
        }
        assert dict(found_in(made, QUERY, plan_of("hybrid:rrf", None, views))) == pytest.approx(ranked, rel=1e-6)
