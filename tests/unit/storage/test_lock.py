"""One writer at a time: a second one is refused, or waits for its turn."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from asterism.errors import IndexBusy
from asterism.storage import lock
from tests.unit.storage.parking import LONG, parked


def hold(folder: Path, patience: float) -> bool:
    with lock.hold_writer_lock(folder, patience):
        return True


def test_a_second_writer_is_refused_at_once(tmp_path: Path) -> None:
    with (
        lock.hold_writer_lock(tmp_path),
        pytest.raises(IndexBusy, match=f"{tmp_path} is being written by another process"),
    ):
        hold(tmp_path, 0)
    assert hold(tmp_path, 0)


def test_an_error_releases_the_lock(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), lock.hold_writer_lock(tmp_path):
        raise KeyboardInterrupt
    assert hold(tmp_path, 0)


def test_a_patient_writer_waits_and_goes_before_one_that_asks_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that has just finished and asks again would otherwise win every race."""
    with ThreadPoolExecutor(1) as pool, parked(monkeypatch) as waiting:
        with lock.hold_writer_lock(tmp_path):
            patient = pool.submit(hold, tmp_path, LONG)
            assert waiting.wait(LONG)
        assert not patient.done()
        with pytest.raises(IndexBusy):
            hold(tmp_path, 0)
    assert patient.result()
    assert hold(tmp_path, 0)


def test_nobody_writing_keeps_writers_out_and_not_each_other(tmp_path: Path) -> None:
    hold(tmp_path, 0)
    with lock.keep_writers_out(tmp_path, 0), lock.keep_writers_out(tmp_path, 0), pytest.raises(IndexBusy):
        hold(tmp_path, 0)
    with lock.hold_writer_lock(tmp_path), pytest.raises(IndexBusy), lock.keep_writers_out(tmp_path, 0):
        pass


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    """It inherits the descriptor, and still runs after the parent has released the lock."""
    with lock.hold_writer_lock(tmp_path):
        child = os.fork()
        if child == 0:
            signal.pause()
            os._exit(0)
    try:
        assert hold(tmp_path, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
