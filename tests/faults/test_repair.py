"""A repair must not lose, resurrect, revert or invent a document."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from asterism import Collection, Document, Representations, Views
from asterism.collection.connections import CATALOG, SCHEMA
from asterism.collection.repair.repair import Repair, repair_collection
from asterism.collection.state import complete_fingerprint, fingerprint
from asterism.errors import DamagedIndex, IndexFolderError, NotAnIndex
from asterism.storage.byte_correction import row_checksum
from tests.faults.small_index import Texts, checked, stored_texts, words_of


def represent(documents: list[Document], *_: object) -> Representations:
    return words_of([document.full_text for document in documents])


def put(collection: Collection, texts: Texts, metadata: dict[str, Any] | None = None) -> None:
    documents = [Document(id, text, metadata=metadata or {}) for id, text in texts.items()]
    with collection.writing() as writer:
        writer.add(documents, words_of(list(texts.values())), update=True)


def made(path: Path, texts: Texts) -> Collection:
    collection = Collection.create(path, Views(lexical="words"), {"name": "none"})
    put(collection, texts)
    return collection


def damage(path: Path, place: int = 20) -> None:
    """A byte of the catalog's header, so that SQLite cannot read it at all."""
    with open(path / CATALOG, "r+b") as file:
        file.seek(place)
        file.write(b"\x01")


def repaired(path: Path) -> Repair:
    done = repair_collection(path, represent)
    checked(path)
    return done


@pytest.mark.parametrize("seed", range(6))
def test_deleted_documents_stay_deleted_and_updated_ones_updated(tmp_path: Path, seed: int) -> None:
    """SQLite leaves copies of rows in its pages; only the rows that a page lists exist."""
    rng = random.Random(seed)
    texts = {f"d{i}": "x" * rng.randint(1, 120) for i in range(200)}
    collection = made(tmp_path / "x", texts)
    for step in range(6):
        some = rng.sample(sorted(texts), rng.randint(5, 40))
        if step % 2:
            put(collection, {id: f"{step} " + "y" * rng.randint(1, 6000) for id in some})
            texts |= {document.id: document.text for document in collection.get(some)}
        else:
            with collection.writing() as writer:
                writer.delete(some)
            texts = {id: text for id, text in texts.items() if id not in some}
    if seed % 2:
        with collection.writing() as writer:
            writer.compact()
    collection.close()
    damage(tmp_path / "x")
    assert repaired(tmp_path / "x").lost == 0
    assert stored_texts(tmp_path / "x") == texts


def test_a_stopped_repair_and_a_damaged_catalog_lose_nothing(tmp_path: Path) -> None:
    texts = {f"d{i}": f"text {i}" for i in range(300)}
    collection = made(tmp_path / "x", dict(list(texts.items())[:200]))
    put(collection, dict(list(texts.items())[200:]))
    collection.close()
    file = max((tmp_path / "x").glob("segment-*/lexical/counts.npy"))
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    calls: list[int] = []

    def stopped(documents: list[Document], *_: object) -> Representations:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return represent(documents)

    with pytest.raises(KeyboardInterrupt):
        repair_collection(tmp_path / "x", stopped)
    (tmp_path / "x" / f"{CATALOG}-wal").touch()  # this alone once made a repair forget what was missing
    damage(tmp_path / "x")
    done = repaired(tmp_path / "x")
    assert (done.catalog, done.lost) == (True, 0)
    assert stored_texts(tmp_path / "x") == texts


def test_a_long_lived_reader_follows_a_repair(tmp_path: Path) -> None:
    """A transaction is open during the repair; its connection to the old file must not be used again."""
    collection = made(tmp_path / "x", {f"k{i}": f"hello {i}" for i in range(5)})
    inside = collection.reading()
    inside.__enter__()
    damage(tmp_path / "x")
    repaired(tmp_path / "x")
    assert len(list(collection.documents())) == 5
    inside.__exit__(None, None, None)
    other = Collection.open(tmp_path / "x")
    put(other, {"new": "hello new"})
    with other.writing() as writer:
        writer.delete(["k0", "k1"])
    for _ in range(3):
        assert {document.id for document in collection.documents()} == {"k2", "k3", "k4", "new"}
    put(collection, {"fresh": "hello"})
    other.check()
    collection.close()
    other.close()


def record(columns: list[bytes | int]) -> bytes:
    """As SQLite writes a row, for texts below 58 bytes and numbers of 6 bytes."""
    types, content = b"", b""
    for column in columns:
        data = column.to_bytes(6, "big") if isinstance(column, int) else column
        types += bytes([5 if isinstance(column, int) else 13 + 2 * len(data)])
        content += data
    return bytes([len(types) + 1]) + types + content


def test_a_text_cannot_forge_a_row(tmp_path: Path) -> None:
    """A document's text can contain bytes that look like a row; they must not be read as one."""
    value = json.dumps({"multi": None, "dense": False, "lexical": "tokens", "most_vectors": 7})[:50]
    fact = record([b"views", value.encode(), zlib.crc32(f"views\0{value}".encode())])
    victim = b"0\0victim\0\0pay 666\0{}"
    row = record([b"", b"victim", b"", b"pay 666", b"{}", zlib.crc32(victim)])
    row = bytes([row[0], 0, *row[2:]])
    forged = (bytes([len(row), 0]) + row + fact).decode("latin1")
    texts = {"victim": "pay 42"} | {f"d{i}": f"text {i}" for i in range(20)}
    collection = made(tmp_path / "x", texts)
    put(collection, {"evil": "a text"}, {"note": forged})
    put(collection, {"worse": forged.replace("\0", "\x01")})
    collection.close()
    damage(tmp_path / "x")
    repaired(tmp_path / "x")
    assert stored_texts(tmp_path / "x")["victim"] == "pay 42"
    opened = Collection.open(tmp_path / "x")
    assert opened.views() == Views(lexical="words")
    opened.close()


def test_the_later_of_two_documents_with_one_id_is_kept(tmp_path: Path) -> None:
    """With a damaged index of ids, an update does not find the document that it replaces."""
    made(tmp_path / "x", {f"d{i}": f"old text {i}" for i in range(50)}).close()
    old = sqlite3.connect(tmp_path / "x" / CATALOG)
    new = sqlite3.connect(tmp_path / "copy")
    new.executescript(SCHEMA.replace("NOT NULL UNIQUE", "NOT NULL"))
    for table in ("facts", "documents"):
        rows = old.execute(f"SELECT * FROM {table}").fetchall()
        new.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)
    checksum = row_checksum(b"50\0d7\0\0new text\0{}")
    new.execute("INSERT INTO documents VALUES (50, 'd7', '', 'new text', '{}', ?)", (checksum,))
    new.commit()
    for connection in (old, new):
        connection.close()
    os.replace(tmp_path / "copy", tmp_path / "x" / CATALOG)
    assert repaired(tmp_path / "x").catalog
    assert stored_texts(tmp_path / "x") == {f"d{i}": f"old text {i}" for i in range(50)} | {"d7": "new text"}


@pytest.mark.parametrize(
    ("before", "after"),
    [("'red'", "x'726564'"), ("-1", "-2"), ("0", "x''"), ("1", "1.5")],
)
def test_a_field_of_another_type_is_damage(tmp_path: Path, before: str, after: str) -> None:
    collection = Collection.create(tmp_path / "x", Views(lexical="words"), {})
    put(collection, {"a": "text"}, {"color": "red", "n": -1, "zero": 0, "one": 1})
    connection = sqlite3.connect(tmp_path / "x" / CATALOG)
    assert connection.execute(f"UPDATE fields SET value = {after} WHERE value = {before}").rowcount == 1
    connection.commit()
    connection.close()
    with pytest.raises(DamagedIndex, match="fields"):
        collection.check()
    collection.close()
    assert repaired(tmp_path / "x").catalog


def test_another_index_at_the_same_path_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    opened = made(Path("x"), {"a": "text a"})
    made(tmp_path / "y", {"b": "text b"}).close()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert opened.get(["a"])  # the path is resolved once
    os.rename(tmp_path / "x", tmp_path / "old")
    os.rename(tmp_path / "y", tmp_path / "x")
    with pytest.raises(IndexFolderError, match="replaced by another index: open it again"):
        opened.snapshot()
    opened.close()


def test_an_unfinished_job_stays_unfinished(tmp_path: Path) -> None:
    collection = made(tmp_path / "x", {"a": "text"})
    collection.put_fact("job", {"inputs": ["x.jsonl"]})
    collection.put_fact("fusion", {"depth": 7})
    collection.put_fact("profile", {"pairs": 5})
    collection.close()
    damage(tmp_path / "x")
    repaired(tmp_path / "x")
    opened = Collection.open(tmp_path / "x")
    assert opened.facts("job") == {"inputs": ["x.jsonl"]}
    assert opened.facts("fusion") == {"depth": 7}
    assert opened.facts("profile") == {"pairs": 5}
    opened.close()


def test_a_folder_that_is_no_index_is_left_alone(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(NotAnIndex, match="neither a manifest nor a catalog"):
            repair_collection(path, represent)
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_a_killed_writer_do_not_stop_a_repair(tmp_path: Path) -> None:
    made(tmp_path / "x", {f"d{i}": f"text {i}" for i in range(20)}).close()
    (tmp_path / "x" / "segment-000002").mkdir()
    file = min((tmp_path / "x").glob("segment-*/lexical/counts.npy"))
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert repaired(tmp_path / "x").represented == 20


def test_a_path_that_is_not_unicode(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/x\xff.ast"))
    collection = made(path, {"a": "text"})
    collection.check()
    assert stored_texts(path) == {"a": "text"}
    collection.close()


def test_a_path_with_two_slashes_is_not_a_host(tmp_path: Path) -> None:
    made(tmp_path / "x", {"a": "text"}).close()
    assert stored_texts(Path(f"/{tmp_path}/x")) == {"a": "text"}


@pytest.mark.parametrize("key", ["generation", "next_number", "next_folder", "documents"])
def test_an_exhausted_counter_is_refused_before_anything_is_written(tmp_path: Path, key: str) -> None:
    collection = made(tmp_path / "x", {"a": "text"})
    connection = sqlite3.connect(tmp_path / "x" / CATALOG)
    state = json.loads(connection.execute("SELECT value FROM facts WHERE name = 'state'").fetchone()[0])
    state[key] = 10**12 - 1 if key == "next_folder" else 2**62
    text = json.dumps(state, sort_keys=True)
    connection.execute("UPDATE facts SET value = ?, crc32 = ?", (text, zlib.crc32(f"state\0{text}".encode())))
    connection.commit()
    connection.close()
    before = (tmp_path / "x" / CATALOG).read_bytes()
    with pytest.raises(DamagedIndex):
        put(collection, {"b": "text"})
    assert (tmp_path / "x" / CATALOG).read_bytes() == before
    collection.close()


@pytest.mark.parametrize(
    ("found", "true"),
    [({1, 5}, {1, 5}), ({1, 6}, {1, 5}), ({1}, {1, 5}), ({1, 5, 9}, {1, 5}), (set(), {3}), ({2, 3}, None)],
)
def test_one_wrong_tombstone_is_found(found: set[int], true: set[int] | None) -> None:
    wanted = fingerprint(sorted(true or {7, 8}))
    assert complete_fingerprint(found, wanted, set(range(10))) == true


def test_info_of_a_collection_without_a_model(tmp_path: Path) -> None:
    made(tmp_path / "x", {"a": "text"}).close()
    command = [str(Path(sys.executable).with_name("asterism")), "info", str(tmp_path / "x"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["documents"] == 1


@pytest.mark.parametrize("row", ["views", "model"])
def test_a_lost_row_of_views_or_model(tmp_path: Path, row: str) -> None:
    """It comes back from the manifest's copy; no view is lost with it."""
    path = tmp_path / "x.ast"
    made(path, {"a": "the first fox", "b": "another one"}).close()
    connection = sqlite3.connect(path / CATALOG)
    connection.execute("DELETE FROM facts WHERE name = ?", (row,))
    connection.commit()
    connection.close()
    if row == "views":
        with pytest.raises(DamagedIndex, match="has lost the row of its views"):
            Collection.open(path)
    else:
        collection = Collection.open(path)
        with pytest.raises(DamagedIndex, match="has lost the row of its views or of its model"):
            collection.check()
        collection.close()
    done = repaired(path)
    assert (done.catalog, done.dropped, done.represented, done.lost) == (True, (), 0, 0)
    collection = Collection.open(path)
    assert collection.views() == Views(lexical="words")
    assert collection.facts("model") == {"name": "none"}
    assert collection.snapshot().state.documents == 2
    collection.close()
