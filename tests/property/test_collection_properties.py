"""A collection against a plain dict: whatever is done to it in whatever order, it holds and finds the same."""

from __future__ import annotations

import itertools
import operator
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from asterism import Representations, TokenSearch, TokenVectors, Views
from asterism.collection import writer as collection_writer
from asterism.collection.collection import Collection
from asterism.documents.document import Document
from asterism.errors import DocumentError, UnknownDocument
from asterism.settings import TokenBuild
from tests.conftest import brute_force, make_query, make_vectors, tokens_only

QUIET = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
METHODS = ["exact", "colbert", "xtr"]
D = 16
ALL = 10**6
CODECS: list[dict[str, Any]] = [
    {"bits": 1},
    {"bits": 2},
    {"bits": 4},
    {"bits": 16},
    {"bits": 32},
    {"bits": 4, "levels": "quantile"},
    {"bits": 16, "levels": "quantile"},
    {"bits": 1, "refinement": "float16"},
    {"bits": 4, "fixed": 3},
    {"bits": 16, "fixed": 3},
]
SEARCHES = [
    *(TokenSearch(method=method) for method in METHODS),
    TokenSearch(method="colbert", probes=2, candidates=12, refine=6),
    TokenSearch(method="xtr", probes=2, retrieved=20),
    TokenSearch(method="xtr", probes=2, imputation="zero"),
]
CLUSTER = TokenSearch(
    method="xtr", probes=2, imputation="cluster", cluster_tokens=30
)  # counts the dead until compacted

Stored = dict[str, tuple[Document, np.ndarray]]
Results = list[list[tuple[str, float]]]


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few documents take a collection through all that happens to large ones."""
    monkeypatch.setattr(collection_writer, "FLAT_TOKENS", 60)
    monkeypatch.setattr(collection_writer, "MOST_SEGMENTS", 4)
    monkeypatch.setattr(collection_writer, "OUTGROWN", 3)


# Filters, by an evaluation that shares nothing with the library's.

SIGNS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}

scalars = st.sampled_from([0, 1, 2, 1.0, 1.5, 2**62, -1, True, False, None, "", "a", "b", "ä"])
ordered = st.sampled_from([0, 1, 1.5, -1, "a", "ä"])
names = st.sampled_from(["n", "tags", "o.p", "o.q", "o", "nowhere"])
metadata = st.fixed_dictionaries(
    {},
    optional={
        "n": scalars,
        "tags": st.lists(scalars, max_size=3),
        "o": st.fixed_dictionaries({}, optional={"p": scalars, "q": st.lists(scalars, max_size=2)}),
    },
)
comparisons = st.one_of(
    scalars,
    st.builds(lambda sign, value: {sign: value}, st.sampled_from(["$eq", "$ne"]), scalars),
    st.builds(lambda sign, value: {sign: value}, st.sampled_from(sorted(SIGNS)), ordered),
    st.builds(lambda sign, values: {sign: values}, st.sampled_from(["$in", "$nin"]), st.lists(scalars, max_size=3)),
    st.builds(lambda there: {"$exists": there}, st.booleans()),
    st.builds(lambda a, b: {"$gte": a, "$not": {"$gt": b}}, ordered, ordered),
)
filters: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.dictionaries(names, comparisons, max_size=2),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda part: {"$not": part}, inner),
    ),
    max_leaves=4,
)


def values_at(place: Any, path: list[str]) -> list[Any]:
    """The scalars that a dotted name leads to; Ellipsis for an object or an empty list, which only exist."""
    if isinstance(place, list):
        return [value for element in place for value in values_at(element, path)] or ([] if path else [...])
    if not path:
        return [...] if isinstance(place, dict) else [place]
    return values_at(place[path[0]], path[1:]) if isinstance(place, dict) and path[0] in place else []


def kind(value: Any) -> str:
    return "number" if type(value) in (int, float) else type(value).__name__


def one_holds(sign: str, operand: Any, found: list[Any]) -> bool:
    if sign in SIGNS:
        return any(kind(value) == kind(operand) and SIGNS[sign](value, operand) for value in found)
    if sign == "$eq":
        return any(kind(value) == kind(operand) and value == operand for value in found)
    if sign == "$in":
        return any(one_holds("$eq", element, found) for element in operand)
    if sign == "$exists":
        return bool(found) == operand
    if sign == "$not":
        return not all(one_holds(inner, value, found) for inner, value in operand.items())
    return not one_holds({"$ne": "$eq", "$nin": "$in"}[sign], operand, found)


def holds(where: dict[str, Any], of: dict[str, Any]) -> bool:
    for name, value in where.items():
        if name == "$and":
            ok = all(holds(part, of) for part in value)
        elif name == "$or":
            ok = any(holds(part, of) for part in value)
        elif name == "$not":
            ok = not holds(value, of)
        else:
            signs = value if isinstance(value, dict) else {"$eq": value}
            ok = all(one_holds(sign, operand, values_at(of, name.split("."))) for sign, operand in signs.items())
        if not ok:
            return False
    return True


# The model: what was done, and what must then be there.

operations = st.one_of(
    st.tuples(st.just("add"), st.lists(metadata, min_size=1, max_size=8), st.integers(0, 10**6)),
    st.tuples(st.just("update"), st.lists(metadata, min_size=1, max_size=4), st.integers(0, 10**6)),
    st.tuples(st.just("delete"), st.floats(0, 1), st.integers(0, 10**6)),
    st.tuples(st.sampled_from(["settle", "compact", "reopen"])),
)


def matrices(count: int, seed: int) -> list[np.ndarray]:
    vectors = make_vectors(count, D, longest=6, seed=seed)
    return [vectors[i] for i in range(count)]


class Modelled:
    """A collection and the dict that it should equal."""

    def __init__(self, path: Path, build: TokenBuild) -> None:
        self.collection = Collection.create(path, Views(build), {})
        self.model: Stored = {}
        self.made = 0
        self.batches = 0

    def put(self, ids: list[str], of: list[dict[str, Any]], seed: int, update: bool) -> None:
        self.batches += 1
        vectors = matrices(len(ids), seed * 1000 + self.batches)  # no two documents have the same
        documents = [Document(id, f"text {seed}", metadata=value) for id, value in zip(ids, of, strict=True)]
        with self.collection.writing() as writer:
            writer.add(documents, tokens_only(TokenVectors.from_documents(vectors)), update)
        for document, matrix in zip(documents, vectors, strict=True):
            self.model.pop(document.id, None)
            self.model[document.id] = (document, matrix)

    def do(self, name: str, *arguments: Any) -> None:
        if name == "reopen":
            self.collection.close()
            self.collection = Collection.open(self.collection.path)
        elif name in ("settle", "compact"):
            with self.collection.writing() as writer:
                getattr(writer, name)()
        elif name == "delete":
            share, seed = arguments
            gone = [id for id in self.model if np.random.default_rng([seed, int(id)]).random() < share]
            with self.collection.writing() as writer:
                assert writer.delete(gone) == len(gone)
            for id in gone:
                del self.model[id]
        else:
            of, seed = arguments
            ids = [str(self.made + i) for i in range(len(of))]
            self.made += len(ids)
            known = list(self.model)
            if name == "update" and known:  # one new, the others replace
                chosen = np.random.default_rng(seed).permutation(known)[: len(ids) - 1]
                ids[: len(chosen)] = chosen.tolist()
            self.put(ids, of, seed, name == "update")

    def check(self, where: dict[str, Any], k: int, seed: int) -> None:
        collection, model = self.collection, self.model
        collection.check()
        assert [document for document, _ in model.values()] == list(collection.documents())
        assert collection.get(list(model)) == [document for document, _ in model.values()]
        snapshot = collection.snapshot()
        assert snapshot.state.documents == len(model)
        query = make_query(D, 4, seed)
        matching = {id for id, (document, _) in model.items() if holds(where, dict(document.metadata))}
        for method in METHODS:
            search = TokenSearch(method=method)
            everything = collection.search(query, ALL, search, where).documents
            assert {document.id for document, _ in everything} == matching
            assert len(everything) == len(matching)
            assert all(document == model[document.id][0] for document, _ in everything)
            few = collection.search(query, k, search, where).documents
            assert len(few) == len({document.id for document, _ in few}) == min(k, len(matching))
            assert len(collection.search(query, k, search).documents) == min(k, len(model))
        self.check_exact(query)

    def check_exact(self, query: np.ndarray) -> None:
        exact = TokenSearch(method="exact")
        long = [id for id, (_, matrix) in self.model.items() if len(matrix)]
        for id in long[:3] + long[-3:]:
            best = self.collection.search(self.model[id][1], 1, exact).documents[0]
            assert best[0].id == id
        if self.model and is_flat(self.collection):
            stored = TokenVectors.from_documents([matrix.astype(np.float16) for _, matrix in self.model.values()])
            expected = dict(zip(self.model, brute_force(stored, query), strict=True))
            hits = self.collection.search(query, ALL, exact).documents
            scores = [score for _, score in hits]
            np.testing.assert_allclose(scores, [expected[document.id] for document, _ in hits], atol=1e-5)
            assert scores == sorted(scores, reverse=True)


@settings(QUIET, max_examples=18, phases=[Phase.explicit, Phase.generate])  # shrinking would take minutes
@given(
    steps=st.lists(operations, min_size=3, max_size=12),
    where=st.lists(filters, min_size=12, max_size=12),
    k=st.integers(1, 9),
)
def test_a_collection_equals_a_dict(
    steps: list[tuple[Any, ...]],
    where: list[dict[str, Any]],
    k: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    modelled = Modelled(tmp_path_factory.mktemp("c") / "x", TokenBuild(threads=1))
    for seed, (step, asked) in enumerate(zip(steps, where, strict=False)):
        modelled.do(*step)
        modelled.check(asked, k, seed)


def test_a_collection_grows_from_flat_to_trained_to_retrained_and_merged(tmp_path: Path) -> None:
    modelled = Modelled(tmp_path / "x", TokenBuild(threads=1))
    codecs, sizes = [], []
    for seed in range(30):
        modelled.do("add", [{"n": seed}] * 5, seed)
        modelled.do("settle")
        if seed % 5 == 4:
            modelled.do("delete", 0.3, seed)
        if seed % 7 == 6:
            modelled.do("reopen")
        modelled.check({"n": {"$lt": seed}}, 7, seed)
        state = modelled.collection.snapshot().state
        codecs.append(state.codec.name)
        sizes.append(len(state.segments))
    assert len(set(codecs)) >= 3
    assert max(sizes) > 1
    assert any(after < before for before, after in itertools.pairwise(sizes))
    modelled.do("compact")
    modelled.check({}, 7, 0)
    assert len(modelled.collection.snapshot().segments) == 1


@QUIET
@given(where=st.lists(filters, min_size=40, max_size=40), of=st.lists(metadata, min_size=25, max_size=25))
def test_filters_hold_for_exactly_those_documents(
    where: list[dict[str, Any]], of: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    modelled = Modelled(tmp_path_factory.mktemp("c") / "x", TokenBuild(threads=1))
    modelled.do("add", of, 1)
    query = make_query(D, 2, 1)
    for asked in where:
        found = modelled.collection.search(query, ALL, TokenSearch(), asked).documents
        assert {document.id for document, _ in found} == {str(i) for i, value in enumerate(of) if holds(asked, value)}


# Two collections that went different ways to the same documents.


def name_of(codec: dict[str, Any]) -> str:
    return "-".join(str(value) for value in codec.values())


def batch(codec: dict[str, Any], first: int, count: int, seed: int) -> tuple[list[Document], Representations]:
    longest = codec.get("fixed", 6)
    vectors = make_vectors(count, D, longest=longest, seed=seed, shortest=codec.get("fixed", 0))
    rounded = vectors.flat.astype(np.float16).astype(np.float32)  # as they are kept while flat
    documents = [Document(str(first + i), "text", metadata={"n": i % 3}) for i in range(count)]
    return documents, tokens_only(TokenVectors(rounded, vectors.offsets))


def part_of(
    documents: list[Document], content: Representations, a: int, b: int
) -> tuple[list[Document], Representations]:
    vectors = content.multi
    assert vectors is not None
    return documents[a:b], tokens_only(TokenVectors.from_documents([vectors[i] for i in range(a, b)]))


@pytest.fixture(params=CODECS, ids=name_of)
def trained(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], Collection, Collection]:
    """A codec's settings, and two collections of 40 documents that share that codec, trained on them."""
    first = Collection.create(tmp_path / "a", Views(TokenBuild(**request.param, threads=1)), {})
    with first.writing() as writer:
        writer.add(*batch(request.param, 0, 40, 1))
        writer.settle()
        assert not is_flat(first)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    monkeypatch.setattr(collection_writer, "OUTGROWN", ALL)
    monkeypatch.setattr(collection_writer, "DRIFTED", ALL)
    return request.param, Collection.open(tmp_path / "a"), Collection.open(tmp_path / "b")


def results(collection: Collection, k: int = 10, searches: list[TokenSearch] = SEARCHES) -> Results:
    queries = [make_query(D, tokens, tokens) for tokens in (1, 5, 9)]
    found = [
        collection.search(query, k, search, where)
        for query, search, where in itertools.product(queries, searches, [None, {"n": 1}])
    ]
    return [[(document.id, score) for document, score in one.documents] for one in found]


def segments(collection: Collection) -> int:
    return len(collection.snapshot().segments)


def is_flat(collection: Collection) -> bool:
    codec = collection.snapshot().codec
    return codec is not None and codec.codec.is_flat


Trained = tuple[dict[str, Any], Collection, Collection]


def test_several_segments_are_searched_as_one(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    codec, many, one = trained
    monkeypatch.setattr(collection_writer, "MOST_SEGMENTS", 64)
    documents, vectors = batch(codec, 40, 35, 2)
    with many.writing() as writer:
        for a, b in itertools.pairwise([0, 1, 2, 10, 11, 30, 35]):
            writer.add(*part_of(documents, vectors, a, b))
    with one.writing() as writer:
        writer.add(documents, vectors)
    assert (segments(many), segments(one)) == (7, 2)
    searches = [*SEARCHES, CLUSTER]
    expected = results(one, 10, searches)
    assert results(many, 10, searches) == expected
    with one.writing() as writer:
        writer.compact()
    assert results(one, 10, searches) == expected
    with many.writing() as writer:
        writer.settle()
    assert results(many, 10, searches) == expected


def test_add_then_delete_is_never_added(trained: Trained) -> None:
    codec, grown, plain = trained
    before = results(plain)
    with grown.writing() as writer:
        writer.add(*batch(codec, 40, 30, 3))
        writer.delete([str(i) for i in range(40, 70)])
    assert results(grown) == before
    with grown.writing() as writer:
        writer.compact()
    assert segments(grown) == 1
    assert results(grown) == before
    assert results(grown, 10, [CLUSTER]) == results(plain, 10, [CLUSTER])


def test_an_update_to_the_same_vectors_changes_no_score(trained: Trained) -> None:
    codec, changed, plain = trained
    documents, vectors = batch(codec, 0, 40, 1)
    with changed.writing() as writer:
        writer.add(*part_of(documents, vectors, 10, 25), update=True)
    exact = [TokenSearch(method="exact")]
    for after, before in zip(results(changed, 40, exact), results(plain, 40, exact), strict=True):
        assert sorted(after) == sorted(before)


def test_compaction_and_opening_again_change_no_result(trained: Trained) -> None:
    codec, collection, _ = trained
    with collection.writing() as writer:
        writer.add(*batch(codec, 40, 20, 4))
        writer.delete([str(i) for i in range(5, 50, 3)])
        writer.add(*batch(codec, 60, 10, 5))
    before = results(collection)
    again = Collection.open(collection.path)
    assert results(again) == before
    with collection.writing() as writer:
        writer.compact()
    assert segments(collection) == 1
    assert results(collection) == before
    assert results(again) == before
    assert results(Collection.open(collection.path)) == before
    collection.check()


def test_top_k_is_a_prefix_of_top_k_plus_one(trained: Trained) -> None:
    codec, collection, _ = trained
    with collection.writing() as writer:
        writer.add(*batch(codec, 40, 20, 6))
        writer.delete([str(i) for i in range(0, 60, 4)])
    wide = [TokenSearch(method=method, probes=ALL, confidence=float("inf"), rescore=ALL) for method in METHODS]
    longest = results(collection, 60, wide)
    for k in range(1, 46):
        assert results(collection, k, wide) == [row[:k] for row in longest]


def test_what_was_stored_survives_merging_and_training_again(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores stay near those of the vectors as they were given, and do not get worse with every training."""
    codec, collection, _ = trained
    monkeypatch.setattr(collection_writer, "OUTGROWN", 1)  # every settling trains anew
    documents, vectors = batch(codec, 0, 40, 1)
    query = make_query(D, 5, 1)
    truth = dict(zip((document.id for document in documents), brute_force(vectors.multi, query), strict=True))
    tolerance = {1: 2.0, 2: 0.8, 4: 0.6}.get(codec["bits"], 0.01) if "refinement" not in codec else 0.01
    usual = {1: 0.7, 2: 0.25, 4: 0.1}.get(codec["bits"], 1e-6) if "refinement" not in codec else 1e-6
    names = set()
    for _ in range(3):
        with collection.writing() as writer:
            writer.settle()
        hits = collection.search(query, 40, TokenSearch(method="exact")).documents
        assert {document.id for document, _ in hits} == set(truth)
        np.testing.assert_allclose(
            [score for _, score in hits], [truth[document.id] for document, _ in hits], atol=tolerance
        )
        errors = [abs(score - truth[document.id]) for document, score in hits if np.isfinite(score)]
        assert np.mean(errors) < usual
        snapshot = collection.snapshot()
        codec_now = snapshot.codec
        assert codec_now.settings.bits == codec["bits"]
        assert snapshot.segments[0].multi.segment.fixed == codec.get("fixed", 0)
        assert (snapshot.segments[0].multi.segment.fine is not None) == ("refinement" in codec)
        names.add(codec_now.part.name)
    assert len(names) == 3
    collection.check()


# What must change nothing.


def test_a_refused_batch_changes_nothing(tmp_path: Path) -> None:
    modelled = Modelled(tmp_path / "x", TokenBuild(threads=1))
    modelled.do("add", [{}, {}], 1)
    state = modelled.collection.snapshot().state
    with modelled.collection.writing() as writer:
        with pytest.raises(DocumentError, match="already"):
            writer.add([Document("9", ""), Document("1", "")], tokens_only(make_vectors(2, D)))
        with pytest.raises(DocumentError, match="twice"):
            writer.add([Document("9", ""), Document("9", "")], tokens_only(make_vectors(2, D)))
        with pytest.raises(UnknownDocument, match="nothing was deleted"):
            writer.delete(["1", "9"])
        assert writer.delete([], missing_ok=True) == 0
    with pytest.raises(UnknownDocument, match="'9'"):
        modelled.collection.get(["1", "9"])
    modelled.check({}, 2, 1)
    assert modelled.collection.snapshot().state.segments == state.segments


def test_documents_without_vectors_survive_training_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also alone in a segment."""
    modelled = Modelled(tmp_path / "x", TokenBuild(threads=1))
    modelled.put([str(i) for i in range(40)], [{}] * 40, 1, False)
    modelled.do("settle")
    assert not is_flat(modelled.collection)
    with modelled.collection.writing() as writer:
        writer.add([Document("empty", "")], tokens_only(TokenVectors(np.zeros((0, D), np.float32), [0, 0])))
        monkeypatch.setattr(collection_writer, "OUTGROWN", 1)
        writer.compact()
    modelled.model["empty"] = (Document("empty", ""), np.zeros((0, D), np.float32))
    modelled.check({}, 30, 1)


def test_a_drifted_collection_whose_vectors_are_all_gone_can_be_compacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modelled = Modelled(tmp_path / "x", TokenBuild(threads=1))
    modelled.put([str(i) for i in range(40)], [{}] * 40, 1, False)
    modelled.do("settle")
    assert not is_flat(modelled.collection)
    with modelled.collection.writing() as writer:
        writer.add([Document("empty", "")], tokens_only(TokenVectors(np.zeros((0, D), np.float32), [0, 0])))
        writer.delete([str(i) for i in range(40)])
        monkeypatch.setattr(collection_writer, "DRIFTED", 0)
        writer.compact()
    modelled.model = {"empty": (Document("empty", ""), np.zeros((0, D), np.float32))}
    modelled.check({}, 30, 1)


def test_many_small_batches_do_not_leave_many_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has half a dozen files open, and the system's limit is often 1,024; flat ones are merged, not trained."""
    monkeypatch.setattr(collection_writer, "FLAT_TOKENS", 10)
    collection = Collection.create(tmp_path / "x", Views(TokenBuild(threads=1)), {})
    with collection.writing() as writer:
        for i in range(20):
            writer.add([Document(str(i), "")], tokens_only(TokenVectors(make_query(D, 3, i), [0, 3])))
            assert segments(collection) <= 4
        assert is_flat(collection)
    assert [document.id for document in collection.documents()] == [str(i) for i in range(20)]
