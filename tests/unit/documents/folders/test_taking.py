"""The bytes of a file that somebody may be writing, replacing or removing."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from asterism.documents.folders import taking
from asterism.documents.folders.skipping import Unusable
from asterism.documents.folders.taking import take_file


def reason_of(path: Path) -> str:
    with pytest.raises(Unusable) as caught:
        take_file(path, True)
    return caught.value.reason


def test_a_file_and_its_hash(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    taken = take_file(tmp_path / "a", True)
    assert (taken.data, taken.is_binary) == (b"abc", False)
    assert taken.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_file_that_changed_a_moment_ago_has_no_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could change again within the same tick of the clock; the modification time alone can be set back."""
    (tmp_path / "a").write_bytes(b"abc")
    os.utime(tmp_path / "a", (1, 1))
    assert take_file(tmp_path / "a", True).stamp is None
    later = time.time_ns() + 3_000_000_000
    monkeypatch.setattr(taking.time, "time_ns", lambda: later)
    assert take_file(tmp_path / "a", True).stamp is not None


def test_a_time_in_the_future_does_not_unsettle_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    now = time.time()
    os.utime(tmp_path / "a", (now + 10**6, now + 10**6))
    monkeypatch.setattr(taking.time, "time_ns", lambda: int((now + 60) * 1e9))
    assert take_file(tmp_path / "a", True).stamp is not None


def test_what_is_no_file_any_more(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("fifo")
    (tmp_path / "broken").symlink_to("nowhere")
    names = ("fifo", "folder", "link", "broken", "nothing")
    assert [reason_of(tmp_path / name) for name in names] == [*["special file"] * 4, "gone"]


def test_a_file_that_grows_or_shrinks_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real writes between the two looks at its status: read again, and given up if it does not end."""
    file = tmp_path / "a"
    file.write_bytes(b"abc")
    looks = []

    class Changing:
        """`os` of the module, with somebody who writes after each look at the file."""

        def __init__(self, writes: int) -> None:
            self.writes = writes

        def fstat(self, descriptor: int) -> os.stat_result:
            status = os.fstat(descriptor)
            looks.append(status)
            if self.writes:
                self.writes -= 1
                file.write_bytes(b"x" * (len(looks) % 5))
            return status

    monkeypatch.setattr(taking, "os", Changing(1))
    assert take_file(file, True).data == b"x"
    monkeypatch.setattr(taking, "os", Changing(1000))
    assert reason_of(file) == "changing"


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    with open(tmp_path / "sparse", "wb") as sparse:
        sparse.truncate(1 << 40)
    assert reason_of(tmp_path / "sparse") == "too large"


def test_of_a_large_binary_file_only_the_beginning_is_read(tmp_path: Path) -> None:
    with open(tmp_path / "sparse", "wb") as sparse:
        sparse.truncate(2 << 20)
    assert take_file(tmp_path / "sparse", has_format=False).is_binary
    assert len(take_file(tmp_path / "sparse", has_format=False).data) == taking.HEAD
    assert len(take_file(tmp_path / "sparse", has_format=True).data) == 2 << 20


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "a").chmod(0)
    assert reason_of(tmp_path / "a") == "no permission"
