"""Links in the documents lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .documents import DOCUMENTS

LINK = re.compile(r"\]\(([^)#:]*)(#[^)]*)?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    text = CODE.sub("", document.read_text(encoding="utf-8"))
    for target, heading in LINK.findall(text):
        file = (document.parent / target) if target else document
        assert file.exists(), f"{document.name} links to {target}"
        if heading:
            titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.M)
            known = {"#" + re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in known, f"{document.name} links to {target}{heading}"
