"""JSON files of a checkpoint with unexpected values."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

RAW = "@raw@"  # a value that json.dumps cannot write
DEEP = "[" * 100_000 + "]" * 100_000
VALUES: list[Any] = [
    *(-1, 0, 1, 2, 3, 7, 10**4, 10**8, 10**9, 10**12, 10**30, 2**31, 2**63, 0.5, 1e30, -1e-300, None, True, False),
    *("", "x", "7", "\0", "\ud800", "../../..", "/dev/zero", "\n\n", "x" * 100_000, "nan", "[MASK]", "a " * 3000),
    *([], {}, [[]], [1, "x", None], ["x"] * 20_000, {"a": {"b": {}}}, [0] * 20_000),
    *(RAW + raw for raw in ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 5000, DEEP, '{"a":1,"a":2}')),
]


def json_files(folder: Path) -> list[Path]:
    found = [*folder.rglob("*.json"), *folder.rglob("*.metadata")]
    return sorted(file for file in found if file.name != "tokenizer.json")


def write(file: Path, value: Any) -> None:
    text = json.dumps(value)
    for raw in (value[len(RAW) :] for value in VALUES if isinstance(value, str) and value.startswith(RAW)):
        text = text.replace(json.dumps(RAW + raw), raw)
    file.write_text(text, encoding="utf-8")


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Every object or list with each of its keys."""
    found, level = [], [value]
    while level:
        outer = level.pop()
        inner = outer.items() if isinstance(outer, dict) else enumerate(outer) if isinstance(outer, list) else ()
        for key, child in inner:
            found.append((outer, key))
            level.append(child)
    return found


def changed_value(folder: Path, rng: Random) -> str:
    """One to three values of one file are changed or removed."""
    file = rng.choice(json_files(folder))
    return f"{file.relative_to(folder)}: {change_values(file, rng)}"


def change_values(file: Path, rng: Random) -> str:
    content = json.loads(file.read_text(encoding="utf-8"))
    said = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        places = places_in(content)
        if not places:
            break
        outer, key = rng.choice(places)
        if rng.random() < 0.15:
            del outer[key]
            said.append(f"no {key!r:.40}")
        else:
            outer[key] = rng.choice(VALUES)
            said.append(f"{key!r:.40} is {outer[key]!r:.40}")
    write(file, content)
    return ", ".join(said)


def extreme_size(folder: Path, rng: Random) -> str:
    """The numbers that say how large something is."""
    file = rng.choice([file for file in json_files(folder) if file.name == "config.json" or "metadata" in file.name])
    content = json.loads(file.read_text(encoding="utf-8"))
    numbers = [(outer, key) for outer, key in places_in(content) if type(outer[key]) in (int, float)]
    if not numbers:
        return changed_value(folder, rng)
    outer, key = rng.choice(numbers)
    outer[key] = rng.choice([-1, 0, 1, 33, 10**3, 10**5, 10**8, 10**9, 10**12, 10**30, 0.5, RAW + "1e999", RAW + "NaN"])
    write(file, content)
    return f"{file.name}: {key} is {outer[key]!r:.40}"


def another_document(folder: Path, rng: Random) -> str:
    """A whole file is replaced."""
    file = rng.choice(json_files(folder))
    kinds = [
        "null",
        "[]",
        "{}",
        "3",
        '"x"',
        DEEP,
        "[{}]" * 1000,
        "[" + "{}," * 1_300_000 + "{}]",
        '{"a":' * 900,
        "\ufeff{}",
    ]
    text = rng.choice(kinds)
    file.write_text(text, encoding="utf-8")
    return f"{file.relative_to(folder)} is {text:.20}"
