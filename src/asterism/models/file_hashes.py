"""SHA-256 of files, remembered until a file changes, so that gigabytes are read only once."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..files.checkpoint_files import open_checkpoint_file
from ..files.json_text import parse_json
from ..files.regular_files import read_regular
from ..files.whole_files import write_whole_file

MEMORY = "hashes.json"
LARGEST_MEMORY = 1 << 24  # bytes
SETTLED = 2_000_000_000  # ns: a file that changed more recently can change again without a new time stamp

Stamp = list[int]


def find_cache_folder() -> Path:
    """ASTERISM_CACHE, or the user's cache folder."""
    given = os.environ.get("ASTERISM_CACHE")
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "asterism"


def hash_file(file: Path) -> str:
    """SHA-256 of the whole content, in hexadecimal digits."""
    digest = hashlib.sha256()
    with open_checkpoint_file(file) as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def find_hashes(files: Iterable[Path]) -> dict[Path, str]:
    """The hash of each file; remembered hashes for files that have not changed."""
    known, found, changed = _read_memory(), {}, False
    for file in files:
        with open_checkpoint_file(file) as stream:
            stamp = _make_stamp(os.fstat(stream.fileno()))
        place = os.path.realpath(file)
        *before, digest = known.get(place, [None])
        if before == stamp:
            found[file] = str(digest)
            continue
        found[file] = hash_file(file)
        if _has_settled(stamp):
            known[place], changed = [*stamp, found[file]], True
    if changed:
        here = {place: entry for place, entry in known.items() if os.path.exists(place)}
        with suppress(OSError):  # without it, files are only hashed again
            write_whole_file(find_cache_folder() / MEMORY, json.dumps(here).encode())
    return found


def _read_memory() -> dict[str, list[Any]]:
    """Path -> stamp and hash; other entries of the file are ignored."""
    stored = None
    with suppress(OSError, ValueError):
        stored = parse_json(read_regular(find_cache_folder() / MEMORY, LARGEST_MEMORY))
    entries = stored.items() if isinstance(stored, dict) else ()
    return {place: entry for place, entry in entries if _is_entry(entry)}


def _make_stamp(status: os.stat_result) -> Stamp:
    """What identifies an unchanged file; programs cannot set ctime, unlike the other times."""
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _has_settled(stamp: Stamp) -> bool:
    """Whether any later change will have another time stamp."""
    return stamp[-1] < time.time_ns() - SETTLED


def _is_entry(entry: Any) -> bool:
    """A stamp and 64 hexadecimal digits."""
    return (
        isinstance(entry, list)
        and len(entry) == 6
        and all(type(number) is int for number in entry[:-1])
        and isinstance(entry[-1], str)
        and len(entry[-1]) == 64
    )
