"""The Python of the README and of the documents runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["README.md", "docs/encoders.md"])
def test_snippets(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minilm: Path) -> None:
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.S)
    assert snippets
    for snippet in snippets:
        exec(compile(snippet, name, "exec"), {})
