"""Files into the cache: under a temporary name, verified, renamed. Nothing wrong ever has a right name."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ..errors import DownloadError
from .file_hashes import sha256
from .sources import Source

OPTIONAL = ("tokenizer_config.json", "special_tokens_map.json")  # not every repository has them
RECORD = "sha256.json"  # of what came, for the files whose hashes nobody knew before


def into_cache(source: Source, files: Mapping[str, str | None], target: Path) -> None:
    """Bring `files` (path -> sha256 or None) from `source` to the folder `target`."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise DownloadError(f"{target.parent} cannot be written: {error.strerror}; set ASTERISM_CACHE") from error
    try:
        inside = temporary / "files"
        inside.mkdir()
        source.bring(files, inside)
        came: dict[str, str] = {}
        for name, expected in files.items():
            file = inside / name
            if not file.is_file():
                if expected is None and name in OPTIONAL:
                    continue
                raise DownloadError(f"{name} did not come")
            came[name] = sha256(file)
            if expected is not None and came[name] != expected:
                raise DownloadError(f"{name} has sha256 {came[name]}, expected {expected}: the download is damaged")
        (inside / RECORD).write_text(json.dumps(came, indent=1), encoding="utf-8")
        _publish(inside, target, temporary / "old")
    except OSError as error:
        raise DownloadError(f"{target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _publish(inside: Path, target: Path, aside: Path) -> None:
    """One rename; what stood there (damaged, else nothing would be fetched) goes aside first."""
    try:
        os.rename(inside, target)
    except OSError:
        os.rename(target, aside)
        os.rename(inside, target)
