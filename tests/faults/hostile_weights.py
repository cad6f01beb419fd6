"""Weights whose headers, archives and pickles lie."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.layouts import number, save_torch, text

from .hostile_json import RAW, VALUES, write

Header = dict[str, Any]


def hostile_safetensors(folder: Path, rng: Random) -> str:
    file = rng.choice(sorted(folder.rglob("*.safetensors")) or [None])
    if file is None:
        return hostile_torch_file(folder, rng)
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    change = rng.choice(HEADER_CHANGES)
    data = change(header, data, rng) or data
    write(file.with_name("header"), header)
    made = file.with_name("header").read_bytes()
    if rng.random() < 0.05:
        made = made[:-1] + b"," + made[1:]  # every key twice
    announced = rng.choice([len(made)] * 20 + [0, 1, 2**63, 2**64 - 1, len(made) + 10**6, 10**8])
    file.write_bytes(struct.pack("<Q", announced) + made + data)
    return f"{file.relative_to(folder)}: {change.__name__.strip('_')}"


def _tensor(header: Header, rng: Random) -> Header:
    found: Header = header[rng.choice([name for name in header if name != "__metadata__"])]
    return found


def _odd_value(header: Header, data: bytes, rng: Random) -> None:
    entry = _tensor(header, rng)
    key = rng.choice(list(entry))
    if isinstance(entry[key], list) and rng.random() < 0.7:
        entry[key][rng.randrange(len(entry[key]))] = rng.choice(VALUES)
    else:
        entry[key] = rng.choice(VALUES)


def _impossible_shape(header: Header, data: bytes, rng: Random) -> None:
    shapes = [[10**30, 10**30], [-2, -3], [0, 10**18], [2**32, 2**32], [1] * 10**5, [10**30] * 10**4, [0], []]
    _tensor(header, rng)["shape"] = rng.choice(shapes)


def _overlapping(header: Header, data: bytes, rng: Random) -> None:
    one, other = _tensor(header, rng), _tensor(header, rng)
    one["data_offsets"], one["shape"] = other["data_offsets"], other["shape"]


def _out_of_file(header: Header, data: bytes, rng: Random) -> None:
    entry = _tensor(header, rng)
    far = rng.choice([len(data), 2**31, 2**63, -100])
    entry["data_offsets"] = [far + place for place in entry["data_offsets"]]


def _other_type(header: Header, data: bytes, rng: Random) -> None:
    _tensor(header, rng)["dtype"] = rng.choice(["F16", "BF16", "I64", "U8", "F8_E4M3", "X", 3, None, []])


def _gone_or_renamed(header: Header, data: bytes, rng: Random) -> None:
    name = rng.choice(list(header))
    entry = header.pop(name)
    if rng.random() < 0.7:
        header[rng.choice(["", "x", "\0", "../x", name + "x", "x" * 10**6])] = entry


def _many_tensors(header: Header, data: bytes, rng: Random) -> None:
    end = len(data)
    for i in range(100_000):
        header[f"x{i}"] = {"dtype": "F32", "shape": [0], "data_offsets": [end, end]}


def _many_lists(header: Header, data: bytes, rng: Random) -> None:
    header["x"] = [[]] * 3_000_000


def _odd_numbers(header: Header, data: bytes, rng: Random) -> bytes:
    values = np.frombuffer(data, np.float32).copy()
    fill = rng.choice([np.nan, np.inf, 3e38, -3e38, 0.0, 1e-45])
    first = rng.randrange(len(values))
    values[first : first + rng.choice([1, 100, 10**6])] = fill
    return values.tobytes()


def _deep_header(header: Header, data: bytes, rng: Random) -> None:
    header["__metadata__"] = RAW + "[" * 100_000 + "]" * 100_000


HEADER_CHANGES: list[Callable[[Header, bytes, Random], Any]] = [
    *(_odd_value, _odd_value, _impossible_shape, _overlapping, _out_of_file, _other_type, _gone_or_renamed),
    *(_many_tensors, _many_lists, _odd_numbers, _odd_numbers, _deep_header),
]

ALMOST = b"datA.pkl"  # becomes a second data.pkl after zipfile, which would warn, has written it
GLOBAL = b"ctorch._utils\n_rebuild_tensor_v2\n"
STORAGE = text("storage") + b"ctorch\nFloatStorage\n"
PICKLES = {
    "a long that is announced": b"\x80\x02\x8b\xff\xff\xff\x7f",
    "bytes that are announced": b"\x80\x04\x8e" + struct.pack("<Q", 2**62),
    "text that is announced": b"\x80\x02X\xff\xff\xff\xff",
    "a frame that is announced": b"\x80\x04\x95" + struct.pack("<Q", 2**62),
    "a memo far away": b"\x80\x02Nr\xff\xff\xff\xff.",
    "deep tuples": b"\x80\x02)" + b"\x85" * 1_000_000 + b".",
    "deep tuples as a key": b"\x80\x02})" + b"\x85" * 1_000_000 + b"Ns.",
    "deep lists": b"\x80\x02" + b"]" * 500_000 + b"a" * 499_999 + b".",
    "deep dicts": b"\x80\x02" + (b"}" + text("a")) * 200_000 + b"N" + b"s" * 200_000 + b".",
    "a list in itself": b"\x80\x02]q\x00h\x00a.",
    "doubled tuples": b"\x80\x02)" + b"q\x00h\x00h\x00\x86" * 100_000 + b".",
    "repetition": b"\x80\x02]" + b"2" * 1_000_000 + b".",
    "many dicts": b"\x80\x02" + b"}" * 5_000_000 + b".",
    "marks": b"\x80\x02" + b"(" * 5_000_000 + b".",
    "a call of a number": b"\x80\x02K\x01)R.",
    "a call with too much": b"\x80\x02" + GLOBAL + b"(" + b"N" * 60 + b"tR.",
    "a persistent id that is none": b"\x80\x02K\x01Q.",
    "a storage that is too large": b"\x80\x02(" + STORAGE + text("0") + text("cpu") + number(2**31 - 1) + b"tQ.",
    "negative extents": b"\x80\x02"
    + GLOBAL
    + b"(("
    + STORAGE
    + text("0")
    + text("cpu")
    + number(1024)
    + b"tQK\x00("
    + number(-32) * 2
    + b"t(K\x20K\x01t\x89ccollections\nOrderedDict\n)RtR.",
    "code": b"cos\nsystem\n(" + text("true") + b"tR.",
    "nothing": b"",
    "an end": b".",
    "a decimal": b"\x80\x02I" + b"9" * 10**6 + b"\n.",
}


def hostile_torch_file(folder: Path, rng: Random) -> str:
    files = sorted([*folder.rglob("*.pt"), *folder.rglob("*.bin")])
    if not files:  # a layout with safetensors alone: the other file counts where that is missing
        file = next(folder.rglob("model.safetensors"), folder / "model-1.safetensors")
        file.unlink()
        files = [file.with_name("pytorch_model.bin")]
        save_torch(files[0], {"weight": np.ones((32, 32), np.float32)})
    file = rng.choice(files)
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    said, members, packed = _changed_members(members, rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packed) as archive:
        for name, content in members:
            archive.writestr(name, content)
    made = bytearray(out.getvalue().replace(ALMOST, b"data.pkl"))
    if rng.random() < 0.3:  # a damaged directory
        place = rng.randrange(made.rindex(b"PK\x01\x02"), len(made))
        made[place] ^= 1 << rng.randrange(8)
    file.write_bytes(made)
    return f"{file.relative_to(folder)}: {said}"


def _changed_members(members: dict[str, bytes], rng: Random) -> tuple[str, list[tuple[str, bytes]], int]:
    kind = rng.choice(["pickle"] * 6 + ["flipped pickle"] * 3 + ["compressed", "twice", "shorter", "many", "bomb"])
    pickle = next(name for name in members if name.endswith("data.pkl"))
    if kind == "pickle":
        kind, members[pickle] = rng.choice(list(PICKLES.items()))
    elif kind == "flipped pickle":
        content = bytearray(members[pickle])
        for _ in range(rng.choice([1, 2, 5])):
            content[rng.randrange(len(content))] = rng.randrange(256)
        members[pickle] = bytes(content)
    elif kind == "shorter":
        name = rng.choice(list(members))
        members[name] = members[name][: len(members[name]) // 2]
    elif kind == "many":
        members |= {f"archive/x{i}": b"" for i in range(20_000)}
    elif kind == "bomb":
        members[pickle] = b"\x80\x02" + b"}0" * 10_000_000
    listed = list(members.items())
    if kind == "twice":
        listed.append((pickle.replace("data.pkl", ALMOST.decode()), b"\x80\x02N."))
    return kind, listed, zipfile.ZIP_DEFLATED if kind in ("compressed", "bomb") else zipfile.ZIP_STORED
