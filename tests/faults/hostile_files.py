"""What can stand in place of a file: fifos, devices, folders, links that go nowhere, holes, and damaged bytes."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random


def _socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(file.parent, os.O_RDONLY)  # a path of a socket has 107 characters at most
        try:
            made.bind(f"/proc/self/fd/{here}/{file.name}")
        finally:
            os.close(here)


def _link_to_fifo(file: Path) -> None:
    os.mkfifo(file.with_name("a-fifo"))
    file.symlink_to("a-fifo")


def _sparse(bytes_: int) -> Callable[[Path], None]:
    def make(file: Path) -> None:
        file.touch()
        os.truncate(file, bytes_)

    return make


SPECIAL: dict[str, Callable[[Path], None]] = {
    "fifo": os.mkfifo,
    "socket": _socket,
    "folder": Path.mkdir,
    "zeros": lambda file: file.symlink_to("/dev/zero"),
    "nothing": lambda file: file.symlink_to("/dev/null"),
    "dangling link": lambda file: file.symlink_to("not-there"),
    "loop of links": lambda file: file.symlink_to(file.name),
    "link to a fifo": _link_to_fifo,
    "empty": Path.touch,
    "200 MB of holes": _sparse(200 << 20),
    "a terabyte of holes": _sparse(1 << 40),
    "missing": lambda file: None,
}


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def special_file(folder: Path, rng: Random) -> str:
    file, kind = rng.choice(files_of(folder)), rng.choice(list(SPECIAL))
    file.unlink()
    SPECIAL[kind](file)
    return f"{kind} in place of {file.name}"


def grown_with_holes(folder: Path, rng: Random) -> str:
    """The right beginning, and then holes."""
    file = rng.choice(files_of(folder))
    os.truncate(file, 1 << rng.choice([28, 34, 42]))
    return f"holes after {file.name}"


def damaged_bytes(folder: Path, rng: Random) -> str:
    file = rng.choice(files_of(folder))
    content = bytearray(file.read_bytes())
    kind = rng.choice(["flip", "flip", "flip", "cut", "junk", "zeros", "other file"])
    place = rng.randrange(len(content)) if rng.random() < 0.5 else rng.randrange(min(len(content), 3000))
    if kind == "flip":
        for _ in range(rng.choice([1, 1, 4, 32])):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            content[min(place + rng.randrange(64), len(content) - 1)] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del content[place:]
    elif kind == "junk":
        content[place:place] = rng.randbytes(rng.choice([1, 8, 1000]))
    elif kind == "zeros":
        content[place : place + 500] = bytes(len(content[place : place + 500]))
    else:
        shutil.copy(rng.choice(files_of(folder)), folder / "other")
        content = bytearray((folder / "other").read_bytes())
    file.write_bytes(content)
    return f"{kind} in {file.name}"
