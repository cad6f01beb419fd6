"""The model of an index is loaded once, whoever asks first."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from asterism.retriever.model import LazyEncoder


def test_many_threads_load_it_once() -> None:
    loads: list[int] = []
    everybody = threading.Barrier(8)
    slow = threading.Event()

    def load() -> Any:
        loads.append(1)
        slow.wait(0.2)  # so that the others come while it is being loaded
        return object()

    lazy, found = LazyEncoder(load), []

    def ask() -> None:
        everybody.wait()
        found.append(lazy())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_what_is_loaded_is_not_loaded_again() -> None:
    encoder = cast(Any, object())
    lazy = LazyEncoder(lambda: pytest.fail("it was loaded already"))
    lazy.keep(encoder)
    assert lazy() is encoder


def test_a_load_that_failed_is_tried_again() -> None:
    results: list[Any] = [OSError("not there"), "there"]

    def load() -> Any:
        found = results.pop(0)
        if isinstance(found, OSError):
            raise found
        return found

    lazy = LazyEncoder(load)
    with pytest.raises(OSError, match="not there"):
        lazy()
    assert lazy() == "there"
