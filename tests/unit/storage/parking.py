"""Writers that wait for the lock, held where they wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import SimpleNamespace

import pytest

from asterism.storage import lock

LONG = 20.0  # seconds after which a test has failed


@contextmanager
def parked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Whoever waits for the lock sets the event, and looks again only after the block."""
    waiting, go_on = Event(), Event()

    def sleep(_: float) -> None:
        waiting.set()
        assert go_on.wait(LONG)

    with monkeypatch.context() as patch:
        patch.setattr(lock, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
        try:
            yield waiting
        finally:
            go_on.set()
