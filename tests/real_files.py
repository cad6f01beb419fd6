"""Collects real files of many formats from installed packages and /usr/share/doc into a folder, and adds bad ones.

python -m tests.real_files FOLDER [COUNT]
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = {
    *(".py", ".txt", ".md", ".rst", ".html", ".csv", ".json", ".jsonl", ".ipynb", ".gz", ".c", ".h", ".hpp"),
    *(".xml", ".yaml", ".yml", ".toml", ".js", ".css", ".sh", ".pyi", ".pyx", ".sql", ".tsv", ".tex", ".f90", ".cpp"),
}
LARGEST = 60_000  # bytes
SOURCES = ("stdlib", "platlib", "purelib")


def _find_files() -> Iterator[Path]:
    """Readable files of a moderate size, in a fixed order."""
    roots = [Path(sysconfig.get_path(name)) for name in SOURCES] + [Path("/usr/share/doc")]
    for root in dict.fromkeys(roots):
        for folder, below, files in os.walk(root):
            below[:] = sorted(name for name in below if not name.startswith((".", "__pycache__", "site-packages")))
            for name in sorted(files):
                path = Path(folder) / name
                known = path.suffix in SUFFIXES or not path.suffix
                usual = known and not name.startswith(".") and path.is_file() and not path.is_symlink()
                if usual and 0 < path.stat().st_size <= LARGEST:
                    yield path


def collect_files(target: Path, count: int) -> dict[str, int]:
    """Copy `count` files, as many of each format as there are and can be; returns suffix -> how many."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in _find_files():
        if len(found[path.suffix]) < count:
            found[path.suffix].append(path)
    chosen: list[Path] = []
    for turn in range(count):
        chosen += [paths[turn] for _, paths in sorted(found.items()) if turn < len(paths)]
        if len(chosen) >= count:
            break
    numbers: dict[str, int] = defaultdict(int)
    for number, path in enumerate(chosen[:count]):
        folder = target / path.parent.name / str(number % 7)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / f"{number}-{path.name}")
        numbers[path.suffix] += 1
    return dict(numbers)


def add_bad_files(target: Path) -> int:
    """Twenty files that cannot be read, or only with care; returns how many."""
    bad = target / "bad"
    bad.mkdir()
    contents = {
        "null.md": b"# Title\n\0\0\0",
        "picture.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)),
        "noise.txt": bytes(range(256)) * 8,
        "cut.txt.gz": b"\x1f\x8b\x08\0\0\0\0\0\0\x03abc",
        "no.gz": b"not gzip at all",
        "wrong.ipynb": b'{"cells": 7}',
        "cut.json": b'[{"a": 1}, {"a"',
        "deep.json": b"[" * 100_000,
        "empty.md": b"",
        "blank.txt": b" \n\n\t",
        "mark.txt": b"\xff\xfe\x00",
        "latin.txt": "Ein früher Käfer läuft über die Straße.".encode("latin-1"),
        "wide.txt": "The wide text.".encode("utf-16"),
    }
    for name, content in contents.items():
        (bad / name).write_bytes(content)
    for name, aim in {"broken.md": "nowhere", "circle.md": "circle.md", "out.txt": "/etc/hostname", "up": ".."}.items():
        (bad / name).symlink_to(aim)
    os.mkfifo(bad / "fifo.txt")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(bad / "socket.md"))
    with open(bad / "huge.txt", "wb") as sparse:
        sparse.truncate(1 << 40)
    return len(list(bad.iterdir()))


if __name__ == "__main__":
    print(collect_files(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000))
    print(add_bad_files(Path(sys.argv[1])), "bad")
