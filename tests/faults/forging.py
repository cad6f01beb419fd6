"""Indexes changed on purpose, with all checksums recomputed: what an attacker could hand to a user.

An array, a fact of a segment or codec, a fact or a row of the catalog, or the manifest gets other values; everything
that hangs on it is sealed again.
"""

from __future__ import annotations

import json
import random
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from asterism.collection.connections import CATALOG

ODD_NUMBERS = (0, 1, -1, 2, 7, 63, 64, 255, 256, 2**31 - 1, 2**31, 2**32, 2**63 - 1, -(2**63), 10**30)
ODD_VALUES: tuple[Any, ...] = (
    *ODD_NUMBERS,
    *(
        0.5,
        1e-300,
        1e300,
        float("nan"),
        float("inf"),
        True,
        False,
        None,
        "",
        "x",
        "O",
        "object",
        "uint64",
        "..",
        "/etc",
    ),
    *("../../x", "segment-000001", "codec-000001", "a" * 10_000, [], {}, [[]], {"a": {"b": 1}}, [0] * 1000),
)


def forge(folder: Path, rng: random.Random) -> str:
    """Change one thing in the index at `folder`; returns what."""
    kinds: list[tuple[int, Callable[[Path, random.Random], str]]] = [
        (10, _forge_array),
        (3, _forge_part),
        (2, _forge_fact),
        (2, _forge_row),
        (1, _forge_manifest),
    ]
    return rng.choices([change for _, change in kinds], [weight for weight, _ in kinds])[0](folder, rng)


def _forge_array(folder: Path, rng: random.Random) -> str:
    """One array, in its values or in its shape and type."""
    file = rng.choice(sorted(folder.glob("*/**/*.npy")))
    values = np.load(file)
    what = rng.choice(["values", "values", "values", "all", "order", "rows", "type"])
    values = _changed_array(values, what, rng)
    _write_array(file, values)
    _seal_part(folder, file)
    return f"{what} of {file.relative_to(folder)}"


def _changed_array(values: np.ndarray, what: str, rng: random.Random) -> np.ndarray:
    flat = values.reshape(-1)
    if what == "values" and flat.size:
        for _ in range(rng.choice([1, 3, 20])):
            flat[rng.randrange(flat.size)] = _odd_value(flat, rng)
    elif what == "all" and flat.size:
        flat[:] = _odd_value(flat, rng)
    elif what == "order":
        flat[:] = np.random.default_rng(rng.randrange(2**32)).permutation(flat)
    elif what == "rows":
        values = rng.choice([values[:-1], values[:0], np.concatenate([values, values]), values[None], flat.copy()])
    elif what == "type":
        values = values.astype(rng.choice([np.uint8, np.int64, np.float64, np.float16, np.uint32]))
    return values


def _odd_value(flat: np.ndarray, rng: random.Random) -> Any:
    if flat.dtype.kind == "f":
        numbers = [np.nan, np.inf, -np.inf, 0, -1, 1e-30, 6e4, float(np.finfo(flat.dtype).max), flat[0]]
        return flat.dtype.type(rng.choice(numbers))
    info = np.iinfo(flat.dtype)
    near = int(flat[rng.randrange(flat.size)]) + rng.choice([-1, 1])
    return rng.choice([info.min, info.max, min(max(near, info.min), info.max), info.max // 2, 0])


def _write_array(file: Path, values: np.ndarray) -> None:
    """As asterism writes it, so that only the content is odd."""
    facts = f"{{'descr': '{values.dtype.str}', 'fortran_order': False, 'shape': {values.shape!r}, }}"
    text = facts.encode() + b" " * (-(10 + len(facts) + 1) % 64) + b"\n"
    header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    file.write_bytes(header + np.ascontiguousarray(values).tobytes())


def _part_of(folder: Path, file: Path) -> tuple[Path, str]:
    """The codec's or segment's folder, and its facts file."""
    part = folder / file.relative_to(folder).parts[0]
    return part, "codec.json" if part.name.startswith("codec") else "segment.json"


def _seal_part(folder: Path, file: Path) -> None:
    """The new size and checksum of a file, wherever its part lists a file of that name in that place."""
    part, name = _part_of(folder, file)
    content = read_sealed(part / name)
    listed = content["codec"]["files"] if name == "codec.json" else content["files"]
    inside = file.relative_to(part).parts
    if len(inside) == 2:
        view = content["views"][inside[0]]
        listed = view["segment"]["files"] if inside[0] == "multi" else view["files"]
    data = file.read_bytes()
    listed[file.name] = {"bytes": len(data), "crc32": zlib.crc32(data)}
    write_part(folder, part, name, content)


def _forge_part(folder: Path, rng: random.Random) -> str:
    """A fact of a codec or segment."""
    part, name = _part_of(folder, rng.choice(sorted(folder.glob("*/*.json"))))
    content = read_sealed(part / name)
    what = change_json(content, rng)
    write_part(folder, part, name, content)
    return f"{what} in {part.name}/{name}"


def _forge_fact(folder: Path, rng: random.Random) -> str:
    """A fact of the catalog."""
    connection = sqlite3.connect(folder / CATALOG)
    name, value = rng.choice(connection.execute("SELECT name, value FROM facts").fetchall())
    content = json.loads(value)
    what = change_json(content, rng)
    put_fact(connection, name, content)
    connection.commit()
    connection.close()
    return f"{what} in the fact {name}"


def _forge_row(folder: Path, rng: random.Random) -> str:
    """Rows of the catalog: added, removed or changed, or a table that is none of ours."""
    statements = [
        "DELETE FROM tombstones",
        "INSERT OR IGNORE INTO tombstones VALUES (1), (7), (-5), (9223372036854775807)",
        "DELETE FROM documents WHERE number = 3",
        "UPDATE documents SET number = 4000000000 WHERE number = 3",
        "UPDATE documents SET text = x'00ff' WHERE number = 4",
        "UPDATE documents SET metadata = '[[[[' WHERE number = 4",
        "UPDATE OR IGNORE fields SET number = 'x'",
        "UPDATE OR IGNORE fields SET number = 1.5",
        "UPDATE OR IGNORE fields SET value = x'00' WHERE number = 4",
        "DELETE FROM facts WHERE name = 'views'",
        "DELETE FROM facts",
        "CREATE TRIGGER evil AFTER INSERT ON documents BEGIN DELETE FROM facts; END",
        "CREATE TABLE more (x)",
        "DROP TABLE fields",
        "CREATE VIEW facts2 AS SELECT * FROM facts",
    ]
    statement = rng.choice(statements)
    connection = sqlite3.connect(folder / CATALOG)
    connection.execute(statement)
    if "SET text" not in statement:
        reseal_documents(connection)
    connection.commit()
    connection.close()
    return statement


def reseal_documents(connection: sqlite3.Connection) -> None:
    for row in connection.execute("SELECT number, id, title, text, metadata FROM documents").fetchall():
        if all(isinstance(value, str) for value in row[1:]):
            checksum = zlib.crc32("\0".join(map(str, row)).encode())
            connection.execute("UPDATE documents SET crc32 = ? WHERE number = ?", (checksum, row[0]))


def _forge_manifest(folder: Path, rng: random.Random) -> str:
    content = read_sealed(folder / "manifest.json")
    what = change_json(content, rng)
    write_sealed(folder / "manifest.json", content)
    return f"{what} in the manifest"


def change_json(content: Any, rng: random.Random) -> str:
    """Changes or removes one value anywhere in an object, or adds a key."""
    places: list[tuple[Any, Any, str]] = []

    def visit(inside: Any, path: str) -> None:
        for key in list(inside) if isinstance(inside, dict) else range(len(inside)):
            places.append((inside, key, f"{path}/{key}"))
            if isinstance(inside[key], dict | list):
                visit(inside[key], f"{path}/{key}")

    visit(content, "")
    if not places:
        content["new"] = 1
        return "a new key"
    inside, key, path = rng.choice(places)
    if rng.random() < 0.15:
        del inside[key]
        return f"no {path}"
    inside[key] = rng.choice(ODD_VALUES)
    return f"{str(inside[key])[:40]!r} as {path}"


def read_sealed(file: Path) -> Any:
    return json.loads(json.loads(file.read_text())["content"])


def write_sealed(file: Path, content: Any) -> int:
    body = json.dumps(content, indent=1, sort_keys=True)
    text = json.dumps({"crc32": zlib.crc32(body.encode()), "content": body}).encode()
    file.write_bytes(text)
    return zlib.crc32(text)


def write_part(folder: Path, part: Path, name: str, content: Any) -> None:
    """The facts of a codec or segment, and their checksum in the catalog's state."""
    checksum = write_sealed(part / name, content)
    connection = sqlite3.connect(folder / CATALOG)
    state = json.loads(connection.execute("SELECT value FROM facts WHERE name = 'state'").fetchone()[0])
    for entry in [state["codec"], *state["segments"]]:
        if entry and entry["name"] == part.name:
            entry["crc32"] = checksum
    put_fact(connection, "state", state)
    connection.commit()
    connection.close()


def put_fact(connection: sqlite3.Connection, name: str, content: Any) -> None:
    text = json.dumps(content, sort_keys=True)
    checksum = zlib.crc32(f"{name}\0{text}".encode())
    connection.execute("UPDATE facts SET value = ?, crc32 = ? WHERE name = ?", (text, checksum, name))
