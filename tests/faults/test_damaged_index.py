"""Any byte of an index changed, any file cut short: `check` says so, and a search raises or gives the right answer.

A byte of the catalog that SQLite does not use can change without being reported, and without changing anything.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from asterism import Collection, Document, TokenSearch, TokenVectors
from asterism.collection.connections import CATALOG
from asterism.collection.policy import Policy
from asterism.errors import AsterismError, NewerFormat
from asterism.storage.manifest import read_manifest, write_manifest
from tests.conftest import ALL_VIEWS, found_in, in_all_views, make_query, make_vectors
from tests.faults.small_index import checked

QUERY = make_query(16)
CONTENT = in_all_views(TokenVectors(QUERY, [0, len(QUERY)]))
TABLES = ("facts", "documents", "fields", "tombstones")
Answers = list[tuple[str, str, float]]


@pytest.fixture(scope="module", params=["flat", "coded"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty documents in two segments, some deleted."""
    path = tmp_path_factory.mktemp("damaged") / "x.ast"
    policy = Policy(flat_tokens=100, graph_documents=20) if request.param == "coded" else None
    collection = Collection.create(path, ALL_VIEWS, {"name": "none"}, policy)
    for part in range(2):
        documents = [Document(f"d{part}-{i}", f"text {i}", metadata={"n": i}) for i in range(30)]
        with collection.writing() as writer:
            writer.add(documents, in_all_views(make_vectors(30, seed=part, shortest=1)))
            if part == 0:
                writer.settle()
    with collection.writing() as writer:
        writer.delete([f"d1-{i}" for i in range(5)])
    collection.close()
    return path


def answers(path: Path) -> list[Answers]:
    collection = Collection.open(path)
    try:
        found = []
        for method in ("exact", "colbert", "xtr"):
            for where in (None, {"n": {"$lt": 9}}):
                hits = collection.search(QUERY, 10, TokenSearch(method=method), where).documents
                found.append([(document.id, document.text, score) for document, score in hits])
        for view in ("dense", "lexical"):
            for where in (None, {"n": {"$lt": 9}}):
                hits = found_in(collection, CONTENT, view, 10, where).documents
                found.append([(document.id, document.text, score) for document, score in hits])
        return found
    finally:
        collection.close()


def files_of(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file() and file.stat().st_size)


def stored(path: Path) -> list[object]:
    """Every row of the catalog, found in every way that SQLite has, and every other file."""
    connection = sqlite3.connect(f"file:{path / CATALOG}?mode=ro", uri=True)
    try:
        rows = [connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES]
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        connection.close()
    return [*rows, *(file.read_bytes() for file in files_of(path) if file.name != CATALOG)]


def is_reported_and_never_wrong(path: Path, expected: list[Answers], what: str, before: list[object]) -> bool:
    """Whether `check` reports the damage. If not, nothing stored may have changed. No answer may ever be wrong."""
    try:
        checked(path)
        reported = False
        assert stored(path) == before, f"check did not see {what}"
    except AsterismError:
        reported = True
    try:
        assert answers(path) == expected, f"a wrong answer after {what}"
    except AsterismError:
        assert reported, f"a search does not work after {what}, which check did not see"
    return reported


def damage(index: Path, tmp_path: Path, flips: int, cuts: int) -> int:
    """How many of them `check` reported."""
    expected, before = answers(index), stored(index)
    checked(index)
    rng = random.Random(5)
    files = files_of(index)
    sizes = np.array([file.stat().st_size for file in files])
    half = [rng.choices(files, weights=sizes)[0] for _ in range(flips // 2)] + [
        rng.choice(files) for _ in range(flips // 2)
    ]
    reported = 0
    for number in range(flips + cuts):
        file = half[number] if number < flips else rng.choice(files)
        copy = tmp_path / "copy.ast"
        shutil.copytree(index, copy)
        target = copy / file.relative_to(index)
        content = bytearray(target.read_bytes())
        place = rng.randrange(len(content))
        if number < flips:
            content[place] ^= rng.randrange(1, 256)
        else:
            content = content[:place]
        target.write_bytes(content)
        what = f"{'a flip in' if number < flips else 'a cut of'} {file.name} at {place}"
        reported += is_reported_and_never_wrong(copy, expected, what, before)
        shutil.rmtree(copy)
    return reported


def test_some_damage(index: Path, tmp_path: Path) -> None:
    assert damage(index, tmp_path, flips=120, cuts=30) > 100


@pytest.mark.slow
def test_much_damage(index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reported = damage(index, tmp_path, flips=2_000, cuts=300)
    with capsys.disabled():
        print(f"\ndamaged: 2,000 flips, 300 cuts: {reported} reported, the others of no meaning; no wrong answer")
    assert reported > 1_500


def test_a_missing_file_is_reported(index: Path, tmp_path: Path) -> None:
    expected, before = answers(index), stored(index)
    for file in files_of(index):
        copy = tmp_path / "copy.ast"
        shutil.copytree(index, copy)
        (copy / file.relative_to(index)).unlink()
        assert is_reported_and_never_wrong(copy, expected, f"{file.name} was removed", before)
        shutil.rmtree(copy)


def test_a_newer_format_says_so(index: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.ast"
    shutil.copytree(index, copy)
    manifest = json.loads(json.loads((copy / "manifest.json").read_text())["content"])
    write_manifest(copy, {**manifest, "version": manifest["version"] + 1})
    with pytest.raises(NewerFormat, match="upgrade"):
        Collection.open(copy)
    assert read_manifest(copy, manifest["kind"], 99).whole("version") == manifest["version"] + 1
