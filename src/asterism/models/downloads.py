"""Downloads into the cache: made in a temporary folder, verified, then renamed, so that the cache has no wrong file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..errors import CheckpointError, DownloadError
from ..files.json_text import parse_json
from ..files.new_folders import make_temporary_folder
from ..files.regular_files import read_regular
from .file_hashes import hash_file
from .sources import COMMIT, Source

OPTIONAL = ("tokenizer_config.json", "special_tokens_map.json")  # not every repository has them
RECORD = "sha256.json"  # hashes of the downloaded files, not all of which are known in advance
REVISION = "revision"  # its entry for the commit of the files
LARGEST_RECORD = 1 << 20  # bytes
MAKING = "pull"  # names the temporary folders of all models, so that the next pull removes what any other left


def pull_into_cache(source: Source, files: Mapping[str, str | None], target: Path) -> None:
    """Fetch `files` (path -> sha256 or None) from `source` into the folder `target`.

    An existing copy is replaced by the same revision, if its source has revisions.
    """
    try:
        with make_temporary_folder(target.with_name(MAKING)) as temporary:
            inside = temporary / "files"
            inside.mkdir()
            before = read_record(target).get(REVISION, "")
            revision = source.fetch(files, inside, before if COMMIT.fullmatch(before) else None)
            record = _verify(files, inside) | ({} if revision is None else {REVISION: revision})
            (inside / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
            _publish(inside, target, temporary / "old")
    except OSError as error:
        raise DownloadError(f"{target}: {error.strerror or error}; set ASTERISM_CACHE to another folder") from error
    except CheckpointError as error:
        raise DownloadError(str(error)) from error


def read_record(folder: Path) -> dict[str, str]:
    """The record of a copy: the hashes of its files and its revision; empty if it is damaged."""
    stored = None
    with suppress(OSError, ValueError):
        stored = parse_json(read_regular(folder / RECORD, LARGEST_RECORD, links=True))
    entries = stored.items() if isinstance(stored, dict) else ()
    return {name: value for name, value in entries if isinstance(value, str)}


def _verify(files: Mapping[str, str | None], inside: Path) -> dict[str, str]:
    """The hash of each downloaded file."""
    came: dict[str, str] = {}
    for name, expected in files.items():
        file = inside / name
        if not os.path.isfile(file):
            if expected is None and name in OPTIONAL:
                continue
            raise DownloadError(f"{name} was not downloaded")
        came[name] = hash_file(file)
        if expected is not None and came[name] != expected:
            raise DownloadError(f"{name} has sha256 {came[name]}, expected {expected}: the download is damaged")
    return came


def _publish(inside: Path, target: Path, aside: Path) -> None:
    """Rename; an existing copy (damaged, or nothing would be fetched) is moved away first."""
    try:
        os.rename(inside, target)
    except OSError:
        os.rename(target, aside)
        os.rename(inside, target)
