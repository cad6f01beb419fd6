"""A reader sees one committed state."""

from __future__ import annotations

import numpy as np
import pytest

from asterism.collection.collection import Collection
from asterism.collection.policy import Policy
from asterism.collection.snapshot import positions
from asterism.errors import UnknownDocument
from tests.conftest import make_query
from tests.unit.collection.groups import D, compact, found, ids_of, put, remove


@pytest.mark.parametrize(
    ("numbers", "wanted", "expected"),
    [
        ([], [], []),
        ([], [1, 2], []),
        ([3, 5, 9], [], []),
        ([3, 5, 9], [3, 5, 9], [0, 1, 2]),
        ([3, 5, 9], [9, 3], [2, 0]),
        ([3, 5, 9], [0, 4, 5, 6, 10], [1]),
        ([3, 5, 9], [5, 5], [1, 1]),
        ([-2, 2**62], [2**62, -2, 0], [1, 0]),
    ],
)
def test_positions(numbers: list[int], wanted: list[int], expected: list[int]) -> None:
    assert positions(np.array(numbers, np.int64), np.array(wanted, np.int64)).tolist() == expected


def test_a_reader_sees_each_committed_state(collection: Collection) -> None:
    reader = Collection.open(collection.path)
    assert found(reader) == ids_of(0)
    put(collection, 1)
    assert found(reader) == [document.id for document in reader.documents()] == ids_of(0, 1)
    remove(collection, 0)
    assert found(reader) == ids_of(1)
    assert reader.known(["0-0", "1-1"]) == {"1-1"}
    with pytest.raises(UnknownDocument):
        reader.get(["0-0"])
    put(collection, 1, update=True)
    put(collection, 2)
    collection.policy = Policy(flat_tokens=20)
    compact(collection)
    assert not reader.snapshot().codec.codec.is_flat
    for method in ("exact", "colbert", "xtr"):
        assert found(reader, method=method) == ids_of(1, 2)
        assert found(reader, 2, method) == ids_of(2)
    remove(collection, 1)
    remove(collection, 2)
    compact(collection)
    assert found(reader) == []
    assert reader.snapshot().multi is None
    put(collection, 3)
    assert found(reader) == ids_of(3)
    reader.check()


def test_a_snapshot_outlives_its_files(collection: Collection) -> None:
    put(collection, 1)
    old = collection.snapshot()
    query = make_query(D, 3)
    before = old.multi.search(old.multi.gather([query]), 10)
    put(collection, 2)
    compact(collection)
    assert not (collection.path / old.segments[0].part.name).exists()
    after = old.multi.search(old.multi.gather([query]), 10)
    np.testing.assert_array_equal(before.ids, after.ids)
    np.testing.assert_array_equal(before.scores, after.scores)
