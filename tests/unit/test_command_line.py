"""The command as people use it: mostly in this process, where it matters in one of its own."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import asterism
from asterism import Document, Retriever
from asterism.cli import application
from asterism.cli.demo import QUESTIONS
from tests import layouts

COMMAND = str(Path(sys.executable).with_name("asterism"))
CORPUS = [
    {"_id": "fox", "title": "", "text": "The quick brown fox jumps over the lazy dog.", "metadata": {"year": 1999}},
    {"_id": "light", "title": "Speed", "text": "Who first measured the speed of light?", "metadata": {"year": 2001}},
    {"_id": "python", "title": "Python", "text": "Run a function every few seconds.", "year": 2020},
]
IDS = {"fox", "light", "python"}


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    def lines(self) -> list[dict[str, Any]]:
        """What --json printed."""
        return [json.loads(line) for line in self.out.splitlines()]


def run(*arguments: object, stdin: bytes = b"") -> Ran:
    """The command in this process, piped."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["asterism", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = application.run()
    return Ran(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def jsonl(path: Path, records: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def ids(folder: Path) -> list[str]:
    with Retriever.open(folder) as opened:
        return [document.id for document in opened]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.colbert(tmp_path_factory.mktemp("models") / "colbert")


@pytest.fixture(scope="module")
def made(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of CORPUS, not to be changed."""
    folder = tmp_path_factory.mktemp("made")
    ran = run("index", jsonl(folder / "corpus.jsonl", CORPUS), "--to", folder / "x.ast", "--model", model)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(f"{folder / 'x.ast'}: 3 documents, ")
    return folder / "x.ast"


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return shutil.copytree(made, tmp_path / "x.ast")


# --- index ---


def beir(folder: Path) -> list[object]:
    return [jsonl(folder / "beir" / "corpus.jsonl", CORPUS).parent]


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
    assert ids(tmp_path / "x.ast") == ["deep/fox.md#1", "light.txt#1"]


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
    with Retriever.create(to, model, build=asterism.TokenBuild(bits=2)) as begun:
        made = {"views": None, "terms": None, "most_vectors": 0, "build": asterism.TokenBuild(bits=2)}
        made["encoder"] = asterism.EncoderSettings(precision="int8")
        job = {name: repr(value) for name, value in made.items()}
        begun.start_job({**job, "model": str(model), "inputs": [str(given) for given in inputs]})
        begun.add([Document("fox", CORPUS[0]["text"], metadata={"year": 1999})])  # type: ignore[arg-type]
    ran = run("index", *inputs, "--to", to, "--model", model)
    assert (ran.code, ran.out) == (2, "")
    assert "was begun with other inputs or settings" in ran.err
    refused = run("index", *inputs, *inputs, "--to", to, *settings)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "is not finished" in run("add", to, *inputs, "--skip-existing").err
    assert "is not finished" in run("search", to, "quick fox").err
    assert run("info", to, "--json").lines()[0]["unfinished"]
    assert ids(to) == ["fox"]
    assert run("index", *inputs, "--to", to, *settings).code == 0
    with Retriever.open(to) as found, Retriever.open(tmp_path / "whole.ast") as whole:
        assert list(found) == list(whole)
        assert found.job() is None
        assert found.search("quick fox").ids == whole.search("quick fox").ids
    assert run("index", *inputs, "--to", to, *settings).code == 2


def test_an_index_without_documents_and_job_is_filled(model: Path, tmp_path: Path) -> None:
    """As a kill between the two leaves it."""
    Retriever.create(tmp_path / "x.ast", model).close()
    assert run("index", *beir(tmp_path), "--to", tmp_path / "x.ast", "--model", model).code == 0
    assert set(ids(tmp_path / "x.ast")) == IDS


# --- add, delete ---


def test_add(folder: Path, tmp_path: Path) -> None:
    more = jsonl(tmp_path / "more.jsonl", [{"_id": "new", "text": "read a file"}])
    ran = run("add", folder, more)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(f"1 added, 0 replaced, 0 skipped\n{folder}: 4 documents")
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


def test_delete(folder: Path, tmp_path: Path) -> None:
    assert run("delete", folder, "fox", "--json").lines() == [{"deleted": 1, "documents": 2}]
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


# --- search ---


def test_search_prints_tabs_when_piped(made: Path) -> None:
    ran = run("search", made, "quick fox")
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert (ran.code, ran.err) == (0, "")
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert {row[2] for row in rows} == IDS
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("method", ["exact", "colbert", "xtr"])
def test_search_as_json(made: Path, method: str) -> None:
    with Retriever.open(made) as opened:
        expected = opened.search("the speed of light", 2, method=method)  # type: ignore[arg-type]
    ran = run("search", made, "the speed of light", "-k", 2, "--method", method, "--json")
    assert (ran.code, ran.err) == (0, "")
    for line, hit in zip(ran.lines(), expected, strict=True):
        assert (line["id"], line["rank"], line["score"]) == (hit.id, hit.rank, hit.score)
        assert (line["title"], line["text"]) == (hit.document.title, hit.document.text)
        assert line["metadata"] == hit.document.metadata


def test_search_with_a_filter(made: Path) -> None:
    where = json.dumps({"year": {"$gte": 2001}})
    found = run("search", made, "fox", "--filter", where, "--json").lines()
    assert {line["id"] for line in found} == {"light", "python"}
    nothing = run("search", made, "fox", "--filter", '{"year": 7}', "--json")
    assert nothing == (0, "", "nothing found: no document matches the filter\n")


def test_search_for_stdin(made: Path) -> None:
    assert run("search", made, "-", stdin=b"quick fox\n").out == run("search", made, "quick fox").out
    assert run("search", made, "-", stdin=b"\xff").err == "asterism: stdin is not UTF-8 (byte 0), expected text\n"


@pytest.mark.parametrize("method", ["exact", "colbert", "xtr"])
def test_search_explained(made: Path, method: str) -> None:
    ran = run("search", made, "quick light", "--explain", "--json", "--method", method)
    for line in ran.lines():
        assert sum(match["similarity"] for match in line["matches"]) == pytest.approx(line["score"], rel=1e-5)
        assert line["imputed"] == 0
        for match in line["matches"]:
            if match["begin"] >= 0:
                assert line[match["field"]][match["begin"] : match["end"]].lower() == match["token"].strip("#")
    plain = run("search", made, "quick light", "--explain", "--method", method).out
    assert len(plain.splitlines()) == sum(1 + len(line["matches"]) for line in ran.lines())


def test_search_in_an_empty_index(folder: Path) -> None:
    assert run("delete", folder, *IDS, "-q").code == 0
    assert run("search", folder, "fox") == (0, "", "nothing found: the index has no documents to search\n")


def test_more_than_there_are(made: Path) -> None:
    ran = run("search", made, "fox", "-k", 4)
    assert ran == (2, "", "asterism: -k is 4, but the index has 3 documents: ask for at most that many\n")


def test_a_moved_model(folder: Path, model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "a")
    content = jsonl(tmp_path / "x.jsonl", CORPUS)
    assert run("index", content, "--to", tmp_path / "moved.ast", "--model", tmp_path / "a").code == 0
    shutil.move(tmp_path / "a", tmp_path / "b")
    ran = run("search", tmp_path / "moved.ast", "fox")
    assert ran.code == 2
    assert "--model" in ran.err
    assert run("search", tmp_path / "moved.ast", "fox", "--model", tmp_path / "b").out.count("\n") == 3


# --- info, check, compact ---


def test_info(made: Path) -> None:
    found = dict(line.split("\t") for line in run("info", made).out.splitlines())
    data = run("info", made, "--json").lines()
    assert len(data) == 1
    assert list(found) == list(data[0])
    assert found["documents"] == str(data[0]["documents"]) == "3"


def test_check(folder: Path) -> None:
    assert run("check", folder) == (0, "", f"{folder}: all 3 documents are as they were written\n")
    assert run("check", folder, "--quiet") == (0, "", "")
    assert run("check", folder, "--json").lines() == [{"path": str(folder), "ok": True, "documents": 3}]
    file = next(folder.rglob("codes.npy"))
    file.write_bytes(file.read_bytes()[:-1])
    for command in (["check", folder], ["search", folder, "fox"]):
        ran = run(*command)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.count("\n") == 1


def test_compact(folder: Path) -> None:
    run("delete", folder, "fox")
    found = run("compact", folder, "--json").lines()[0]
    assert (found["documents"], found["deleted"], found["segments"]) == (2, 0, 1)
    assert found["bytes_before"] > found["bytes"]
    ran = run("compact", folder)
    assert (ran.code, ran.out, ran.err.count(" MB -> ")) == (0, "", 1)


# --- evaluate ---


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Queries that are documents word for word."""
    queries = [{"_id": f"q{i}", "text": one["text"]} for i, one in enumerate(CORPUS)]
    jsonl(tmp_path / "beir" / "queries.jsonl", queries)
    (tmp_path / "beir" / "qrels").mkdir()
    rows = [f"q{i}\t{one['_id']}\t1" for i, one in enumerate(CORPUS)]
    for split in ("test", "dev"):
        text = "\n".join(["query-id\tcorpus-id\tscore", *rows[: 1 if split == "dev" else 3]])
        (tmp_path / "beir" / "qrels" / f"{split}.tsv").write_text(text)
    return tmp_path / "beir"


def test_evaluate_as_a_table(made: Path, judged: Path) -> None:
    ran = run("evaluate", made, "--data", judged)
    table = [line.split("\t") for line in ran.out.splitlines() if not line.startswith("#")]
    notes = [line for line in ran.out.splitlines() if line.startswith("#")]
    assert (ran.code, ran.err) == (0, "")
    assert table[0][:3] == ["method", "nDCG@10", "MRR@10"]
    assert [row[0] for row in table[1:]] == ["exact", "colbert", "xtr", "lexical", "hybrid"]
    assert len({len(row) for row in table}) == 1
    assert notes[0].startswith("# 3 queries, index ")
    assert len(notes) == 1 + 10  # pairs of methods
    assert all("p = " in note for note in notes[1:])


def test_evaluate_as_json_with_runs(made: Path, judged: Path, tmp_path: Path) -> None:
    ran = run("evaluate", made, "--data", judged, "--methods", "exact, xtr", "--json", "--run", tmp_path / "run")
    lines = ran.lines()
    assert (ran.code, ran.err) == (0, "")
    assert [line["method"] for line in lines] == ["exact", "xtr"]
    for line in lines:
        assert (line["queries"], line["Recall@10"]) == (3, 1)
        assert 0 < line["nDCG@10"] <= 1
        assert 0 < line["p50_ms"] <= line["p99_ms"]
        rows = [row.split() for row in (tmp_path / f"run.{line['method']}").read_text().splitlines()]
        assert len(rows) == 9
        assert rows[0][0:2] == ["q0", "Q0"]
        assert rows[0][5] == f"asterism-{line['method']}"
    one = run("evaluate", made, "--data", judged, "--split", "dev", "--methods", "exact", "--run", tmp_path / "one")
    assert one.code == 0
    assert len((tmp_path / "one").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--methods", "bm25"), "method is 'bm25', expected one of 'colbert'"),
        (("--methods", "xtr,xtr"), "expected different methods"),
        (("--split", "train"), "choose one of dev, test"),
        (("--run", "/nowhere/run"), "there is no folder /nowhere"),
    ],
)
def test_evaluate_refuses(made: Path, judged: Path, options: tuple[str, ...], message: str) -> None:
    ran = run("evaluate", made, "--data", judged, *options)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert message in ran.err


def test_evaluate_with_other_documents(made: Path, judged: Path) -> None:
    (judged / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq0\tother\t1")
    ran = run("evaluate", made, "--data", judged)
    assert (ran.code, ran.out) == (2, "")
    assert "index that corpus first" in ran.err


# --- models, pull, demo ---


def test_models_and_pull(minilm: Path) -> None:
    data, plain = run("models", "--json").lines(), run("models").out.splitlines()
    assert len(data) == len(plain) > 5
    assert [line["name"] for line in data if line["default"]] == ["all-MiniLM-L6-v2"]
    assert all(line.count("\t") == 3 for line in plain)
    assert run("pull", "all-MiniLM-L6-v2").out == f"{minilm}\n"
    ran = run("pull", "all-MiniLM")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean 'all-MiniLM-L6-v2'?" in ran.err


def test_demo(minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a few of the docstrings."""
    few = [
        Document("sched.scheduler", "Run functions at given times.", metadata={"kind": "class"}),
        Document("bisect.insort", "Insert item x in list a, and keep it sorted.", metadata={"kind": "function"}),
        Document("shutil.copytree", "Recursively copy a directory tree.", metadata={"kind": "function"}),
    ]
    monkeypatch.setattr("asterism.stdlib_docstrings.stdlib_documents", lambda: iter(few))
    to = tmp_path / "stdlib.ast"
    ran = run("demo", "--to", to)
    assert ran.code == 0
    assert "3 docstrings" in ran.out
    for question in QUESTIONS:
        assert question in ran.out
    assert f"asterism search {to}" in ran.out.replace("\n", "")
    assert "is there already: 3 documents" in " ".join(run("demo", "--to", to).out.split())


# --- the frame ---


def test_version_and_help() -> None:
    assert run("--version") == (0, f"{asterism.__version__}\n", "")
    ran = run("--help")
    assert (ran.code, ran.err) == (0, "")
    for command in ("index", "add", "delete", "search", "evaluate", "info", "check", "compact", "pull", "demo"):
        assert command in ran.out
        assert run(command, "--help").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["search"], "Missing argument 'DIR'"),
        (["index", "x.jsonl"], "Missing option '--to'"),
        (["search", "x", "y", "-k", "many"], "Invalid value for '-k'"),
        (["search", "x", "y", "--nonsense"], "No such option: --nonsense"),
        (["index", "x.jsonl", "--to", "y", "--bits", "3"], "bits is 3, expected one of 1, 2, 4"),
        (["index", "x.jsonl", "--to", "y", "--precision", "int4"], "precision is 'int4'"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("asterism: ")
    assert message in ran.err


# --- processes of their own ---


def environment() -> dict[str, str]:
    return {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "PYTHONWARNINGS": "error"}


def on_terminal(*arguments: object) -> tuple[int, str]:
    """The command on a pseudo-terminal, which is its stdin, stdout and stderr."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)], stdin=its, stdout=its, stderr=its, env=environment(), start_new_session=True
    )
    os.close(its)
    shown = b""
    try:
        while block := os.read(ours, 65536):
            shown += block
    except OSError:  # Linux: nobody writes any more
        pass
    os.close(ours)
    return process.wait(60), shown.decode()


def test_a_piped_process(made: Path) -> None:
    done = subprocess.run([COMMAND, "search", made, "quick fox", "--json"], capture_output=True, env=environment())
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == run("search", made, "quick fox", "--json").out
    wrong = subprocess.run([COMMAND, "search", made, b"\xff"], capture_output=True, env=environment())
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count(b"\n")) == (2, b"", 1)


def test_a_reader_that_stops_early(made: Path) -> None:
    process = subprocess.Popen([COMMAND, "info", made], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) in (0, -signal.SIGPIPE)


def test_an_output_that_cannot_be_written(made: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([COMMAND, "search", made, "fox", "--json"], stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"No space left" in done.stderr


def test_documents_do_not_command_the_terminal(model: Path, tmp_path: Path) -> None:
    wild = jsonl(
        tmp_path / "x.jsonl", [{"_id": "a", "title": "t\x1b]0;x\x07", "text": "quick \x1b[31m [/red] fox \x9b2J"}]
    )
    assert run("index", wild, "--to", tmp_path / "x.ast", "--model", model).code == 0
    for options in ((), ("--explain",)):
        shown = run("search", tmp_path / "x.ast", "quick fox", *options).out
        assert not set(shown) & {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))}
        assert "␛]0;x␇" in shown


def test_a_query_that_the_model_cannot_read(minilm: Path, tmp_path: Path) -> None:
    texts = jsonl(tmp_path / "x.jsonl", [{"_id": "a", "text": "the speed of light"}])
    assert run("index", texts, "--to", tmp_path / "x.ast").code == 0
    assert "does not know 100% of the query" in run("search", tmp_path / "x.ast", "ความเร็วแสง").err
    assert run("search", tmp_path / "x.ast", "light").err == ""


def test_an_empty_folder_is_as_good_as_none(model: Path, tmp_path: Path) -> None:
    (tmp_path / "x.ast").mkdir()
    assert run("index", *beir(tmp_path), "--to", tmp_path / "x.ast", "--model", model).code == 0


def test_documents_without_words_are_no_answers(model: Path, tmp_path: Path) -> None:
    texts = jsonl(tmp_path / "x.jsonl", [{"_id": "a", "text": ""}, {"_id": "b", "text": "fox"}])
    assert run("index", texts, "--to", tmp_path / "x.ast", "--model", model).code == 0
    assert all(line["score"] is not None for line in run("search", tmp_path / "x.ast", "fox", "--json").lines())


def test_on_a_terminal(made: Path, model: Path, tmp_path: Path) -> None:
    code, shown = on_terminal("index", *beir(tmp_path), "--to", tmp_path / "x.ast", "--model", model)
    assert code == 0
    assert "indexing" in shown
    assert "3/3" in shown
    code, shown = on_terminal("search", made, "quick fox", "--explain")
    assert code == 0
    assert "\x1b[" in shown
    for word in ("answered by", "similarity", "documents in"):
        assert word in shown
    code, shown = on_terminal("info", made)
    assert code == 0
    assert "\t" not in shown
    assert "documents" in shown


@pytest.fixture
def long_work(model: Path, tmp_path: Path) -> Iterator[tuple[list[str], Path, subprocess.Popen[str]]]:
    """A command that indexes four batches, when the first is there."""
    to = tmp_path / "x.ast"
    content = jsonl(tmp_path / "long.jsonl", [{"_id": f"d{i}", "text": f"the fox {i}"} for i in range(4000)])
    arguments = ["index", str(content), "--to", str(to), "--model", str(model)]
    process = subprocess.Popen(
        [COMMAND, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    deadline = time.monotonic() + 60
    while not list(to.glob("segment-*/segment.json")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield arguments, to, process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_index_goes_on(long_work: Any, number: signal.Signals) -> None:
    arguments, to, process = long_work
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    if number == signal.SIGINT:
        assert process.returncode == 1
        assert "documents are in" in err.splitlines()[-2]
        assert err.splitlines()[-1] == "asterism: stopped"
        assert "Traceback" not in err
    with Retriever.open(to) as opened:
        opened.check()
        there = len(opened)
        assert there % 256 == 0
        assert there < 4000
        assert opened.job() is not None
    assert run(*arguments, "--quiet") == (0, "", "")
    assert sorted(ids(to)) == sorted(f"d{i}" for i in range(4000))
    assert run(*arguments).code == 2
