"""Creates the folder of an index; the only module that removes parts of one."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import IndexExists
from ..files.new_folders import make_temporary_folder, make_whole_folder
from ..files.regular_files import is_real_folder
from .faults import report_write_errors, unwritable

PART = re.compile(r"(codec|segment)-[0-9]{6,12}")  # the only folders that a state may name, and that may be removed


def remove_part(folder: Path, name: str) -> None:
    """Remove the folder of a codec or a segment; links and other names are left alone."""
    if PART.fullmatch(name) and is_real_folder(folder / name):
        shutil.rmtree(folder / name, ignore_errors=True)


def sweep_parts(folder: Path, kept: Collection[str]) -> None:
    """Remove all codecs and segments except `kept`; the caller must hold the writer lock."""
    for name in os.listdir(folder):
        if name not in kept:
            remove_part(folder, name)


@contextmanager
def make_folder_beside(target: Path) -> Iterator[Path]:
    """Yield a new folder on the disk of `target`, removed at the end, or by the next call after a kill."""
    try:
        with make_temporary_folder(target) as folder:
            yield folder
    except OSError as error:
        raise unwritable(target.parent, error) from error


@contextmanager
def make_index_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder that becomes `target` on success, and is removed after an error."""
    try:
        with make_whole_folder(target) as folder, report_write_errors(target):
            yield folder
    except FileExistsError:
        raise IndexExists(f"{target} exists already: choose another path, open it, or remove it first") from None
    except OSError as error:
        raise unwritable(target.parent, error) from error
