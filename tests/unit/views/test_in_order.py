"""Items are worked on at the same time; results come in the order of the items."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from asterism.views.in_order import map_in_order


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_results_come_in_the_order_of_the_items(threads: int, count: int) -> None:
    """With several threads, every other item is finished after the next one."""
    done = [threading.Event() for _ in range(count)]

    def square(item: int) -> int:
        if threads > 1 and item % 2 == 0 and item + 1 < count:
            assert done[item + 1].wait(30)
        done[item].set()
        return item * item

    assert list(map_in_order(square, range(count), threads)) == [item * item for item in range(count)]


def test_items_are_worked_on_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=30)
    assert len(list(map_in_order(lambda _: meeting.wait(), range(4), 2))) == 4


@pytest.mark.parametrize("threads", [1, 3])
def test_few_items_are_taken_ahead_of_the_results(threads: int) -> None:
    """Memory is bounded by the threads, not by the items."""
    taken = []

    def items() -> Iterator[int]:
        for item in range(100):
            taken.append(item)
            yield item

    results = map_in_order(lambda item: item, items(), threads)
    next(results)
    assert len(taken) <= 2 * threads + 1


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_propagates(threads: int) -> None:
    def refuse_three(item: int) -> int:
        if item == 3:
            raise ValueError("three")
        return item

    results = map_in_order(refuse_three, range(10), threads)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)
