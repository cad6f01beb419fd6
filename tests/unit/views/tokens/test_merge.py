"""Merged segments, and the decoded vectors of the documents that are kept."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import TokenVectors
from asterism.views.tokens.merge import KeptTokens, KeptVectors, merge_tokens
from asterism.views.tokens.segment import OpenTokens, open_tokens
from tests.conftest import make_query
from tests.unit.views.tokens.coded import CODECS, collection_of, name_of, vectors_for


def rows_of(segment: OpenTokens, document: int) -> dict[str, np.ndarray]:
    rows = segment.locate_tokens(document)
    arrays = {key: getattr(segment, key) for key in ("codes", "centroids", "scales", "fine")}
    return {key: np.array(values[rows]) for key, values in arrays.items() if values is not None}


@pytest.mark.parametrize("chunk", [1, 5, 1 << 14])
@pytest.mark.parametrize("build", CODECS, ids=name_of)
def test_merging_keeps_exactly_what_is_not_deleted(build: dict[str, Any], chunk: int, tmp_path: Path) -> None:
    vectors = vectors_for(build, 66)
    snapshot = collection_of(tmp_path / "x", vectors, build, 3).snapshot()
    codec = snapshot.codec
    masks = [np.arange(22) % 3 > 0, np.zeros(22, bool), np.ones(22, bool)]
    parts = [
        KeptTokens(stored.multi.segment, mask, chunk) for stored, mask in zip(snapshot.segments, masks, strict=True)
    ]
    facts = merge_tokens(tmp_path, "merged", parts, codec.codec)
    merged = open_tokens(tmp_path, facts, codec.codec, codec.settings)
    living = [(part.segment, int(i)) for part in parts for i in np.flatnonzero(part.kept)]
    assert facts.documents == len(living) == 14 + 22
    for document, (segment, place) in enumerate(living):
        kept, expected = rows_of(merged, document), rows_of(segment, place)
        assert kept.keys() == expected.keys()
        assert all(np.array_equal(kept[key], expected[key]) for key in kept)
    check_lists(merged)


def check_lists(segment: OpenTokens) -> None:
    """Every token is in the list of its centroid, once, in the order of documents."""
    seen = 0
    for centroid, (a, b) in enumerate(itertools.pairwise(segment.list_starts)):
        documents = np.array(segment.list_documents[a:b], np.int64)
        tokens = segment.read_offsets()[documents] + segment.list_places[a:b]
        assert (np.diff(tokens) > 0).all()
        assert (segment.centroids[tokens] == centroid).all()
        seen += len(tokens)
    assert seen == segment.facts.tokens


@pytest.mark.parametrize("chunk", [1, 5, 1 << 14])
@pytest.mark.parametrize("build", CODECS, ids=name_of)
def test_kept_vectors_are_those_of_kept_documents_decoded(build: dict[str, Any], chunk: int, tmp_path: Path) -> None:
    vectors = vectors_for(build, 40)
    snapshot = collection_of(tmp_path / "x", vectors, build, 2).snapshot()
    codec = snapshot.codec
    parts = [KeptTokens(stored.multi.segment, np.arange(20) % 4 > 0, chunk) for stored in snapshot.segments]
    living = KeptVectors(parts, codec.codec)
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


def test_kept_documents_without_vectors_are_counted(tmp_path: Path) -> None:
    """A document longer than a chunk, and empty ones around it."""
    lengths = [0, 7, 0, 0, 2, 2, 0, 5, 0]
    vectors = TokenVectors(make_query(8, sum(lengths)), np.concatenate([[0], np.cumsum(lengths)]))
    snapshot = collection_of(tmp_path / "x", vectors, {"bits": 32}).snapshot()
    codec = snapshot.codec
    part = KeptTokens(snapshot.segments[0].multi.segment, np.ones(9, bool), 3)
    chunks = list(KeptVectors([part], codec.codec))
    assert np.concatenate([np.diff(chunk.offsets) for chunk in chunks]).tolist() == lengths
    np.testing.assert_array_equal(np.concatenate([chunk.flat for chunk in chunks]), vectors.flat)
