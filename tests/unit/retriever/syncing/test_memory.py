"""Facts about files that are lost, forged or older than the documents: a file is read again, and nothing else."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from asterism import Retriever
from asterism.errors import DamagedIndex
from asterism.retriever.syncing.memory import KnownFile, KnownFolder
from asterism.storage.byte_correction import row_checksum

from .contents import content_afresh, content_of

WRONG: list[dict[str, Any]] = [
    {},
    {"stamp": None},
    {"stamp": "abc", "sha256": "0" * 64, "chunking": [200, 0], "passages": 1},
    {"stamp": [1, 2], "sha256": "0" * 64, "chunking": [200, 0], "passages": 1},
    {"stamp": [1, 2, 3], "sha256": 7, "chunking": [200, 0], "passages": 1},
    {"stamp": [10**400, -1, 1.5], "sha256": "0" * 64, "chunking": [10**400, 0], "passages": 1},
    {"stamp": [1, 2, 3], "sha256": "0" * 64, "chunking": [200, 0], "passages": 10**400},
    {"stamp": [1, 2, 3], "sha256": "0" * 64, "chunking": [200, 0], "passages": True},
    {"stamp": [1, 2, 3], "sha256": "0" * 64, "chunking": {"tokens": 200}, "passages": 1},
    {"stamp": [1, 2, 3], "sha256": "0" * 64, "chunking": [200, 0], "passages": 0, "reason": ["x"]},
    {"stamp": [1, 2, 3], "sha256": "0" * 64, "chunking": [200, 0], "passages": 0, "reason": "binary", "detail": 1},
]


def forge(retriever: Retriever, name: str, value: dict[str, Any] | None) -> None:
    """Change a fact in the file itself, with a right checksum."""
    with sqlite3.connect(retriever.path / "catalog.sqlite") as connection:
        connection.execute("DELETE FROM facts WHERE name = ?", (name,))
        if value is not None:
            text = json.dumps(value)
            checksum = row_checksum(f"{name}\0{text}".encode())
            connection.execute("INSERT INTO facts VALUES (?, ?, ?)", (name, text, checksum))
    connection.close()


@pytest.mark.parametrize("fact", [None, *WRONG], ids=range(len(WRONG) + 1))
def test_a_wrong_fact(
    retriever: Retriever, notes: Path, tmp_path: Path, settled: None, fact: dict[str, Any] | None
) -> None:
    retriever.sync([notes])
    forge(retriever, "file:notes/a.md", fact)
    retriever.check()
    report = retriever.sync()
    assert (report.replaced, report.unchanged) == (1, 2)
    assert content_of(retriever) == content_afresh(tmp_path / "y.ast", notes)


def test_a_lost_fact_of_a_removed_file(retriever: Retriever, notes: Path) -> None:
    retriever.sync([notes])
    forge(retriever, "file:notes/a.md", None)
    (notes / "a.md").unlink()
    assert retriever.sync().removed == 1
    assert "notes/a.md#1" not in retriever


def test_a_fact_of_a_file_that_was_never_there(retriever: Retriever, notes: Path) -> None:
    retriever.sync([notes])
    forge(retriever, "file:notes/../../etc/passwd", {"passages": 1})
    assert retriever.sync().removed == 0
    assert retriever.collection.facts("file:notes/../../etc/passwd") == {}


@pytest.mark.parametrize("fact", [{}, {"path": 1}, {"path": "/x", "chunking": {"a": 1}}, {"path": "/x"}])
def test_a_wrong_fact_of_a_folder(retriever: Retriever, notes: Path, fact: dict[str, Any]) -> None:
    """The folder is one that is not known; its files have the names that they had."""
    retriever.sync([notes])
    forge(retriever, "folder:notes", fact)
    report = retriever.sync([notes])
    assert (report.read, report.unchanged) == (0, 3)


def test_a_damaged_fact_is_damage(retriever: Retriever, notes: Path, tmp_path: Path) -> None:
    retriever.sync([notes])
    content = content_of(retriever)
    with sqlite3.connect(retriever.path / "catalog.sqlite") as connection:
        connection.execute("UPDATE facts SET value = replace(value, 'sha256', 'sha000') WHERE name LIKE 'file:%a.md'")
    connection.close()
    with pytest.raises(DamagedIndex):
        retriever.sync()
    with pytest.raises(DamagedIndex):
        retriever.check()
    retriever.close()
    Retriever.repair(retriever.path)
    with Retriever.open(retriever.path) as opened:
        opened.check()
        assert content_of(opened) == content
        report = opened.sync()
        assert (report.read, report.unchanged + report.replaced, report.removed) == (0, 3, 0)
        assert content_of(opened) == content


def test_facts_survive_compaction_and_repair(retriever: Retriever, notes: Path, settled: None) -> None:
    retriever.sync([notes])
    (notes / "a.md").write_text("changed")
    retriever.sync([notes])
    retriever.compact()
    retriever.check()
    assert retriever.sync().unchanged == 3
    retriever.close()
    Retriever.repair(retriever.path)
    with Retriever.open(retriever.path) as opened:
        assert opened.sync().unchanged == 3


@pytest.mark.parametrize("value", WRONG)
def test_wrong_facts_are_none(value: dict[str, Any]) -> None:
    found = KnownFile.from_fact(value)
    assert found is None or found.stamp is not None
    assert KnownFolder.from_fact("notes", value) is None
