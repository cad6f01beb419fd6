"""Work side by side whose results come in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from asterism.views.in_order import in_order


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_results_come_in_the_order_of_the_items(threads: int, count: int) -> None:
    """Although, where there are several threads, every other item is done only after the next one."""
    done = [threading.Event() for _ in range(count)]

    def square(item: int) -> int:
        if threads > 1 and item % 2 == 0 and item + 1 < count:
            assert done[item + 1].wait(30)
        done[item].set()
        return item * item

    assert list(in_order(square, range(count), threads)) == [item * item for item in range(count)]


def test_it_works_side_by_side() -> None:
    meeting = threading.Barrier(2, timeout=30)
    assert len(list(in_order(lambda _: meeting.wait(), range(4), 2))) == 4


@pytest.mark.parametrize("threads", [1, 3])
def test_items_are_taken_only_as_results_are(threads: int) -> None:
    """Memory is bounded by the threads, not by the items."""
    taken = []

    def items() -> Iterator[int]:
        for item in range(100):
            taken.append(item)
            yield item

    results = in_order(lambda item: item, items(), threads)
    next(results)
    assert len(taken) <= 2 * threads + 1


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_comes_through(threads: int) -> None:
    def refuse_three(item: int) -> int:
        if item == 3:
            raise ValueError("three")
        return item

    results = in_order(refuse_three, range(10), threads)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)
