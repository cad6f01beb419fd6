"""README, quickstart, howto and encoders run as they stand, and print what they show."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from scripts.docs_output import BLOCK, COMMAND, DOCUMENTS, Folder, find_blocks, make_output, same

from .documents import ROOT

SCRIPT = ROOT / "scripts" / "docs_output.py"
DATA = ROOT.parent / "shared" / "data"
LANGUAGES = {"sh", "console", "python", "text"}
BY_HAND = ("make ", "pip ", "python3 -m venv ", "asterism pull ")


def check(name: str, *options: str, warnings: str = "error") -> None:
    command = [sys.executable, "-W", warnings, str(SCRIPT), "--check", str(ROOT / name), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", DOCUMENTS)
def test_up_to_date(name: str, minilm: Path) -> None:
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "data"), [("README.md", "scifact"), ("docs/howto.md", "cranfield")])
def test_up_to_date_with_data(name: str, data: str, minilm: Path) -> None:
    if not (DATA / data).exists():
        pytest.skip(f"{DATA / data} is not here")
    check(name, "--data", str(DATA))


@pytest.mark.reference
def test_up_to_date_with_packages(minilm: Path) -> None:
    """What needs a package runs where it is installed; what these packages warn of while imported is theirs."""
    if not any(find_spec(package) for package in ("langchain_core", "llama_index", "mteb")):
        pytest.skip("neither LangChain nor LlamaIndex nor mteb is installed")
    check("docs/howto.md", warnings="default")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_block_is_run(name: str) -> None:
    """Every fence says what it is, and what only a person runs are commands that install or test the project."""
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = [block for _, block in find_blocks(text)]
    assert blocks
    fences = sum(line.startswith("```") for line in text.splitlines())
    outputs = sum(bool(block.shown) for block in blocks)
    assert fences == 2 * (len(blocks) + outputs), "a fence names no language"
    assert {block.language for block in blocks} <= LANGUAGES
    for block in blocks:
        assert block.language != "text", f"line {block.line}: output that nothing prints"
        assert all(word == "by-hand" or word.startswith("needs=") for word in block.words)
        if block.by_hand and block.language == "sh":
            assert all(line.startswith(BY_HAND) for line in block.body.splitlines())
        elif block.by_hand:
            assert "path/to/" in block.body, "it could be run"


def rewritten(tmp_path: Path, text: str) -> str:
    """What a document becomes."""
    document, folder = tmp_path / "x.md", tmp_path / "run"
    document.write_text(text, encoding="utf-8")
    folder.mkdir()
    return make_output(document, Folder(folder, None))


def test_console_output_is_replaced(tmp_path: Path) -> None:
    wrong = "a\n```console\n$ echo one |\n  cat\ntwo\n\n$ echo x > y\n\n$ cat y\n```\nb\n"
    right = "a\n```console\n$ echo one |\n  cat\none\n\n$ echo x > y\n\n$ cat y\nx\n```\nb\n"
    assert rewritten(tmp_path, wrong) == right


def test_python_output_is_replaced(tmp_path: Path) -> None:
    program = "```python\nprint('one')\n```\n"
    right = program + "\n```text\none\n```\n\nend\n"
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert rewritten(tmp_path / "a", program + "\n```text\ntwo\n```\n\nend\n") == right
    assert rewritten(tmp_path / "b", program + "\nend\n") == right


def test_what_is_missing_is_left_alone(tmp_path: Path) -> None:
    text = "```sh needs=no_such_thing\nexit 3\n```\n```sh by-hand\nexit 3\n```\n"
    assert rewritten(tmp_path, text) == text


def test_a_failing_command_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="exit 3"):
        rewritten(tmp_path, "```sh\nexit 3\n```\n")


def test_only_times_and_sizes_may_vary() -> None:
    assert same("4 documents, 0.1 MB, in 1.1 s", "4 documents, 0.2 MB, in 12 s")
    assert same("2 documents in 5.7 ms (colbert)", "2 documents in 1,105.7 ms (colbert)")
    assert not same("4 documents, in 1.1 s", "5 documents, in 1.1 s")
    assert same("6.780 michelson", "6.782 michelson")  # other processors round otherwise
    assert not same("6.780 michelson", "6.783 michelson")
    assert not same("6.780 michelson", "6.78 michelson")
    assert not same("6.780 michelson", "6.780 darwin")


def test_patterns() -> None:
    (block,) = BLOCK.finditer("```python needs=x\na\n```\n\n```text\nb\n```\n")
    assert (block["language"], block["words"], block["body"], block["shown"]) == ("python", " needs=x", "a\n", "b\n")
    commands = [found["command"] for found in COMMAND.finditer("$ a |\n  b\nout\n$ c\n")]
    assert commands == ["a |\n  b", "c"]
