"""Waits for changes in folders, by the operating system's notifications."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import MissingPackage

QUIET = 400  # milliseconds without a change that end a burst of them
LONGEST_BURST = 2000
TICK = 1000  # milliseconds after which the folders themselves are looked at

Identity = tuple[int, int]


def watch_folders(folders: Sequence[str], index: Path) -> Iterator[None]:
    """Yields after each burst of changes outside the index, and once at the beginning, when changes are noticed.

    A change between the caller's last look at the folders and that moment would be missed otherwise. The system
    notifies of the folders that were there when it was asked: after one was removed or replaced, which is a change too,
    it is asked again as soon as all are there.
    """
    is_told = False  # that a folder is away
    while True:
        seen = [_identify(folder) for folder in folders]
        if None in seen:
            if not is_told:
                yield
            is_told = True
            time.sleep(TICK / 1000)
            continue
        is_told, began = False, False
        for has_changes in _watch([os.path.realpath(folder) for folder in folders], index):
            if seen != [_identify(folder) for folder in folders]:
                break
            if has_changes or not began:
                began = True
                yield


def _watch(folders: Sequence[str], index: Path) -> Iterator[bool]:
    """Whether there were changes, after each burst of them and each tick; ends if a folder cannot be watched.

    The folders' paths are real ones, so that those of changes can be compared with the index's.
    """
    try:
        from watchfiles import Change, watch
    except ImportError as error:
        raise MissingPackage("--watch needs the package watchfiles: pip install 'asterism[watch]'") from error
    own = os.path.realpath(index)

    def is_outside(change: Change, path: str) -> bool:
        return path != own and not path.startswith(f"{own}{os.sep}")

    bursts = watch(
        *folders,
        watch_filter=is_outside,
        debounce=LONGEST_BURST,
        step=QUIET,
        rust_timeout=TICK,
        yield_on_timeout=True,
    )
    try:
        for changes in bursts:
            yield bool(changes)
    except FileNotFoundError:  # a folder went away before it was watched
        return


def _identify(folder: str) -> Identity | None:
    """What tells a folder from another in its place; None if there is none."""
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino
