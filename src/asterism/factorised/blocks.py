"""Tables that grow in blocks: each block is a folder of arrays, committed by a new manifest.

A writer that is killed leaves a folder that no manifest names, which the next one removes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import DamagedIndex
from ..files.new_folders import fsync_path
from ..files.regular_files import is_real_folder
from ..storage.arrays import MappedFolder
from ..storage.copies import copy_file
from ..storage.facts import Facts, FileFacts
from ..storage.faults import REMEDY, damaged, report_write_errors
from ..storage.folders import PART, sweep_parts
from ..storage.lock import hold_writer_lock
from ..storage.manifest import read_manifest, write_manifest

MOST_ROWS = 1 << 31
CHUNK = 8192  # rows that are looked at or copied at once

State = TypeVar("State")
Table = TypeVar("Table")


@dataclass(frozen=True)
class Segment:
    """A committed block."""

    name: str
    rows: int
    files: FileFacts

    @classmethod
    def from_facts(cls, facts: Facts, *arrays: str) -> Segment:
        """Check and read the stored entry of a block with these arrays."""
        name = facts.text("name")
        if not PART.fullmatch(name) or not name.startswith("segment-"):
            raise damaged(facts.where, f"names {name[:60]!r}, expected a segment with a number")
        return cls(name, facts.whole("rows", 1, MOST_ROWS), facts.files([f"{array}.npy" for array in arrays]))


def open_newest(
    folder: Path, kind: str, version: int, read: Callable[[Facts], State], make: Callable[[State], Table]
) -> Table:
    """Open the table of a folder; nothing in it is changed. Blocks that are joined meanwhile are no damage."""
    with advise(folder):
        if os.path.lexists(folder) and not is_real_folder(folder):
            raise damaged(folder, "is not a folder")
        while True:
            state = read(read_manifest(folder, kind, version))
            try:
                return make(state)
            except DamagedIndex:  # or another process joined the blocks just now
                if state == read(read_manifest(folder, kind, version)):
                    raise


@contextmanager
def hold_table(folder: Path) -> Iterator[None]:
    """Be the only writer; errors of the disk are reported as such."""
    with hold_writer_lock(folder), report_write_errors(folder):
        yield


@contextmanager
def make_segment(folder: Path, number: int) -> Iterator[tuple[str, Path]]:
    """A new folder for a block, and its name; removed after an error."""
    name = f"segment-{number:06d}"
    new = folder / name
    new.mkdir()
    try:
        yield name, new
        fsync_path(new)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def copy_blocks(source: Path, target: Path, blocks: Sequence[Segment], manifest: dict[str, Any]) -> None:
    """Copy blocks of a table into a folder, with a manifest; FileNotFoundError if one was joined meanwhile.

    Called again with other blocks, it copies what is not there yet.
    """
    for block in blocks:
        for file in block.files:
            if not (target / block.name / file).exists():
                copy_file(source / block.name / file, target / block.name / file)
    target.mkdir(exist_ok=True)
    sweep_parts(target, {block.name for block in blocks})
    write_manifest(target, manifest)


def map_numbers(part: MappedFolder, rows: int) -> npt.NDArray[np.int64]:
    """(n,) the documents' numbers of a block, compared with their checksum: they say whose the rows are."""
    numbers: npt.NDArray[np.int64] = part.array("numbers", np.int64, (rows,))
    part.verify("numbers.npy")
    return numbers


def is_finite(rows: npt.NDArray[np.floating]) -> bool:
    """Whether all values are numbers."""
    return all(bool(np.isfinite(rows[start : start + CHUNK]).all()) for start in range(0, len(rows), CHUNK))


@contextmanager
def advise(folder: Path) -> Iterator[None]:
    """Say what helps against damage: `repair` cannot compute scores."""
    try:
        yield
    except DamagedIndex as error:
        advice = f"restore it from a copy, or remove {folder} and build the scores again"
        raise DamagedIndex(str(error).replace(REMEDY, advice)) from error
