"""Collections that reached the same documents in different ways give the same results."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import MetadataChange, Representations, TokenSearch, TokenVectors, Views
from asterism.collection.collection import Collection
from asterism.documents.document import Document
from asterism.settings import TokenBuild
from tests.conftest import brute_force, make_query, make_vectors, tokens_only
from tests.property.modelled import ALL, METHODS, SMALL, D, is_flat

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
# Deleted documents count in it until they are compacted away.
CLUSTER = TokenSearch(method="xtr", probes=2, imputation="cluster", cluster_tokens=30)
Results = list[list[tuple[str, float]]]
Trained = tuple[dict[str, Any], Collection, Collection]


def name_of(codec: dict[str, Any]) -> str:
    return "-".join(str(value) for value in codec.values())


def batch(codec: dict[str, Any], first: int, count: int, seed: int) -> tuple[list[Document], Representations]:
    longest = codec.get("fixed", 6)
    vectors = make_vectors(count, D, longest=longest, seed=seed, shortest=codec.get("fixed", 0))
    rounded = vectors.flat.astype(np.float16).astype(np.float32)  # as a flat index stores them
    documents = [Document(str(first + i), "text", metadata={"n": i % 3}) for i in range(count)]
    return documents, tokens_only(TokenVectors(rounded, vectors.offsets))


def part_of(
    documents: list[Document], content: Representations, a: int, b: int
) -> tuple[list[Document], Representations]:
    vectors = content.multi
    assert vectors is not None
    return documents[a:b], tokens_only(TokenVectors.from_documents([vectors[i] for i in range(a, b)]))


@pytest.fixture(params=CODECS, ids=name_of)
def trained(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[dict[str, Any], Collection, Collection]:
    """A codec's settings, and two collections of 40 documents that share that codec, trained on them."""
    first = Collection.create(tmp_path / "a", Views(TokenBuild(**request.param, threads=1)), {}, SMALL)
    with first.writing() as writer:
        writer.add(*batch(request.param, 0, 40, 1))
        writer.settle()
        assert not is_flat(first)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    policy = replace(SMALL, outgrown=ALL, drifted=ALL)
    return request.param, Collection.open(tmp_path / "a", policy), Collection.open(tmp_path / "b", policy)


def results(collection: Collection, k: int = 10, searches: list[TokenSearch] = SEARCHES) -> Results:
    queries = [make_query(D, tokens, tokens) for tokens in (1, 5, 9)]
    found = [
        collection.search(query, k, search, where)
        for query, search, where in itertools.product(queries, searches, [None, {"n": 1}])
    ]
    return [[(document.id, score) for document, score in one.documents] for one in found]


def segments(collection: Collection) -> int:
    return len(collection.snapshot().segments)


def test_several_segments_are_searched_as_one(trained: Trained) -> None:
    codec, many, one = trained
    many.policy = replace(many.policy, most_segments=64)
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


def test_a_change_of_metadata_changes_no_score(trained: Trained) -> None:
    """It copies codes, so that even coded vectors stay the same."""
    _, changed, plain = trained
    with changed.writing() as writer:
        moved = writer.change_metadata(changed.match({"n": 1}), MetadataChange({"m": 2}))
        assert len(moved) == 13
    exact = [TokenSearch(method="exact")]
    for _ in range(2):
        for after, before in zip(results(changed, 40, exact), results(plain, 40, exact), strict=True):
            assert sorted(after) == sorted(before)
        with changed.writing() as writer:
            writer.compact()
    assert results(changed, 40, exact)
    changed.check()


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


def test_what_was_stored_survives_merging_and_training_again(trained: Trained) -> None:
    """Scores stay near those of the original vectors, and do not get worse with each training."""
    codec, collection, _ = trained
    collection.policy = replace(collection.policy, outgrown=1)  # each settle trains again
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


def test_many_small_batches_do_not_leave_many_segments(tmp_path: Path) -> None:
    """Each has half a dozen files open, and the system's limit is often 1,024; flat ones are merged, not trained."""
    policy = replace(SMALL, flat_tokens=10)
    collection = Collection.create(tmp_path / "x", Views(TokenBuild(threads=1)), {}, policy)
    with collection.writing() as writer:
        for i in range(20):
            writer.add([Document(str(i), "")], tokens_only(TokenVectors(make_query(D, 3, i), [0, 3])))
            assert segments(collection) <= 4
        assert is_flat(collection)
    assert [document.id for document in collection.documents()] == [str(i) for i in range(20)]
