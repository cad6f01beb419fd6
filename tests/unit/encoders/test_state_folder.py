"""The cache of lower states: computed once, shared, and never half there."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from asterism.encoders.checkpoints.checkpoint import Checkpoint
from asterism.encoders.checkpoints.layouts import open_checkpoint
from asterism.errors import EncodingError, InputError
from tests import layouts
from tests.full_disks import limit_file_size
from tests.layouts import HIDDEN, TEXTS
from tests.unit.encoders.rows_and_states import find_folders, make_rows, open_states

# The cache ------------------------------------------------------------------------------------------------------------


def test_a_second_open_computes_nothing(bert: Checkpoint, tmp_path: Path) -> None:
    rows, first, second = make_rows(bert, TEXTS), [], []
    made = open_states(tmp_path, bert, 2, rows, progress=first.append, batch_tokens=50)
    assert len(first) > 1
    assert first == sorted(first)
    assert first[-1] == len(rows)
    (folder,) = find_folders(tmp_path)
    times = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    found = open_states(tmp_path, bert, 2, rows, progress=second.append)
    assert second == []
    assert {file.name: file.stat().st_mtime_ns for file in folder.iterdir()} == times
    for number in range(len(rows)):
        np.testing.assert_array_equal(made[number], found[number])
        assert not found[number].flags.owndata
        assert not found[number].flags.writeable
    assert found.bytes == sum(file.stat().st_size for file in folder.iterdir())
    facts = json.loads((folder / "facts.json").read_text())
    offsets = np.load(folder / "offsets.npy")
    assert (facts["rows"], facts["tokens"], facts["hidden"]) == (len(offsets) - 1, offsets[-1], HIDDEN)
    assert (folder / "states.f16").stat().st_size == offsets[-1] * HIDDEN * 2


def test_equal_rows_are_computed_once(bert: Checkpoint, tmp_path: Path) -> None:
    rows = make_rows(bert, ["the fox", "a dog", "the fox", "the fox"])
    states = open_states(tmp_path, bert, 2, rows)
    assert len(states) == 4
    np.testing.assert_array_equal(states[0], states[3])
    once = open_states(tmp_path, bert, 2, rows[:2])
    assert once.bytes == states.bytes
    assert np.shares_memory(states[0], states[2])
    assert len(find_folders(tmp_path)) == 1


def test_another_order_of_rows_finds_the_same_states(bert: Checkpoint, tmp_path: Path) -> None:
    rows, counts = make_rows(bert, TEXTS), []
    states = open_states(tmp_path, bert, 2, rows)
    backwards = open_states(tmp_path, bert, 2, rows[::-1], progress=counts.append)
    assert counts == []
    for number in range(len(rows)):
        np.testing.assert_array_equal(states[number], backwards[-1 - number])


def test_other_layers_rows_and_models_have_other_states(bert: Checkpoint, tmp_path: Path) -> None:
    rows = make_rows(bert, ["the fox"])
    open_states(tmp_path, bert, 2, rows)
    open_states(tmp_path, bert, 1, rows)
    open_states(tmp_path, bert, 2, make_rows(bert, ["the dog"]))
    open_states(tmp_path, bert, 2, [replace(rows[0], attended=2)])
    folder = layouts.colbert(tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    weights["bert.encoder.layer.0.output.dense.bias"] *= -1
    save_file(weights, folder / "model.safetensors")
    other = open_states(tmp_path, open_checkpoint(folder), 2, rows)
    assert not np.allclose(other[0], open_states(tmp_path, bert, 2, rows)[0], atol=0.1)
    assert len(find_folders(tmp_path)) == 5 + 1  # the model


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 1)


def lengthen(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\0")


def change(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)


def link(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        *(("states.f16", damage) for damage in (cut, change, lengthen, Path.unlink)),
        *(("offsets.npy", damage) for damage in (cut, change, Path.unlink)),
        *(("facts.json", damage) for damage in (cut, change, Path.unlink)),
    ],
)
def test_damaged_files_are_made_again(bert: Checkpoint, tmp_path: Path, file: str, damage: Any) -> None:
    rows, counts = make_rows(bert, TEXTS[:2]), []
    expected = [np.array(state) for state in open_states(tmp_path, bert, 2, rows)]
    (folder,) = find_folders(tmp_path)
    damage(folder / file)
    found = open_states(tmp_path, bert, 2, rows, progress=counts.append)
    assert counts == [2]
    assert find_folders(tmp_path) == [folder]
    for state, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(state, right)


def test_a_folder_with_foreign_files_is_left_alone(bert: Checkpoint, tmp_path: Path) -> None:
    rows = make_rows(bert, ["the fox"])
    open_states(tmp_path, bert, 2, rows)
    (folder,) = find_folders(tmp_path)
    link(folder / "states.f16")
    with pytest.raises(EncodingError, match=r"cannot be written \(Directory not empty\)"):
        open_states(tmp_path, bert, 2, rows)
    assert (folder / "elsewhere").is_file()


def test_close(bert: Checkpoint, tmp_path: Path) -> None:
    states = open_states(tmp_path, bert, 2, make_rows(bert, ["the fox"]))
    view = states[0]
    expected = view.copy()
    states.close()
    states.close()
    shutil.rmtree(tmp_path)
    np.testing.assert_array_equal(view, expected)
    with pytest.raises(InputError, match="closed"):
        states.gather([0])


def test_two_at_once_compute_once(bert: Checkpoint, tmp_path: Path) -> None:
    rows, counts, found = make_rows(bert, TEXTS), ([], []), []

    def work(counted: list[int]) -> None:
        found.append(open_states(tmp_path, bert, 3, rows, progress=counted.append))

    threads = [threading.Thread(target=work, args=(counted,)) for counted in counts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(len, counts)) == [0, 1]
    np.testing.assert_array_equal(found[0][5], found[1][5])


# Disks, kills ---------------------------------------------------------------------------------------------------------


def test_too_little_space(bert: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=500))
    with pytest.raises(EncodingError, match=r"has 0.0 MB of free space, but the states of 5 tokens need 0.0 MB: free"):
        open_states(tmp_path, bert, 2, make_rows(bert, ["the fox"]))
    assert find_folders(tmp_path) == []


def test_a_failed_write(bert: Checkpoint, tmp_path: Path) -> None:
    rows, counts = make_rows(bert, TEXTS), []
    with (
        limit_file_size(5000),
        pytest.raises(EncodingError, match=r"states of 1\d\d tokens .* cannot be written \(File too large\)"),
    ):
        open_states(tmp_path, bert, 2, rows, progress=counts.append, batch_tokens=10)
    assert counts  # it failed in the middle
    assert find_folders(tmp_path) == []
    assert len(open_states(tmp_path, bert, 2, rows)) == len(rows)


def test_a_cache_that_is_a_file(bert: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(EncodingError, match=r"cannot be written \(File exists\)"):
        open_states(tmp_path / "cache", bert, 2, [])


def test_an_interruption_leaves_nothing(bert: Checkpoint, tmp_path: Path) -> None:
    def interrupt(count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_states(tmp_path, bert, 2, make_rows(bert, TEXTS), progress=interrupt)
    assert find_folders(tmp_path) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from asterism.encoders.checkpoints.layouts import open_checkpoint
from tests.layouts import TEXTS
from tests.unit.encoders.rows_and_states import make_rows, open_states
checkpoint = open_checkpoint(Path(sys.argv[1]))
kill = lambda count: os.kill(os.getpid(), signal.SIGKILL)
open_states(Path(sys.argv[2]), checkpoint, 2, make_rows(checkpoint, TEXTS), batch_tokens=10, progress=kill)
"""


def test_a_killed_run_begins_again(bert: Checkpoint, tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(bert.folder), str(tmp_path)]
    killed = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (half,) = find_folders(tmp_path)
    assert half.name.startswith(".states.making-")
    rows, counts = make_rows(bert, TEXTS), []
    assert len(open_states(tmp_path, bert, 2, rows, progress=counts.append)) == len(rows)
    assert counts[-1] == len(rows)
    (folder,) = find_folders(tmp_path)
    assert re.fullmatch("[0-9a-f]{64}", folder.name)
