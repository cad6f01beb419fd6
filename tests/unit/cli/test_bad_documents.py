"""Every bad input through the command: one clear line, with its place if it has one; exit code 2; nothing changed."""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
from pathlib import Path

import pytest

from tests import layouts
from tests.unit.cli.running import CORPUS, Ran, jsonl, run

GOOD = b'{"_id": "good", "text": "a fox"}\n'

# What is on the third line of the input, and what is said of it.
LINES: list[tuple[str, bytes, str]] = [
    ("an id given twice", b'{"_id": "good", "text": "again"}', "the id 'good' came before"),
    ("an id with a newline", b'{"_id": "a\\nb", "text": "x"}', r"the control character '\\n'"),
    ("an id with a tab", b'{"_id": "a\\tb", "text": "x"}', r"the control character '\\t'"),
    ("an id with NUL", b'{"_id": "a\\u0000b", "text": "x"}', r"the control character '\\x00'"),
    ("an id that is empty", b'{"_id": "", "text": "x"}', "the id is empty"),
    ("an id that is a list", b'{"_id": ["a"], "text": "x"}', "expected a string"),
    ("no id", b'{"text": "x"}', "no '_id' or 'id'"),
    ("no text", b'{"_id": "a"}', "no 'text'"),
    ("a text that is null", b'{"_id": "a", "text": null}', "text is a NoneType"),
    ("a text with half a character", b'{"_id": "a", "text": "\\ud800"}', "half a surrogate pair"),
    ("a text with NUL", b'{"_id": "a", "text": "\\u0000"}', "text has a NUL"),
    ("half of an object", b'{"_id": "a", "text": "x"', "not JSON"),
    ("a list", b'["a", "x"]', "a list, expected one JSON object"),
    ("not UTF-8", b'{"_id": "a", "text": "\xff"}', "not UTF-8"),
    ("metadata with NaN", b'{"_id": "a", "text": "x", "metadata": {"n": NaN}}', "NaN is not a JSON number"),
    ("metadata with infinity", b'{"_id": "a", "text": "x", "n": -Infinity}', "-Infinity is not a JSON number"),
    ("metadata that overflow", b'{"_id": "a", "text": "x", "n": 1e999}', "expected a finite number"),
    ("metadata that are a list", b'{"_id": "a", "text": "x", "metadata": [1]}', "metadata is a list"),
    ("metadata that are too deep", b'{"_id": "a", "text": "x", "n": %s%s}' % (b"[" * 200, b"]" * 200), "nested"),
    ("metadata beyond all depth", b'{"_id": "a", "text": "x", "n": %s' % (b"[" * 100_000), "not usable JSON"),
    (
        "a key of 10 MB",
        b'{"_id": "a", "text": "x", "%s": 1}' % (b"k" * 10_000_000),
        "full name of 10,000,000 characters",
    ),
    ("very many fields", b'{"_id": "a", "text": "x", "n": [%s0]}' % (b"0," * 20_000), "more than 10,000 values"),
    ("metadata of 11 MB", b'{"_id": "a", "text": "x", "n": "%s"}' % (b"x" * 11_000_000), "more than 10,000,000 char"),
    ("a number beyond 64 bits", b'{"_id": "a", "text": "x", "n": 9223372036854775808}', "beyond 64 bits"),
]


def files(folder: Path) -> dict[str, str]:
    """Every file with its hash."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file()
    }


def assert_refused(ran: Ran, message: str) -> None:
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("asterism: ")
    assert ran.err.count("\n") == 1
    assert ran.err.endswith("\n")
    assert re.search(message, ran.err), ran.err
    assert len(ran.err) < 500


@pytest.mark.parametrize(("line", "message"), [case[1:] for case in LINES], ids=[case[0] for case in LINES])
@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "stdin"])
def test_a_bad_line(line: bytes, message: str, kind: str, made: Path, model: Path, tmp_path: Path) -> None:
    content = b"\n".join([GOOD.strip(), b"", line, b'{"_id": "after", "text": "y"}'])
    source, stdin = tmp_path / f"x.{kind}", b""
    if kind == "stdin":
        stdin = content
    else:
        source.write_bytes(gzip.compress(content) if kind.endswith(".gz") else content)
    given, name = ("-", "<stdin>") if kind == "stdin" else (source, str(source))
    place = f"asterism: {re.escape(name)}:3: .*{message}"
    there, before = files(tmp_path), files(made)
    assert_refused(run("index", given, "--to", tmp_path / "new.ast", "--model", model, stdin=stdin), place)
    assert_refused(run("add", made, given, stdin=stdin), place)
    assert_refused(run("add", made, given, "--update", stdin=stdin), place)
    assert files(tmp_path) == there
    assert not (tmp_path / "new.ast").exists()
    assert files(made) == before


def test_an_id_in_two_files(made: Path, model: Path, tmp_path: Path) -> None:
    a, b = (jsonl(tmp_path / name, [{"_id": "same", "text": name}]) for name in ("a.jsonl", "b.jsonl"))
    before = files(made)
    assert_refused(
        run("index", a, b, "--to", tmp_path / "new.ast", "--model", model), r"b\.jsonl:1: the id 'same' came before"
    )
    assert_refused(run("add", made, a, b), r"b\.jsonl:1: the id 'same' came before")
    assert not (tmp_path / "new.ast").exists()
    assert files(made) == before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cut.jsonl.gz", gzip.compress(GOOD, mtime=0)[:-8], r"cut\.jsonl\.gz:\d+: cannot be read"),
        ("empty.jsonl", b"\n\n", "no documents, expected at least one"),
        ("x.tsv", b"a\tb\nc\n", r"x\.tsv:2: 1 columns, expected 2"),
        ("x.tsv", b"a\tb\tc\td\n", r"x\.tsv:1: 4 columns"),
        ("x.txt", b"good\nbad \0\n", r"x\.txt: .*not a text"),
        ("x.pdf", b"%PDF-1.4 broken", r"x\.pdf: (not readable as pdf|pdf needs the package)"),
        ("x.md", b"\n", "no documents, expected at least one"),
        ("folder/x.pdf", b"", "no file that can be read, expected at least one"),
    ],
)
def test_a_bad_file(name: str, content: bytes, message: str, made: Path, model: Path, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    given = file.parent if name.startswith("folder") else file
    before = files(made)
    assert_refused(run("index", given, "--to", tmp_path / "new.ast", "--model", model), message)
    assert_refused(run("add", made, given), message)
    assert_refused(run("add", made, tmp_path / "nowhere.jsonl"), r"nowhere\.jsonl does not exist")
    assert not (tmp_path / "new.ast").exists()
    assert files(made) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([""], "the query is empty"),
        (["  \t"], "the query is empty"),
        (["fox", "-k", "0"], "k is 0"),
        (["fox", "-k", "-3"], "k is -3"),
        (["fox", "--method", "bm25"], "method is 'bm25', expected one of 'colbert', 'xtr', 'exact'"),
        (["fox", "--filter", '{"year": {"$near": 5}}'], r"\$near"),
        (["fox", "--filter", '{"year": {"$gte": [5]}}'], "year"),
        (["fox", "--filter", '{"year": {"$in": 5}}'], "expected a list"),
        (["fox", "--filter", '{"year": {"$exists": 1}}'], "expected true or false"),
        (["fox", "--filter", '{"$or": {}}'], r"\$or"),
        (["fox", "--filter", '{"year": NaN}'], "NaN is not a JSON number"),
        (["fox", "--filter", '{"\\ud800": 1}'], "filter"),
        (["fox", "--filter", "[1]"], "--filter is '\\[1\\]', expected an object"),
        (["fox", "--filter", "year=5"], "--filter is not usable JSON"),
        (["fox", "--filter", '{"a": 1, "a": 2}'], "--filter is not usable JSON"),
        (["fox", "--filter", "[" * 100_000], "--filter is not usable JSON"),
        (["fox", "--model", "nonsense"], "neither a folder, nor a known model"),
        (["fox", "--model", "/nowhere"], "there is no folder /nowhere"),
    ],
)
def test_a_bad_search(arguments: list[str], message: str, made: Path) -> None:
    before = files(made)
    assert_refused(run("search", made, *arguments), message)
    assert_refused(run("search", made, *arguments, "--json", "--explain"), message)
    assert files(made) == before


@pytest.mark.parametrize(
    ("query", "message"),
    [(b"\n", "the query is empty"), (b"fox \xff", "not UTF-8")],
    ids=["empty", "not UTF-8"],
)
def test_a_bad_query_from_stdin(query: bytes, message: str, made: Path) -> None:
    assert_refused(run("search", made, "-", stdin=query), message)


def test_a_folder_that_is_no_index(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    content = jsonl(folder / "x.jsonl", CORPUS)
    before = files(tmp_path)
    for place in (folder, content):
        for command in (["search", place, "fox"], ["info", place], ["check", place], ["compact", place]):
            assert_refused(run(*command), "expected a folder that asterism built")
        assert_refused(run("add", place, content), "expected a folder that asterism built")
        assert_refused(run("delete", place, "fox"), "expected a folder that asterism built")
        assert_refused(run("evaluate", place, "--data", folder), "queries.jsonl|BEIR")
        assert_refused(run("index", content, "--to", place, "--model", model), "exists and is not an index")
    assert_refused(run("search", tmp_path / "nowhere", "fox"), "nowhere")
    assert files(tmp_path) == before


def test_options_that_contradict_each_other(made: Path, model: Path, tmp_path: Path) -> None:
    more = jsonl(tmp_path / "x.jsonl", [{"_id": "new", "text": "new"}])
    assert_refused(run("add", made, more, "--update", "--skip-existing"), "expected one of them")
    assert_refused(run("index", "-", "-", "--to", tmp_path / "y.ast", "--model", model), "- was given twice")
    assert_refused(run("index", more, "--to", tmp_path / "y.ast", "--model", ""), "name is empty")


def test_another_model(made: Path, tmp_path: Path) -> None:
    other = layouts.colbert(tmp_path / "other", query_maxlen=16)
    more = jsonl(tmp_path / "x.jsonl", [{"_id": "new", "text": "new"}])
    before = files(made)
    assert_refused(run("search", made, "fox", "--model", other), "other is not the model that .* was built with")
    assert_refused(run("add", made, more, "--model", other), "other is not the model")
    assert_refused(run("index", more, "--to", made, "--model", other), "is a finished index")
    assert files(made) == before


def test_a_model_that_changed_in_its_place(model: Path, tmp_path: Path) -> None:
    mine, content = tmp_path / "mine", jsonl(tmp_path / "x.jsonl", CORPUS)
    shutil.copytree(model, mine)
    assert run("index", content, "--to", tmp_path / "x.ast", "--model", mine).code == 0
    before = files(tmp_path / "x.ast")
    layouts.colbert(mine, query_maxlen=16)
    assert_refused(run("search", tmp_path / "x.ast", "fox"), "mine is not the model")
    assert_refused(run("add", tmp_path / "x.ast", "-", stdin=GOOD), "mine is not the model")
    assert files(tmp_path / "x.ast") == before


def test_a_model_without_token_vectors(tmp_path: Path) -> None:
    dense = layouts.sentence_transformer(tmp_path / "dense")
    content = jsonl(tmp_path / "x.jsonl", CORPUS)
    chosen = ("--model", dense, "--views", "multi")
    assert_refused(run("index", content, "--to", tmp_path / "x.ast", *chosen), "has no multi vectors")
    assert not (tmp_path / "x.ast").exists()


@pytest.mark.parametrize("arguments", [["nobody"], ["fox", "nobody"], [b"\xff".decode("utf-8", "surrogateescape")], []])
def test_a_bad_delete(arguments: list[str], made: Path) -> None:
    before = files(made)
    assert_refused(run("delete", made, *arguments), "nothing was deleted|the id is|no ids were given")
    assert_refused(run("delete", made, "--from", "-", stdin=b"fox\n\xff\n"), "not UTF-8")
    assert_refused(run("delete", made, "--from", "/nowhere"), "/nowhere:1: cannot be read")
    assert files(made) == before
