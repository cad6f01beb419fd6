"""Indexes with changed content and valid checksums: every operation ends soon, with our own errors at worst.

`make test-forged` runs thousands of them with the address sanitizer.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Collection, TokenIndex, TokenSearch
from asterism.collection.connections import CATALOG
from asterism.errors import DamagedIndex
from tests.conftest import make_query, make_vectors
from tests.faults import forging
from tests.faults.forging import put_fact, read_sealed, write_part, write_sealed
from tests.faults.small_index import add, checked, compact, make_index, searches

ROOT = Path(__file__).parents[2]


def forge_many(folder: Path, count: int, seed: int) -> str:
    command = [sys.executable, "-m", "tests.faults.run_forgeries", str(folder), str(count), str(seed)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout.splitlines()[-1]


def test_some_forgeries(tmp_path: Path) -> None:
    assert "of 40" in forge_many(tmp_path, 40, 1)


@pytest.mark.slow
def test_many_forgeries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = forge_many(tmp_path, 600, 5)
    with capsys.disabled():
        print(f"\nforged: {counts}")
    assert "of 600" in counts


@pytest.fixture
def index(tmp_path: Path) -> Path:
    make_index(tmp_path / "x.ast", coded=True)
    return tmp_path / "x.ast"


def forge_array(folder: Path, pattern: str, change: Callable[[np.ndarray], np.ndarray | None]) -> None:
    """One array, with right checksums."""
    file = min(folder.glob(pattern))
    values = np.load(file)
    forging._write_array(file, values if (changed := change(values)) is None else changed)
    forging._seal_part(folder, file)


CODECS: dict[str, tuple[str, Callable[[np.ndarray], Any]]] = {
    "scales that are no numbers": ("codec-*/scales.npy", lambda values: values.fill(np.nan)),
    "huge scales": ("codec-*/scales.npy", lambda values: values.fill(3e38)),
    "signs that are none": ("codec-*/signs.npy", lambda values: values.fill(np.nan)),
    "huge signs": ("codec-*/signs.npy", lambda values: values.fill(1e30)),
    "no centroids": ("codec-*/half_norms.npy", lambda values: values[:0]),
    "levels beyond 63": ("codec-*/rows.npy", lambda values: values.fill(255)),
    "a mean that is no number": ("codec-*/mean.npy", lambda values: values.fill(np.nan)),
    "a huge mean": ("codec-*/mean.npy", lambda values: values.fill(3e38)),
    "a mean of other dimensions": ("codec-*/mean.npy", lambda values: values[:-1].copy()),
    "groups that are not there": ("codec-*/starts.npy", lambda values: values.fill(2**31)),
}


@pytest.mark.parametrize("forgery", CODECS)
def test_a_forged_codec_is_refused(index: Path, forgery: str) -> None:
    forge_array(index, *CODECS[forgery])
    with pytest.raises(DamagedIndex, match="fit together"):
        Collection.open(index)


@pytest.mark.parametrize("stretch", [0, -1, 0.5, 65, 1e300, float("nan"), "2", True, [2.0]])
def test_a_forged_stretch_is_refused(index: Path, stretch: Any) -> None:
    part = min(index.glob("codec-*"))
    content = read_sealed(part / "codec.json")
    content["codec"]["stretch"] = stretch
    write_part(index, part, "codec.json", content)
    with pytest.raises(DamagedIndex):
        Collection.open(index)


def test_a_mean_without_a_stretch_is_refused(index: Path) -> None:
    part = min(index.glob("codec-*"))
    content = read_sealed(part / "codec.json")
    del content["codec"]["stretch"]
    write_part(index, part, "codec.json", content)
    with pytest.raises(DamagedIndex, match=r"other files than expected \(mean.npy\)"):
        Collection.open(index)


SEGMENTS: dict[str, tuple[str, Callable[[np.ndarray], Any]]] = {
    "centroids that are not there": ("segment-*/multi/centroids.npy", lambda values: values.fill(2**31)),
    "scales that are no numbers": ("segment-*/multi/scales.npy", lambda values: values.fill(np.nan)),
    "infinite scales": ("segment-*/multi/scales.npy", lambda values: values.fill(np.inf)),
    "lists of other documents": ("segment-*/multi/list_documents.npy", lambda values: values.fill(2**31)),
    "lists that are elsewhere": ("segment-*/multi/list_starts.npy", lambda values: values.fill(2**40)),
    "documents that are elsewhere": ("segment-*/multi/offsets.npy", lambda values: values.fill(-5)),
    "vectors that are no numbers": ("segment-*/dense/vectors.npy", lambda values: values.fill(np.nan)),
    "postings of other documents": ("segment-*/lexical/list_documents.npy", lambda values: values.fill(2**31)),
    "counts of 0": ("segment-*/lexical/counts.npy", lambda values: values.fill(0)),
    "lengths that are too large": ("segment-*/lexical/lengths.npy", lambda values: values.fill(2**32 - 1)),
    "lists of terms that are elsewhere": ("segment-*/lexical/starts.npy", lambda values: values.fill(2**40)),
}


@pytest.mark.parametrize("forgery", SEGMENTS)
def test_a_forged_segment_is_refused_by_searches(index: Path, forgery: str) -> None:
    forge_array(index, *SEGMENTS[forgery])
    with pytest.raises(DamagedIndex):
        searches(index)


MERGED = [
    "centroids that are not there",
    "documents that are elsewhere",
    "postings of other documents",
    "lists of terms that are elsewhere",
    "counts of 0",
    "lengths that are too large",
]
BM25_FACTS: dict[str, tuple[str, Any]] = {
    "no mean length": ("mean_length", None),
    "a mean length of 0": ("mean_length", 0),
    "a mean length that is no number": ("mean_length", "9"),
    "another k1": ("k1", 1.5),
    "a negative k1": ("k1", -1),
    "a k1 that overflows": ("k1", 1e300),
    "another b": ("b", 0.5),
    "a b above 1": ("b", 1.5),
    "something more": ("k3", 1),
}


@pytest.mark.parametrize("forgery", BM25_FACTS)
def test_forged_facts_of_bm25_are_refused(index: Path, forgery: str) -> None:
    part, (key, value) = min(index.glob("segment-*")), BM25_FACTS[forgery]
    content = read_sealed(part / "segment.json")
    content["views"]["lexical"]["bm25"][key] = value
    write_part(index, part, "segment.json", content)
    with pytest.raises(DamagedIndex):
        Collection.open(index)


def test_another_k1_for_the_whole_index_is_refused(index: Path) -> None:
    """Its bounds were made with the first."""
    connection = sqlite3.connect(index / CATALOG)
    views = forging.json.loads(connection.execute("SELECT value FROM facts WHERE name = 'views'").fetchone()[0])
    for value, message in ((1.5, "other settings"), (-1, "k1 is -1"), ("x", "k1 is 'x'")):
        views["counting"]["k1"] = value
        put_fact(connection, "views", views)
        connection.commit()
        with pytest.raises(DamagedIndex, match=message):
            Collection.open(index)
    connection.close()


def test_a_total_that_is_not_that_of_the_lengths_is_refused_by_merges(index: Path) -> None:
    part = min(index.glob("segment-*"))
    for key in ("length", "longest"):
        content = read_sealed(part / "segment.json")
        content["views"]["lexical"][key] -= 1
        write_part(index, part, "segment.json", content)
        with pytest.raises(DamagedIndex):
            compact(index)


@pytest.mark.parametrize("forgery", MERGED)
def test_a_forged_segment_is_refused_by_merges(index: Path, forgery: str) -> None:
    """Numbers from files are checked against the sizes before native code uses them."""
    forge_array(index, *SEGMENTS[forgery])
    with pytest.raises(DamagedIndex):
        compact(index)


def forge_state(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    connection = sqlite3.connect(folder / CATALOG)
    state = forging.json.loads(connection.execute("SELECT value FROM facts WHERE name = 'state'").fetchone()[0])
    change(state)
    put_fact(connection, "state", state)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("name", ["..", ".", "", "/", "../victim", "segment-000001/..", "segment-x", "codec-000001"])
def test_no_name_leads_out_of_the_folder(index: Path, name: str) -> None:
    """A segment called ".." once erased the parent folder."""
    victim = index.parent / "victim"
    victim.mkdir()
    (victim / "precious").touch()
    forge_state(index, lambda state: state["segments"].append({"name": name, "crc32": 0}))
    for operation in (checked, add, compact):
        with pytest.raises(DamagedIndex):
            operation(index)
    assert (victim / "precious").exists()
    assert (index / CATALOG).exists()


def test_an_unknown_array_type_is_refused(index: Path) -> None:
    """The object type would read bytes as pointers."""
    part = min(index.glob("segment-*"))
    for place, key in (("lexical", "count_type"), ("multi", "place_type")):
        content = read_sealed(part / "segment.json")
        view = content["views"][place]
        (view["segment"] if place == "multi" else view)[key] = "O"
        write_part(index, part, "segment.json", content)
        with pytest.raises(DamagedIndex, match="expected one of"):
            Collection.open(index)


def test_xtr_ends_when_centroids_have_no_score(tmp_path: Path) -> None:
    """Imputation by clusters once looped forever."""
    index = TokenIndex.build(tmp_path / "x", make_vectors(60, 16))
    content = read_sealed(tmp_path / "x" / "manifest.json")
    file = tmp_path / "x" / "codec" / "scales.npy"
    values = np.load(file)
    values.fill(np.nan)
    forging._write_array(file, values)
    data = file.read_bytes()
    content["codec"]["files"]["scales.npy"] = {"bytes": len(data), "crc32": forging.zlib.crc32(data)}
    write_sealed(tmp_path / "x" / "manifest.json", content)
    with pytest.raises(DamagedIndex):
        TokenIndex.open(tmp_path / "x")
    assert len(index.search(make_query(16), 3, TokenSearch(method="xtr", imputation="cluster")).ids) == 3


def test_a_catalog_with_a_trigger_is_refused(index: Path) -> None:
    connection = sqlite3.connect(index / CATALOG)
    connection.execute("CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM facts; END")
    connection.commit()
    connection.close()
    with pytest.raises(DamagedIndex, match="other tables"):
        Collection.open(index)


def test_a_journal_that_names_a_file_does_not_delete_it(index: Path, tmp_path: Path) -> None:
    """SQLite deletes the "super-journal" that a hot journal names, wherever that is."""
    victim = tmp_path / "precious"
    victim.write_bytes(b"mine")
    name = os.fsencode(victim)
    magic = bytes.fromhex("d9d505f920a163d7")
    header = magic + (1).to_bytes(4, "big") + b"\0" * 4 + (9).to_bytes(4, "big") + (512).to_bytes(4, "big")
    header += (4096).to_bytes(4, "big")
    tail = (0).to_bytes(4, "big") + name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + magic
    (index / f"{CATALOG}-journal").write_bytes(header.ljust(512, b"\0") + tail)
    for operation in (checked, add):
        with pytest.raises(DamagedIndex, match="names another file"):
            operation(index)
    assert victim.read_bytes() == b"mine"


def test_a_catalog_in_wal_mode_is_refused(index: Path) -> None:
    connection = sqlite3.connect(index / CATALOG)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("UPDATE facts SET crc32 = crc32")
    connection.commit()
    before = sorted(os.listdir(index))
    with pytest.raises(DamagedIndex, match="asterism never writes"):
        Collection.open(index)
    assert sorted(os.listdir(index)) == before
    connection.close()
