"""asterism index, add, delete."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asterism import Document, EncoderSettings, Retriever, TokenBuild
from asterism.cli import inputs as cli_inputs
from asterism.retriever.jobs import describe_job, start_job
from tests.unit.cli.running import CORPUS, IDS, beir, ids, jsonl, run


def packed(folder: Path) -> list[object]:
    plain = jsonl(folder / "plain.jsonl", CORPUS)
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    return [folder / "corpus.jsonl.gz"]


def tsv(folder: Path) -> list[object]:
    rows = ["id\ttitle\ttext\tyear", *(f"{one['_id']}\t{one['title']}\t{one['text']}\t5" for one in CORPUS)]
    (folder / "corpus.tsv").write_text("\n".join(rows), encoding="utf-8")
    return [folder / "corpus.tsv"]


def several(folder: Path) -> list[object]:
    return [jsonl(folder / "a.jsonl", CORPUS[:1]), jsonl(folder / "b.json", CORPUS[1:])]


@pytest.mark.parametrize("make", [beir, packed, tsv, several])
def test_index_of_files(make: Any, model: Path, tmp_path: Path) -> None:
    ran = run("index", *make(tmp_path), "--to", tmp_path / "x.ast", "--model", model, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines()[0]["documents"] == 3
    assert set(ids(tmp_path / "x.ast")) == IDS


def test_index_of_stdin(model: Path, tmp_path: Path) -> None:
    content = jsonl(tmp_path / "x.jsonl", CORPUS).read_bytes()
    for name, stdin in (("plain", content), ("packed", gzip.compress(content))):
        assert run("index", "-", "--to", tmp_path / name, "--model", model, "-q", stdin=stdin) == (0, "", "")
        assert set(ids(tmp_path / name)) == IDS


def test_index_of_texts(model: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes" / "deep"
    notes.mkdir(parents=True)
    (notes / "fox.md").write_text("# The fox\n\nThe quick fox.\n\nThe lazy dog.")
    (notes.parent / "light.txt").write_text("speed of light")
    assert run("index", notes.parent, "--to", tmp_path / "x.ast", "--model", model, "--quiet").code == 0
    assert ids(tmp_path / "x.ast") == ["notes/deep/fox.md#1", "notes/light.txt#1"]


def test_index_settings_are_kept(model: Path, tmp_path: Path) -> None:
    options = ("--bits", 2, "--precision", "float32", "--seed", 3, "--refinement", "--json")
    ran = run("index", *beir(tmp_path), "--to", tmp_path / "x.ast", "--model", model, *options)
    assert (ran.lines()[0]["bits"], ran.lines()[0]["precision"]) == (2, "float32")


def test_a_finished_index_is_not_indexed_again(folder: Path, model: Path, tmp_path: Path) -> None:
    ran = run("index", *beir(tmp_path), "--to", folder, "--model", model)
    assert (ran.code, ran.out) == (2, "")
    assert "is a finished index: use `asterism add`" in ran.err


def test_an_interrupted_index_goes_on(model: Path, tmp_path: Path) -> None:
    to, settings = tmp_path / "x.ast", ("--model", model, "--bits", 2)
    inputs = beir(tmp_path)
    assert run("index", *inputs, "--to", tmp_path / "whole.ast", *settings).code == 0
    made: dict[str, Any] = {"build": TokenBuild(bits=2), "encoder": EncoderSettings(precision="int8")}
    job = describe_job([str(given) for given in inputs], str(model), **made)
    with Retriever.create(to, model, **made) as begun:
        start_job(begun.collection, job)
        begun.add([Document("fox", CORPUS[0]["text"], metadata={"year": 1999})])
    ran = run("index", *inputs, "--to", to, "--model", model)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"asterism: {to} was begun with other inputs or settings (build): give the same")
    refused = run("index", *inputs, *inputs, "--to", to, *settings)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "is not finished" in run("add", to, *inputs, "--skip-existing").err
    assert "is not finished" in run("search", to, "quick fox").err
    assert run("info", to, "--json").lines()[0]["unfinished"]
    assert ids(to) == ["fox"]
    assert run("index", *inputs, "--to", to, *settings).code == 0
    with Retriever.open(to) as found, Retriever.open(tmp_path / "whole.ast") as whole:
        assert list(found) == list(whole)
        assert not found.info()["unfinished"]
        assert found.search("quick fox").ids == whole.search("quick fox").ids
    assert run("index", *inputs, "--to", to, *settings).code == 2


@pytest.mark.parametrize(
    "stored",
    [
        {
            "views": "None",
            "terms": "None",
            "most_vectors": "0",
            "build": "TokenBuild(bits=4, fixed=0, seed=7)",
            "encoder": "EncoderSettings(precision='int8')",
            "model": "m",
            "inputs": ["corpus.jsonl"],
        },
        {"demo": True, "model": "m"},
        {"settings": [], "inputs": None},
    ],
)
def test_a_job_of_an_earlier_version_is_refused(stored: dict[str, Any], model: Path, tmp_path: Path) -> None:
    to = tmp_path / "x.ast"
    with Retriever.create(to, model) as begun:
        start_job(begun.collection, stored)
    ran = run("index", *beir(tmp_path), "--to", to, "--model", model)
    advice = "choose another folder, or remove it first"
    assert ran == (2, "", f"asterism: {to} was begun by an earlier version of asterism: {advice}\n")
    assert run("info", to, "--json").lines()[0]["unfinished"]


def test_an_index_without_documents_and_job_is_filled(model: Path, tmp_path: Path) -> None:
    """As a kill between the two leaves it."""
    Retriever.create(tmp_path / "x.ast", model).close()
    assert run("index", *beir(tmp_path), "--to", tmp_path / "x.ast", "--model", model).code == 0
    assert set(ids(tmp_path / "x.ast")) == IDS


def test_add(folder: Path, tmp_path: Path) -> None:
    more = jsonl(tmp_path / "more.jsonl", [{"_id": "new", "text": "read a file"}])
    ran = run("add", folder, more)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(f"1 added, 0 replaced, 0 removed, 0 skipped\n{folder}: 4 documents")
    assert "new" in ids(folder)


def test_add_what_is_there(folder: Path, tmp_path: Path) -> None:
    fox = {"_id": "fox", "text": "another fox"}
    more = jsonl(tmp_path / "more.jsonl", [{"_id": "new", "text": "read a file"}, fox])
    ran = run("add", folder, more)
    advice = "use --update to replace it, or --skip-existing"
    assert ran == (2, "", f"asterism: {more}:2: the index has the id 'fox' already: {advice}\n")
    assert set(ids(folder)) == IDS
    ran = run("add", folder, more, "--skip-existing", "--json")
    assert (ran.code, ran.err, ran.lines()[0]["documents"]) == (0, "", 4)
    with Retriever.open(folder) as opened:
        assert opened.get("fox").text != "another fox"
    assert run("add", folder, "-", "--update", "-q", stdin=json.dumps(fox).encode()) == (0, "", "")
    with Retriever.open(folder) as opened:
        assert opened.get("fox").text == "another fox"
        assert len(opened) == 4


@pytest.mark.parametrize("options", [[], ["--update"], ["--skip-existing"]])
def test_inputs_are_parsed_twice(
    folder: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    """Once to find every error before anything is written, once to add."""
    parsed = []
    read = cli_inputs.CheckedInputs._read

    def count(self: cli_inputs.CheckedInputs) -> Iterator[Any]:
        for where, document in read(self):
            parsed.append(document.id)
            yield where, document

    monkeypatch.setattr(cli_inputs.CheckedInputs, "_read", count)
    more = jsonl(tmp_path / "more.jsonl", [{"_id": "new", "text": "read a file"}, {"_id": "last", "text": "a fox"}])
    assert run("add", folder, more, *options, "-q") == (0, "", "")
    assert run("index", more, "--to", tmp_path / "new.ast", "--model", model, "-q") == (0, "", "")
    assert parsed == ["new", "last"] * 4


def test_delete(folder: Path, tmp_path: Path) -> None:
    assert run("delete", folder, "fox", "--json").lines() == [{"deleted": 1, "documents": 2, "dry_run": False}]
    ran = run("delete", folder, "light", "fox")
    assert ran == (2, "", "asterism: there is no document with the id 'fox': nothing was deleted\n")
    assert run("delete", folder, "light", "fox", "--missing-ok").err == f"{folder}: 1 deleted, 1 left\n"
    assert "no ids were given" in run("delete", folder).err


@pytest.mark.parametrize("listed", [b"fox\nlight\n", b"\xef\xbb\xbffox\r\n\r\nlight", b"fox\n\nlight\n\n"])
def test_delete_from_a_list(folder: Path, tmp_path: Path, listed: bytes) -> None:
    (tmp_path / "ids").write_bytes(listed)
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert run("delete", folder, "--from", "-", "-q", stdin=listed) == (0, "", "")
    assert run("delete", copy, "--from", tmp_path / "ids", "-q") == (0, "", "")
    assert ids(folder) == ids(copy) == ["python"]


def test_a_listed_id_may_have_any_character_but_newlines(folder: Path) -> None:
    """str.splitlines would cut this one."""
    run("add", folder, "-", stdin=b'{"_id": "a\\u2028b", "text": "x"}')
    assert run("delete", folder, "--from", "-", "--json", stdin="a\u2028b\n".encode()).lines()[0]["deleted"] == 1
