"""SHA-256 of files, remembered by size and time so that gigabytes are read once."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

MEMORY = "hashes.json"


def cache_folder() -> Path:
    """ASTERISM_CACHE, or the user's cache folder."""
    given = os.environ.get("ASTERISM_CACHE")
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "asterism"


def sha256(file: Path) -> str:
    """Of the whole content, in hexadecimal digits."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def remembered_hashes(files: Iterable[Path]) -> dict[Path, str]:
    """The hash of each file; of files that have not changed since, from memory."""
    memory = cache_folder() / MEMORY
    known: dict[str, list[object]] = {}
    with suppress(OSError, ValueError):
        stored = json.loads(memory.read_text(encoding="utf-8"))
        known = stored if isinstance(stored, dict) else {}
    found, changed = {}, False
    for file in files:
        status = file.stat()
        stamp = [status.st_size, status.st_mtime_ns, status.st_ino]
        entry = known.get(str(file.resolve()))
        if not (isinstance(entry, list) and entry[:3] == stamp and isinstance(entry[-1], str)):
            entry = [*stamp, sha256(file)]
            known[str(file.resolve())], changed = entry, True
        found[file] = str(entry[-1])
    if changed:
        here = {path: entry for path, entry in known.items() if Path(path).exists()}
        with suppress(OSError):  # a memory that cannot be kept is no harm
            write_whole(memory, json.dumps(here).encode())
    return found


def write_whole(file: Path, content: bytes) -> None:
    """Under a temporary name, then renamed: nobody sees half a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(temporary, file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
