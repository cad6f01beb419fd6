"""A fifo, a device, a folder or a hole in place of any file of any layout: one line, at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import asterism
from asterism.errors import AsterismError, CheckpointError
from asterism.files.checkpoint_files import open_checkpoint_file, read_file, refuse_special_files
from asterism.models.file_hashes import find_hashes
from tests import layouts
from tests.faults.hostile_checkpoints import LAYOUTS, PAIRS
from tests.faults.hostile_files import SPECIAL, files_of


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """A test that hangs fails after a minute."""
    signal.alarm(60)
    yield
    signal.alarm(0)


def refusal(folder: Path, pairs: bool) -> str:
    try:
        asterism.load_pair_scorer(folder) if pairs else asterism.load_encoder(folder)
    except AsterismError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_fifo_in_place_of_any_file(tmp_path: Path, layout: str) -> None:
    folder = LAYOUTS[layout](tmp_path / "model")
    for file in files_of(folder):
        file.rename(tmp_path / "aside")
        os.mkfifo(file)
        said = refusal(folder, layout in PAIRS)
        if said or file.name not in ("tokenizer_config.json", "special_tokens_map.json"):  # not every layout reads them
            assert f"{file.name} cannot be read: it is a fifo, expected a regular file" in said
        file.unlink()
        (tmp_path / "aside").rename(file)


@pytest.mark.parametrize("kind", [kind for kind in SPECIAL if kind not in ("missing", "empty", "200 MB of holes")])
def test_what_is_no_file(tmp_path: Path, kind: str) -> None:
    SPECIAL[kind](tmp_path / "x")
    for read in (lambda file: read_file(file, 1 << 30), lambda file: find_hashes([file])):
        with pytest.raises(CheckpointError, match=r"x (is missing|cannot be read|has 1099511627776 bytes, of which)"):
            read(tmp_path / "x")


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    for name in ("a\0b", "x" * 300):
        with pytest.raises(CheckpointError, match="cannot be read"), open_checkpoint_file(tmp_path / name):
            pass


def test_a_folder_that_a_library_reads_by_itself(tmp_path: Path) -> None:
    layouts.colbert(tmp_path / "model")
    refuse_special_files(tmp_path / "model")
    os.mkfifo(tmp_path / "model" / "generation_config.json")
    with pytest.raises(CheckpointError, match=r"generation_config\.json is not a regular file"):
        refuse_special_files(tmp_path / "model")
