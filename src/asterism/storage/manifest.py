"""The manifest of an index folder: JSON with its own checksum."""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import DamagedIndex, NewerFormat, NotAnIndex
from ..files.json_text import parse_json
from ..files.new_folders import fsync_path
from ..files.regular_files import create_file, read_regular
from .facts import Facts
from .faults import damaged, unreadable

MANIFEST = "manifest.json"
MOST_BYTES = 1 << 28


def write_manifest(folder: Path, content: dict[str, Any], name: str = MANIFEST) -> int:
    """Write under a temporary name, then rename. Returns the file's checksum."""
    body = json.dumps(content, indent=1, sort_keys=True)
    text = json.dumps({"crc32": zlib.crc32(body.encode()), "content": body}).encode()
    temporary = folder / f"{name}.new"
    with suppress(FileNotFoundError):
        temporary.unlink()  # left by a killed writer, or a link, which must not be followed
    with create_file(temporary) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / name)
    fsync_path(folder)
    return zlib.crc32(text)


def read_manifest(folder: Path, kind: str, newest: int, name: str = MANIFEST, checksum: int | None = None) -> Facts:
    """The content of a folder's manifest; newer, damaged and foreign ones raise different errors.

    With a `checksum` the folder is known to be part of an index, so that any other content is damage.
    """
    path = folder / name
    try:
        text = read_regular(path, MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError) as error:
        if checksum is not None:
            raise damaged(path, "is missing") from error
        what = f"holds no {name}" if folder.is_dir() else "is a file" if folder.exists() else "does not exist"
        raise NotAnIndex(f"{folder} {what}: expected a folder that asterism built") from error
    except OSError as error:
        raise unreadable(path, error) from error
    if checksum is not None and zlib.crc32(text) != checksum:
        raise damaged(path, "was changed since it was written")
    facts = Facts(_parse_content(path, text), str(path))
    if facts.content.get("kind") != kind:
        found = str(facts.content.get("kind"))[:60]
        raise NotAnIndex(f"{folder} holds a {found!r}, expected a {kind!r}")
    version = facts.whole("version", 1)
    if version > newest:
        raise NewerFormat(f"{folder} has format {version}, this reads up to {newest}: upgrade asterism")
    return facts


def _parse_content(path: Path, text: bytes) -> Any:
    try:
        outer = Facts(parse_json(text), str(path))
        body = outer.text("content")
        if zlib.crc32(body.encode()) != outer.whole("crc32"):
            raise damaged(path, "was changed since it was written")
        return parse_json(body)
    except DamagedIndex:
        raise
    except ValueError as error:
        raise damaged(path, "is not readable as a manifest") from error
