"""Indexes of every format version give the results that they gave when they were written."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from asterism import Collection, Document
from asterism.collection.format import VERSION
from asterism.errors import DamagedIndex
from tests.conftest import in_all_views, make_vectors
from tests.golden.index_files import HERE, answers

FOLDERS = sorted(path for path in HERE.iterdir() if path.name.startswith("index-") and path.is_dir())


def test_every_format_has_an_index() -> None:
    assert [folder.name for folder in FOLDERS] == [f"index-{version}" for version in range(1, VERSION + 1)]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_golden_index(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    collection = Collection.open(copy)
    collection.check()
    expected = json.loads((HERE / f"{folder.name}.json").read_text())
    assert [[list(hit) for hit in hits] for hits in answers(collection)] == expected
    assert len(list(collection.documents())) == 28
    with collection.writing() as writer:
        writer.add([Document("new", "text")], in_all_views(make_vectors(1, shortest=2)))
        writer.compact()
    collection.check()


@pytest.mark.parametrize("folder", FOLDERS[:-1], ids=lambda path: path.name)
def test_a_damaged_index_is_not_upgraded(folder: Path, tmp_path: Path) -> None:
    """What earlier formats store without a checksum is compared before an upgrade gives it one."""
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    connection = sqlite3.connect(copy / "catalog.sqlite")
    connection.execute("UPDATE fields SET value = 99 WHERE name = 'n' AND value = 5")
    connection.commit()
    connection.close()
    collection = Collection.open(copy)
    for _ in range(2):
        with pytest.raises(DamagedIndex, match="fields"), collection.writing():
            pass
        with pytest.raises(DamagedIndex, match="fields"):
            collection.check()
    collection.close()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_lost_row_of_the_model_is_noticed(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    connection = sqlite3.connect(copy / "catalog.sqlite")
    connection.execute("DELETE FROM facts WHERE name = 'model'")
    connection.commit()
    connection.close()
    collection = Collection.open(copy)
    with pytest.raises(DamagedIndex, match="has lost the row of its views or of its model"):
        collection.check()
    collection.close()
