"""The corpus of the demo."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from asterism.documents import stdlib_docstrings
from asterism.documents.document import Document
from asterism.documents.stdlib_docstrings import read_stdlib_documents


@pytest.fixture(scope="module")
def corpus() -> dict[str, Document]:
    return {document.id: document for document in read_stdlib_documents()}


def test_size_and_order(corpus: dict[str, Document]) -> None:
    started = time.process_time()
    documents = list(read_stdlib_documents())
    assert time.process_time() - started < 5
    assert len(documents) > 3000
    assert [document.id for document in documents] == sorted(corpus)  # so no id is there twice
    assert documents == list(corpus.values())


def test_a_method_in_python(corpus: dict[str, Document]) -> None:
    enter = corpus["sched.scheduler.enter"]
    assert enter.title.startswith("sched.scheduler.enter(delay, priority, action, argument=()")
    assert enter.text.startswith("A variant that specifies the time as a relative time.")
    assert enter.metadata == {"kind": "method", "module": "sched"}


def test_c_modules(corpus: dict[str, Document]) -> None:
    assert "Delay execution for a given number of seconds" in corpus["time.sleep"].text
    assert corpus["time.sleep"].metadata == {"kind": "function", "module": "time"}
    assert corpus["math.hypot"].title == "math.hypot"
    assert corpus["itertools.chain"].metadata["kind"] == "class"
    assert corpus["itertools.chain.from_iterable"].metadata["kind"] == "method"
    assert "translation table" in corpus["builtins.str.maketrans"].text
    assert "builtins.IOError" not in corpus  # another name of OSError


def test_kinds(corpus: dict[str, Document]) -> None:
    assert {document.metadata["kind"] for document in corpus.values()} == {"module", "class", "function", "method"}
    assert corpus["textwrap"].metadata == {"kind": "module", "module": "textwrap"}
    assert corpus["json.decoder.JSONDecoder"].title.startswith("json.decoder.JSONDecoder(*, object_hook=None")
    assert corpus["textwrap.dedent"].title == "textwrap.dedent(text)"
    assert corpus["ipaddress.IPv4Address.is_multicast"].title == "ipaddress.IPv4Address.is_multicast"  # a property


def test_only_public_things(corpus: dict[str, Document]) -> None:
    parts = {part for id in corpus for part in id.split(".")}
    assert not [part for part in parts if part.startswith("_")]
    assert not parts & {"test", "tests", "idlelib", "lib2to3", "turtledemo", "antigravity", "this", "readline"}
    assert {id.split(".")[0] for id in corpus} <= sys.stdlib_module_names


def test_files_that_cannot_be_parsed(tmp_path: Path) -> None:
    contents = [b"def f(:", b"\0", b"\xff", b"# coding: nonsense", b"(" * 10_000, b"x = '\\d'"]
    for number, content in enumerate(contents):
        (tmp_path / f"{number}.py").write_bytes(content)
        entries = list(stdlib_docstrings._parse_file("x", tmp_path / f"{number}.py"))
        assert entries == ([("x", "x", "module", None)] if number == 5 else [])
    assert list(stdlib_docstrings._parse_file("x", tmp_path / "missing.py")) == []


def test_signatures(tmp_path: Path) -> None:
    source = '''
class C:
    """c"""
    def __init__(self, a=1): "d"
    def m(self, a, /, b, *, c=[]): "d"
    def n(self=None): "d"
    @classmethod
    def k(cls, a): "d"
    @staticmethod
    def s(a): "d"
    @property
    def p(self): "d"
    class D:
        "d"
        def _private(self): "d"
if True:
    async def f(*args: int): "d"
else:
    def g(): "d"
try:
    pass
except ImportError:
    def h():
        "d"
        def inner(): "d"
'''
    file = tmp_path / "x.py"
    file.write_text(source)
    titles = [(title, kind) for _, title, kind, docstring in stdlib_docstrings._parse_file("x", file) if docstring]
    assert titles == [
        ("x.C(a=1)", "class"),
        ("x.C.m(a, /, b, *, c=[])", "method"),
        ("x.C.n()", "method"),
        ("x.C.k(a)", "method"),
        ("x.C.s(a)", "method"),
        ("x.C.p", "method"),
        ("x.C.D", "class"),
        ("x.f(*args: int)", "function"),
        ("x.g()", "function"),
        ("x.h()", "function"),
    ]
