"""Codes turned back into vectors, similarities of single tokens, and segments merged: against NumPy by hand."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import HybridSearch, TokenSearch, TokenVectors, Views
from asterism.collection import writer as collection_writer
from asterism.collection.collection import Collection
from asterism.documents.document import Document
from asterism.kernels import reference
from asterism.search.asked_views import AskedViews
from asterism.search.examine import SeenTokens, examined
from asterism.search.plan import SearchPlan
from asterism.search.token_answers import maxsim_answers, total_score, xtr_answers
from asterism.settings import TokenBuild
from asterism.views.tokens import merge as segment_merge
from asterism.views.tokens.clustering import grouped
from asterism.views.tokens.codec_files import train_codec
from asterism.views.tokens.merge import Living, LivingVectors, merge_segments
from asterism.views.tokens.residual_codec import ResidualCodec, flat_codec, padded_width, rotated, rotation_signs
from asterism.views.tokens.segment import OpenSegment, open_segment
from asterism.views.tokens.stream import Sample, TokenStream
from tests.conftest import make_query, make_vectors, tokens_only

CODECS: list[dict[str, Any]] = [
    {"bits": 1},
    {"bits": 2},
    {"bits": 4},
    {"bits": 2, "levels": "quantile"},
    {"bits": 4, "levels": "quantile"},
    {"bits": 16},
    {"bits": 32},
    {"bits": 2, "refinement": "float16"},
    {"bits": 4, "fixed": 4},
]
CODED = [codec for codec in CODECS if codec["bits"] < 16 and "refinement" not in codec]


def name_of(codec: dict[str, Any]) -> str:
    return "-".join(str(value) for value in codec.values())


def codec_for(vectors: TokenVectors, folder: Path, settings: dict[str, Any]) -> ResidualCodec:
    return train_codec(Sample(TokenStream(vectors, folder), 7), TokenBuild(**settings), 1)


def collection_of(path: Path, vectors: TokenVectors, build: dict[str, Any], parts: int = 1) -> Collection:
    """Documents "0", "1" … in so many segments."""
    collection = Collection.create(path, Views(TokenBuild(**build, threads=1)), {})
    edges = np.linspace(0, len(vectors), parts + 1).astype(int)
    with collection.writing() as writer:
        for i, (a, b) in enumerate(itertools.pairwise(edges)):
            documents = [Document(str(j), "text") for j in range(a, b)]
            writer.add(documents, tokens_only(TokenVectors.from_documents([vectors[j] for j in range(a, b)])))
            if i == 0:
                writer.settle()
    assert len(collection.snapshot().segments) == parts
    return collection


def vectors_for(build: dict[str, Any], documents: int = 60, d: int = 24, seed: int = 2) -> TokenVectors:
    fixed = build.get("fixed", 0)
    return make_vectors(documents, d, longest=fixed or 7, seed=seed, shortest=fixed)


@pytest.fixture
def trains_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection_writer, "FLAT_TOKENS", 40)


@pytest.mark.parametrize("d", range(1, 131))
def test_unrotate_undoes_rotate(d: int) -> None:
    rng = np.random.default_rng(d)
    rows, signs = rng.normal(size=(5, d)).astype(np.float32), rotation_signs(d, rng)
    turned = rotated(rows, signs, 1)
    np.testing.assert_array_equal(turned, reference.rotate(rows, signs))
    np.testing.assert_allclose(reference.unrotate(turned, signs), rows, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(rows, axis=1), rtol=1e-5)


def test_rotation_of_no_rows_is_no_rows() -> None:
    signs = rotation_signs(24, np.random.default_rng(0))
    none = np.zeros((0, 24), np.float32)
    assert reference.rotate(none, signs).shape == reference.unrotate(none, signs).shape == (0, 24)


@pytest.mark.parametrize("d", [1, 16, 33, 100, 128])
@pytest.mark.parametrize("settings", CODED, ids=name_of)
def test_decoded_vectors_have_the_similarities_of_their_codes(settings: dict[str, Any], d: int, tmp_path: Path) -> None:
    """Up to the query's bytes: half a step a coordinate."""
    vectors = make_vectors(60, d, longest=6, seed=d, shortest=1)
    codec = codec_for(vectors, tmp_path, settings)
    turned = codec.rotated(vectors.flat, 1)
    nearest = np.random.default_rng(d).integers(len(codec.centroids), size=len(turned)).astype(np.uint32)
    codes, exact_scales = codec.encode(turned, nearest, 1)
    scales = exact_scales.astype(np.float16)
    decoded = codec.decode(codes, scales, nearest)
    assert decoded.shape == vectors.flat.shape
    query = make_query(d, 7)
    bytes_of = reference.to_signed_bytes(codec.rotated(query, 1), codec.centroids.rows.shape[1])
    table = reference.centroid_scores(codec.centroids.rows[nearest], codec.centroids.scales[nearest], bytes_of)
    expected = reference.compare_codes(codes, scales, table, codec.code_format, bytes_of)
    spread = np.abs(codec.rotated(decoded, 1)).sum(axis=1, keepdims=True)
    bound = bytes_of.scale[None, :] / 2 * spread + 1e-4
    assert (np.abs(decoded @ query.T - expected) <= bound).all()


@pytest.mark.parametrize("settings", CODED, ids=name_of)
def test_decoding_is_near_what_was_encoded(settings: dict[str, Any], tmp_path: Path) -> None:
    vectors = make_vectors(300, 64, longest=9, seed=4, shortest=1)
    codec = codec_for(vectors, tmp_path, settings)
    turned = codec.rotated(vectors.flat, 1)
    nearest = codec.nearest(turned, 1)
    codes, scales = codec.encode(turned, nearest, 1)
    decoded = codec.decode(codes, scales.astype(np.float16), nearest)
    cosines = np.einsum("ij,ij->i", decoded, vectors.flat) / np.linalg.norm(decoded, axis=1)
    assert cosines.mean() > {1: 0.75, 2: 0.9, 4: 0.97}[codec.bits]


def test_left_over_by_hand() -> None:
    """Two centroids, no rotation: the energy of what remains, as a share of all."""
    values = np.array([[31.5, 0], [0, 31.5]], np.float32)
    centroids = grouped(values, np.array([0, 2], np.uint32), padded_width(2, 4))
    none = np.zeros((0, 2), np.float32)
    codec = ResidualCodec(4, centroids, none, np.zeros(16, np.uint8), np.zeros(15, np.float32), 1.0, 31.5, False)
    means = centroids.decoded()
    rows = np.array([[30, 1], [2, 29], [33, -3]], np.float32)
    rest = rows - means[[0, 1, 0]]
    assert codec.left_over(rows, 1) == pytest.approx((rest**2).sum() / (rows**2).sum())
    assert codec.left_over(rows.astype(np.float16), 1) == pytest.approx(codec.left_over(rows, 1))
    assert codec.left_over(means, 1) == pytest.approx(0, abs=1e-9)
    assert codec.left_over(np.zeros((3, 2), np.float32), 1) == 0


def test_a_flat_codec_leaves_everything_over() -> None:
    assert flat_codec(5, 16).left_over(np.ones((4, 5), np.float32), 1) == pytest.approx(1)


def test_left_over_grows_with_drift(tmp_path: Path) -> None:
    flat = make_vectors(800, 32, longest=9, seed=1).flat
    half = len(flat) // 2
    codec = codec_for(TokenVectors(flat[:half], [0, half]), tmp_path, {"bits": 4})
    others = make_vectors(200, 32, seed=2).flat
    assert 0 < codec.left_over(flat[:half], 1) < codec.left_over(flat[half:], 1) < codec.left_over(others, 1) < 2


def seen_of(collection: Collection, query: np.ndarray, document: Document, settings: TokenSearch, k: int) -> SeenTokens:
    plan = SearchPlan.of(None, settings, ("multi",), HybridSearch)
    content = tokens_only(TokenVectors(query, [0, len(query)]))
    found, seen = collection.looking_at(
        document.id, lambda state, at, subset: examined(AskedViews(state, content, subset, 1), at, plan, k, subset)
    )
    assert found == document
    assert seen.tokens is not None
    return seen.tokens


@pytest.mark.usefixtures("trains_early")
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("build", CODECS, ids=name_of)
def test_single_similarities_add_up_to_the_score_of_a_search(build: dict[str, Any], parts: int, tmp_path: Path) -> None:
    """To the bit, for every method."""
    vectors = vectors_for(build)
    collection = collection_of(tmp_path / "x", vectors, build, parts)
    for tokens, method in [(1, "exact"), (9, "exact"), (9, "colbert"), (1, "xtr"), (9, "xtr")]:
        query = make_query(24, tokens, tokens)
        settings = TokenSearch(method=method, retrieved=30)
        hits = collection.search(query, len(vectors), settings).documents
        assert len(hits) == len(vectors)
        for document, score in hits:
            matched = seen_of(collection, query, document, settings, len(vectors))
            assert matched.similarities.shape == (len(vectors[int(document.id)]), tokens)
            assert matched.centroids.shape == (len(vectors[int(document.id)]),)
            if not len(matched.similarities):
                assert score == -np.inf
            elif method == "xtr":
                answers = xtr_answers(
                    matched.similarities, matched.centroids, matched.imputed, matched.probed, settings.imputation
                )
                assert total_score(answers, settings, matched.imputed) == score
            else:
                assert total_score(maxsim_answers(matched.similarities), settings, matched.imputed) == score


@pytest.mark.usefixtures("trains_early")
def test_similarities_while_flat_are_those_of_the_vectors(tmp_path: Path) -> None:
    vectors = make_vectors(5, 24, longest=3, seed=1, shortest=2)
    collection = collection_of(tmp_path / "x", vectors, {})
    query = make_query(24, 4)
    searcher = collection.snapshot().multi
    np.testing.assert_allclose(searcher.similarities(query, 3), vectors[3].astype(np.float16) @ query.T, atol=1e-6)
    assert not searcher.centroids_of(3).any()


def rows_of(segment: OpenSegment, document: int) -> dict[str, np.ndarray]:
    rows = segment.tokens_of(document)
    arrays = {key: getattr(segment, key) for key in ("codes", "centroids", "scales", "fine")}
    return {key: np.array(values[rows]) for key, values in arrays.items() if values is not None}


@pytest.mark.usefixtures("trains_early")
@pytest.mark.parametrize("chunk", [1, 5, 1 << 14])
@pytest.mark.parametrize("build", CODECS, ids=name_of)
def test_merging_keeps_exactly_the_living(
    build: dict[str, Any], chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_merge, "CHUNK_TOKENS", chunk)
    vectors = vectors_for(build, 66)
    snapshot = collection_of(tmp_path / "x", vectors, build, 3).snapshot()
    codec = snapshot.codec
    masks = [np.arange(22) % 3 > 0, np.zeros(22, bool), np.ones(22, bool)]
    parts = [Living(stored.multi.segment, mask) for stored, mask in zip(snapshot.segments, masks, strict=True)]
    facts = merge_segments(tmp_path, "merged", parts, codec.codec)
    merged = open_segment(tmp_path, facts, codec.codec, codec.settings)
    living = [(part.segment, int(i)) for part in parts for i in np.flatnonzero(part.alive)]
    assert facts.documents == len(living) == 14 + 22
    for document, (segment, place) in enumerate(living):
        kept, expected = rows_of(merged, document), rows_of(segment, place)
        assert kept.keys() == expected.keys()
        assert all(np.array_equal(kept[key], expected[key]) for key in kept)
    check_lists(merged)


def check_lists(segment: OpenSegment) -> None:
    """Every token is in the list of its centroid, once, in the order of documents."""
    seen = 0
    for centroid, (a, b) in enumerate(itertools.pairwise(segment.list_starts)):
        documents = np.array(segment.list_documents[a:b], np.int64)
        tokens = segment.all_offsets()[documents] + segment.list_places[a:b]
        assert (np.diff(tokens) > 0).all()
        assert (segment.centroids[tokens] == centroid).all()
        seen += len(tokens)
    assert seen == segment.facts.tokens


@pytest.mark.usefixtures("trains_early")
@pytest.mark.parametrize("chunk", [1, 5, 1 << 14])
@pytest.mark.parametrize("build", CODECS, ids=name_of)
def test_living_vectors_are_those_of_the_living_decoded(
    build: dict[str, Any], chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_merge, "CHUNK_TOKENS", chunk)
    vectors = vectors_for(build, 40)
    snapshot = collection_of(tmp_path / "x", vectors, build, 2).snapshot()
    codec = snapshot.codec
    parts = [Living(stored.multi.segment, np.arange(20) % 4 > 0) for stored in snapshot.segments]
    living = LivingVectors(parts, codec.codec)
    chunks = list(living)
    found = [one[i] for one in chunks for i in range(len(one))]
    expected = [vectors[i] for i in range(40) if i % 20 % 4 > 0]
    assert [len(one) for one in found] == [len(one) for one in expected]
    exact = build["bits"] >= 16 or "refinement" in build
    for one, other in zip(found, expected, strict=True):
        if len(other):
            distance = np.linalg.norm(one.astype(np.float32) - other, axis=1).max()
            assert distance < (1e-2 if exact else {1: 1.1, 2: 0.9, 4: 0.6}[build["bits"]])
    for first, second in zip(chunks, living, strict=True):  # can be read again
        np.testing.assert_array_equal(first.flat, second.flat)


def test_living_documents_without_vectors_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document longer than a chunk, and empty ones around it."""
    monkeypatch.setattr(segment_merge, "CHUNK_TOKENS", 3)
    lengths = [0, 7, 0, 0, 2, 2, 0, 5, 0]
    vectors = TokenVectors(make_query(8, sum(lengths)), np.concatenate([[0], np.cumsum(lengths)]))
    snapshot = collection_of(tmp_path / "x", vectors, {"bits": 32}).snapshot()
    codec = snapshot.codec
    part = Living(snapshot.segments[0].multi.segment, np.ones(9, bool))
    chunks = list(LivingVectors([part], codec.codec))
    assert np.concatenate([np.diff(chunk.offsets) for chunk in chunks]).tolist() == lengths
    np.testing.assert_array_equal(np.concatenate([chunk.flat for chunk in chunks]), vectors.flat)
