"""Every path, module, name and `make` target that the documents mention exists."""

from __future__ import annotations

import importlib
import re
import subprocess
from pathlib import Path

import pytest

import asterism

from ..test_architecture import MAY_IMPORT, VALUES
from .documents import DOCUMENTS, ROOT

INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FENCE = re.compile(r"^```.*?^```\n", re.M | re.S)
FILE = re.compile(
    r"[\w./*-]+\.(?:py|cpp|hpp|inl|toml|sh)|(?:src|native|tests|benchmarks|experiments|scripts)/[\w./*-]*"
)
DOTTED = re.compile(r"(?<![\w/])asterism((?:\.[A-Za-z_]\w*)+)(?!\w)")
TARGET = re.compile(r"^ *make ([a-z][a-z0-9-]*)", re.M)
NOT_MODULES = {"asterism.json"}  # a file of a checkpoint
# The changelog's names are those of the version that an entry is about.
PRESENT = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]


def files() -> list[str]:
    """What git knows, and what is new and not ignored."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    if not listed:
        pytest.skip("not a clone: its files cannot be listed")
    return [name for name in listed if (ROOT / name).exists()]


def names_in(document: Path) -> list[str]:
    """Code in the text; blocks are run by test_output."""
    return INLINE.findall(FENCE.sub("", document.read_text(encoding="utf-8")))


@pytest.mark.parametrize("document", PRESENT, ids=lambda path: path.name)
def test_files_exist(document: Path) -> None:
    """A path is one from the root, or the end of one: `storage/facts.py`."""
    known = [f"/{name}" for name in files()]
    for code in names_in(document):
        for path in FILE.findall(code):
            pattern = re.escape(path.rstrip("/")).replace(r"\*", "[^/]*")
            end = re.compile(f"/{pattern}(/|$)")
            assert any(end.search(name) for name in known), f"{document.name} mentions {path}"


@pytest.mark.parametrize("document", PRESENT, ids=lambda path: path.name)
def test_modules_exist(document: Path) -> None:
    for code in names_in(document):
        for dotted in DOTTED.findall(code):
            if f"asterism{dotted}" not in NOT_MODULES:
                assert exists(dotted[1:].split(".")), f"{document.name} mentions asterism{dotted}"


def exists(names: list[str]) -> bool:
    """Whether there is such a module or attribute below asterism."""
    found: object = asterism
    path = "asterism"
    for name in names:
        path = f"{path}.{name}"
        try:
            found = getattr(found, name) if hasattr(found, name) else importlib.import_module(path)
        except ModuleNotFoundError:
            return False
    return True


def test_what_does_not_exist_is_noticed() -> None:
    assert exists(["Retriever", "search"])
    assert exists(["views", "tokens", "segment"])
    assert not exists(["indexes"])
    assert not exists(["Retriever", "seek"])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_targets_exist(document: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    targets |= {f"experiments-{script.parent.name}" for script in (ROOT / "experiments").glob("*/run.py")}
    text = document.read_text(encoding="utf-8")
    code = [*INLINE.findall(FENCE.sub("", text)), *FENCE.findall(text), *re.findall(r"^    (.*)$", text, re.M)]
    for target in TARGET.findall("\n".join(code)):
        assert target in targets, f"{document.name} mentions make {target}"


def test_design_says_who_may_import_whom() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    section = text.split("## Who may import whom\n")[1].split("\n## ")[0]
    values = set(re.findall(r"`(\w+)`", section.split("*Values* are")[1].split("|")[0].split(".")[0]))
    assert values == VALUES
    table = {}
    for part, cell in re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.M):
        table[part] = set(re.findall(r"`(\w+)`", cell)) | (values if "*values*" in cell else set())
    assert table == MAY_IMPORT


def test_changelog_says_where_modules_are() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    moved = re.findall(r"^\| `asterism\..* \| (`asterism\..*) \|$", text, re.M)
    assert len(moved) == 8
    for dotted in DOTTED.findall(" ".join(moved)):
        assert exists(dotted[1:].split(".")), f"the changelog mentions asterism{dotted}"
