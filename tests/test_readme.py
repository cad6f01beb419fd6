"""The Python snippets of the README and of the documents run, each document in its own folder.

Snippets that begin with ```python needs=PACKAGE have a test of their own, in the environment that has the packages.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RUN = ["README.md", "docs/encoders.md", "docs/quickstart.md", "docs/howto.md"]
SNIPPET = re.compile(r"```python(?: needs=(\w+))?\n(.*?)```", re.S)
LINK = re.compile(r"\]\(([^)#:]*)(#[^)]*)?\)")


@pytest.mark.parametrize("name", RUN)
def test_snippets(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minilm: Path) -> None:
    """In order; each has only the files that earlier ones made."""
    monkeypatch.chdir(tmp_path)
    document = (ROOT / name).read_text(encoding="utf-8")
    snippets = [snippet for snippet in SNIPPET.finditer(document) if not snippet[1]]
    assert snippets
    for snippet in snippets:
        line = document.count("\n", 0, snippet.start(2))
        exec(compile("\n" * line + snippet[2], str(ROOT / name), "exec"), {"__name__": "__main__"})


@pytest.mark.reference
@pytest.mark.parametrize("package", ["langchain_core", "llama_index", "mteb"])
def test_snippets_with_packages(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minilm: Path) -> None:
    """After the first snippet, whose index they search."""
    pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    document = (ROOT / "docs" / "howto.md").read_text(encoding="utf-8")
    snippets = list(SNIPPET.finditer(document))
    (wanted,) = [snippet for snippet in snippets if snippet[1] == package]
    for snippet in (snippets[0], wanted):
        exec(compile(snippet[2], "docs/howto.md", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("document", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_links_lead_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", document.read_text(encoding="utf-8"), flags=re.S)
    for target, heading in LINK.findall(text):
        file = (document.parent / target) if target else document
        assert file.exists(), f"{document.name} links to {target}"
        if heading:
            titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.M)
            known = {"#" + re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in known, f"{document.name} links to {target}{heading}"
