"""list, get, export, delete --filter, set-metadata, backup; search --offset and --also."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from asterism import Retriever, read_documents
from tests.full_disks import create_on_full_disk
from tests.unit.cli.running import CORPUS, ids, jsonl, run


def test_list_and_get(made: Path) -> None:
    ran = run("list", made)
    assert (ran.code, ran.err) == (0, "")
    assert [line.split("\t") for line in ran.out.splitlines()] == [
        ["fox", "The quick brown fox jumps over the lazy dog."],
        ["light", "Speed"],
        ["python", "Python"],
    ]
    assert [line["id"] for line in run("list", made, "--json", "--offset", 1, "-k", 1).lines()] == ["light"]
    assert run("list", made, "--filter", '{"year": {"$gt": 2000}}', "--limit", 5).out.count("\n") == 2
    none = run("list", made, "--filter", '{"year": 3}')
    assert none == (0, "", f"nothing to list in {made}: no document matches the filter\n")
    assert run("list", made, "--offset", 3).err == f"nothing to list in {made}: it has 3 documents\n"
    got = run("get", made, "light", "fox", "--json").lines()
    assert [line["id"] for line in got] == ["light", "fox"]
    assert got[0] == {"id": "light", "title": "Speed", "text": CORPUS[1]["text"], "metadata": {"year": 2001}}
    assert (
        run("get", made, "light").out == f'id\tlight\ntitle\tSpeed\nmetadata\t{{"year": 2001}}\n{CORPUS[1]["text"]}\n\n'
    )
    assert [line["id"] for line in run("get", made, "--from", "-", "--json", stdin=b"fox\npython\n").lines()] == [
        "fox",
        "python",
    ]


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "parquet"])
def test_export(made: Path, model: Path, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"all.{ending}"
    if ending == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
    ran = run("export", made, "--to", file, "--json")
    assert ran.lines() == [{"path": str(file), "documents": 3, "bytes": file.stat().st_size}]
    with Retriever.open(made) as retriever:
        stored = retriever.list()
    if ending == "parquet":
        rows = parquet.read_table(file).to_pylist()
        assert [(row["_id"], row["title"], row["text"], json.loads(row["metadata"])) for row in rows] == [
            (one.id, one.title, one.text, one.metadata) for one in stored
        ]
    else:
        assert list(read_documents(file)) == stored
        assert run("index", file, "--to", tmp_path / "again.ast", "--model", model).code == 0
        with Retriever.open(tmp_path / "again.ast") as again:
            assert again.list() == stored
    file.unlink()
    some = run("export", made, "--to", file, "--filter", '{"year": 2001}')
    assert some.err.startswith(f"{file}: 1 documents, ")
    assert {path.name for path in tmp_path.iterdir()} <= {file.name, "again.ast"}


def test_export_and_backup_replace_nothing(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text("mine")
    assert "exists already" in run("export", folder, "--to", mine).err
    (tmp_path / "link").symlink_to(folder)
    for inside in (folder, tmp_path / "link"):
        assert "lies in the index" in run("export", folder, "--to", inside / "x.jsonl").err
        assert "lies in the index" in run("backup", folder, inside / "copy.ast").err
    assert mine.read_text() == "mine"
    assert run("check", folder, "-q").code == 0


def test_export_on_a_full_disk_is_no_wrong_use(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asterism.files.whole_files.create_file", create_on_full_disk)
    ran = run("export", folder, "--to", tmp_path / "x.jsonl")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "x.jsonl cannot be written (No space left on device)" in ran.err
    assert not (tmp_path / "x.jsonl").exists()


def test_delete_by_filter(folder: Path) -> None:
    some = ("--filter", '{"year": {"$gte": 2001}}')
    assert run("delete", folder, *some, "--dry-run").err == f"{folder}: 2 would be deleted, 1 would be left\n"
    assert run("delete", folder, "fox", "--dry-run", "--json").lines() == [
        {"deleted": 1, "documents": 2, "dry_run": True}
    ]
    assert len(ids(folder)) == 3
    assert run("delete", folder, *some, "--json").lines() == [{"deleted": 2, "documents": 1, "dry_run": False}]
    assert ids(folder) == ["fox"]
    assert run("delete", folder, "--filter", '{"year": 3}').err == f"{folder}: 0 deleted, 1 left\n"


def test_set_metadata(folder: Path) -> None:
    ran = run("set-metadata", folder, '{"lang": "en", "year": null}', "light", "fox")
    assert ran == (0, "", f"{folder}: 2 of 3 documents changed\n")
    assert run("search", folder, "speed", "--filter", '{"lang": "en"}', "--json").out.count("\n") == 2
    ran = run("set-metadata", folder, '{"new": [1]}', "--filter", '{"year": 2020}', "--replace", "--json")
    assert ran.lines() == [{"changed": 1, "documents": 3}]
    assert [line["metadata"] for line in run("list", folder, "--json").lines()] == [
        {"lang": "en"},
        {"lang": "en"},
        {"new": [1]},
    ]


def test_backup(folder: Path, tmp_path: Path) -> None:
    ran = run("backup", folder, tmp_path / "copy.ast")
    assert ran.code == 0
    assert ran.err.startswith(f"{tmp_path / 'copy.ast'}: 3 documents, ")
    assert run("check", tmp_path / "copy.ast").code == 0
    assert run("backup", folder, tmp_path / "copy.ast").code == 2


def test_pages_of_a_search(made: Path) -> None:
    whole = run("search", made, "fox", "--method", "exact", "--json").lines()
    pages = [
        run("search", made, "fox", "--method", "exact", "-k", 1, "--offset", start, "--json").lines()
        for start in range(3)
    ]
    assert [page[0] for page in pages] == whole
    past = run("search", made, "fox", "--offset", 3)
    assert (past.code, past.out, past.err) == (0, "", "nothing found: there are no more hits after the first 3\n")


def test_several_indexes(made: Path, folder: Path, tmp_path: Path) -> None:
    found = run("search", made, "quick fox", "--also", folder, "--json")
    assert (found.code, found.err) == (0, "")
    assert {line["index"] for line in found.lines()} == {str(made), str(folder)}
    assert [line["rank"] for line in found.lines()] == [1, 2, 3, 4, 5, 6]
    plain = run("search", made, "quick fox", "--also", folder, "-k", 1, "--method", "exact").out.split("\t")
    assert plain[4].strip() in {str(made), str(folder)}
    shutil.copytree(made, tmp_path / "third.ast")
    three = run("search", made, "fox", "--also", folder, "--also", tmp_path / "third.ast", "--offset", 4, "--json")
    assert len(three.lines()) == 5


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["get"], "no ids were given"),
        (["get", "wolf"], "there is no document with the id 'wolf'"),
        (["list", "--offset", "-1"], "--offset is -1"),
        (["list", "-k", "-1"], "--limit is -1"),
        (["list", "--filter", "[]"], "--filter is '[]', expected an object"),
        (["search", "fox", "--offset", "-1"], "offset is -1"),
        (["search", "fox", "--also", "nowhere"], "nowhere does not exist"),
        (["search", "fox", "--also", ".", "--explain"], "--explain and --also were given"),
        (["search", "fox", "--also", ".", "--calibrated", "--method", "exact"], "expected hybrid"),
        (["export", "--to", "x.csv"], "x.csv has another ending, expected .jsonl, .jsonl.gz or .parquet"),
        (["get", "\udcff"], "there is no document with the id '\\udcff'"),
        (["export", "--to", "nowhere/x.jsonl"], "cannot be written (there is no folder nowhere)"),
        (["delete"], "no ids were given, expected some"),
        (["delete", "fox", "--filter", "{}"], "both ids and --filter were given, expected one of them"),
        (["delete", "wolf", "--dry-run"], "'wolf': nothing was deleted"),
        (["set-metadata", "{}"], "no ids were given"),
        (["set-metadata", "[]", "fox"], "the metadata is '[]', expected an object"),
        (["set-metadata", "{", "fox"], "the metadata is not usable JSON"),
        (["set-metadata", "{}", "wolf"], "'wolf': nothing was changed"),
    ],
)
def test_wrong_use(command: list[str], message: str, made: Path) -> None:
    ran = run(command[0], made, *command[1:])
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert message in ran.err


def test_a_line_that_could_not_be_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asterism.documents.writing.LONGEST_LINE", 300)
    source = jsonl(tmp_path / "x.jsonl", [{"_id": "a", "text": "fox"}, {"_id": "long", "text": "fox " * 100}])
    assert run("index", source, "--to", tmp_path / "x.ast", "--views", "lexical").code == 0
    ran = run("export", tmp_path / "x.ast", "--to", tmp_path / "y.jsonl")
    assert ran.code == 2
    assert "document 'long' takes a line of" in ran.err
    assert not (tmp_path / "y.jsonl").exists()
