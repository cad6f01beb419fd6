"""A search of Python's documentation shows file and lines, and the lines of that file have what was searched for."""

from __future__ import annotations

import ast
import random
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from pydoc_data.topics import topics

import pytest

from asterism import read_documents
from tests.unit.cli.running import ids, on_terminal, run
from tests.unit.cli.shown_places import count_words, find_phrase, has_phrase, parse_places

STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))
MODULES = ("argparse", "bisect", "calendar", "csv", "difflib", "fnmatch", "heapq", "shelve", "statistics", "textwrap")
SYSTEM_DOCUMENTATION = Path("/usr/share/doc")
SUFFIXES = (".txt", ".rst", ".md")
WORDS = ("--views", "lexical", "--language", "en", "-q")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python's language reference, which `help()` shows, as a folder of files; its index is beside it."""
    folder = tmp_path_factory.mktemp("documentation") / "reference"
    folder.mkdir()
    for number, (name, text) in enumerate(sorted(topics.items())):
        (folder / f"{name}{SUFFIXES[number % len(SUFFIXES)]}").write_text(text, encoding="utf-8")
    assert run("index", folder, "--to", folder.with_suffix(".ast"), *WORDS).code == 0
    return folder


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of modules of the standard library, where it is installed."""
    index = tmp_path_factory.mktemp("modules") / "x.ast"
    chosen = [option for name in MODULES for option in ("--include", f"/{name}.py")]
    assert run("index", STANDARD_LIBRARY, "--to", index, *WORDS, *chosen, "--exclude", "site-packages/").code == 0
    return index


def find_phrases(texts: Iterable[str], counts: Counter[str]) -> list[str]:
    """One of each text that has one, in order."""
    return list(dict.fromkeys(filter(None, (find_phrase(text, counts) for text in texts))))


def assert_shown(index: Path, phrase: str, parent: Path) -> None:
    """One of the best hits has the phrase in the lines that are shown."""
    ran = run("search", index, "-", "-k", 5, stdin=phrase.encode())
    places = parse_places(ran.out)
    assert (ran.code, len(places)) == (0, ran.out.count("\n"))
    assert any(has_phrase(phrase, place.read(parent)) for place in places), (phrase, places)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_lines_of_the_language_reference(reference: Path, suffix: str) -> None:
    texts = [file.read_text(encoding="utf-8") for file in sorted(reference.glob(f"*{suffix}"))]
    phrases = find_phrases(texts, count_words(topics.values()))
    assert len(phrases) >= 10
    for phrase in phrases[:10]:
        assert_shown(reference.with_suffix(".ast"), phrase, reference.parent)


@pytest.mark.parametrize("name", MODULES)
def test_lines_of_docstrings(modules: Path, name: str) -> None:
    """Of the module, of its classes and of its functions."""
    passages = [hit["text"] for hit in run("get", modules, *ids(modules), "--json").lines()]
    phrases = find_phrases(read_docstrings(STANDARD_LIBRARY / f"{name}.py"), count_words(passages))
    assert phrases
    for phrase in phrases[:5]:
        assert_shown(modules, phrase, STANDARD_LIBRARY.parent)


def read_docstrings(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield text


def test_every_shown_place_has_the_text_of_its_document(reference: Path) -> None:
    """Also of hits that have only some words of the query."""
    found = run("search", reference.with_suffix(".ast"), "statement name value", "-k", 50, "--json").lines()
    shown = parse_places(run("search", reference.with_suffix(".ast"), "statement name value", "-k", 50).out)
    assert len(found) == len(shown) == 50
    for hit, place in zip(found, shown, strict=True):
        assert has_phrase(hit["text"], place.read(reference.parent))


def test_lines_on_a_terminal(reference: Path) -> None:
    phrase = find_phrase(topics["for"], count_words(topics.values()))
    code, screen = on_terminal("search", reference.with_suffix(".ast"), phrase, "-k", 3)
    places = parse_places(screen)
    assert (code, len(places)) == (0, 3)
    assert any(has_phrase(phrase, place.read(reference.parent)) for place in places)


@pytest.mark.slow
def test_lines_of_the_system_s_documentation(tmp_path: Path) -> None:
    """Texts, zipped or not, of all packages that are installed."""
    if not SYSTEM_DOCUMENTATION.is_dir():
        pytest.skip(f"there is no {SYSTEM_DOCUMENTATION}")
    chosen = [option for glob in ("*.txt", "*.md", "*.rst", "README.gz") for option in ("--include", glob)]
    assert run("index", SYSTEM_DOCUMENTATION, "--to", tmp_path / "x.ast", *WORDS, *chosen).code == 0
    assert run("export", tmp_path / "x.ast", "--to", tmp_path / "all.jsonl", "-q").code == 0
    texts = [document.text for document in read_documents(tmp_path / "all.jsonl")]
    phrases = find_phrases(random.Random(5).sample(texts, 500), count_words(texts))
    assert len(phrases) >= 100
    for phrase in phrases[:100]:
        assert_shown(tmp_path / "x.ast", phrase, SYSTEM_DOCUMENTATION.parent)
