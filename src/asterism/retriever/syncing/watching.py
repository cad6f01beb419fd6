"""Waits for changes in folders, by the operating system's notifications."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import MissingPackage

QUIET = 400  # milliseconds without a change that end a burst of them
LONGEST_BURST = 2000
FIRST = 1000  # milliseconds until the first yield


def watch_folders(folders: Sequence[str], index: Path) -> Iterator[None]:
    """Yields after each burst of changes outside the index, and once at the beginning, when changes are noticed.

    A change between the caller's last look at the folders and that moment would be missed otherwise.
    """
    try:
        from watchfiles import Change, watch
    except ImportError as error:
        raise MissingPackage("--watch needs the package watchfiles: pip install 'asterism[watch]'") from error
    own = os.path.realpath(index)

    def is_outside(change: Change, path: str) -> bool:
        return path != own and not path.startswith(f"{own}{os.sep}")

    began = False
    bursts = watch(
        *folders,
        watch_filter=is_outside,
        debounce=LONGEST_BURST,
        step=QUIET,
        rust_timeout=FIRST,
        yield_on_timeout=True,
    )
    for changes in bursts:
        if changes or not began:
            began = True
            yield
