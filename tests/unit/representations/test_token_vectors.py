"""TokenVectors as a value."""

from __future__ import annotations

import numpy as np
import pytest

from asterism import TokenVectors
from asterism.errors import VectorsError
from tests.conftest import make_vectors


@pytest.mark.parametrize("tokens", [1, 7, 50, 10_000])
def test_chunks_are_the_same_documents_in_order(tokens: int) -> None:
    vectors = make_vectors(40, 8, longest=9)
    chunks = list(vectors.chunks(tokens))
    documents = [chunk[i] for chunk in chunks for i in range(len(chunk))]
    assert len(documents) == 40
    for i, document in enumerate(documents):
        np.testing.assert_array_equal(document, vectors[i])
    assert all(len(chunk) == 1 or len(chunk.flat) <= tokens for chunk in chunks)


def test_from_documents() -> None:
    parts = [np.ones((2, 3), np.float32), np.empty((0, 3), np.float32), np.zeros((1, 3), np.float32)]
    vectors = TokenVectors.from_documents(parts)
    assert vectors.offsets.tolist() == [0, 2, 2, 3]
    assert len(vectors[1]) == 0
    with pytest.raises(VectorsError, match="document 1 has 4 dimensions"):
        TokenVectors.from_documents([np.ones((1, 3), np.float32), np.ones((1, 4), np.float32)])
    with pytest.raises(VectorsError, match="no documents"):
        TokenVectors.from_documents([])
    with pytest.raises(IndexError):
        vectors[3]


def test_nothing_is_copied() -> None:
    flat = np.ones((4, 2), np.float16)
    assert TokenVectors(flat, [0, 4]).flat is flat
