"""Notebooks: all kinds of outputs are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asterism.documents.files.chunking import Chunking
from asterism.documents.files.notebooks import LONGEST_OUTPUT
from asterism.documents.files.reading import read_file

NAMED = "<IPython.core.display.HTML object>"


def read_cell(source: str, *outputs: dict[str, Any]) -> list[str]:
    cells = [{"cell_type": "code", "source": source, "outputs": list(outputs)}]
    content = read_file("a.ipynb", json.dumps({"cells": cells}).encode(), Chunking(tokens=8000))
    return [passage.text for passage in content.passages]


def test_the_output_of_an_empty_cell_is_read() -> None:
    assert read_cell("", {"output_type": "stream", "text": ["walrus\n", "seal\n"]}) == ["walrus\nseal"]
    assert read_cell("", {"output_type": "stream", "text": ""}) == []


def test_errors_are_read() -> None:
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no walrus", "traceback": ["\x1b[31m…"]}
    assert read_cell("f()", error) == ["f()\n\nValueError: no walrus"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"text/html": ["<p>a <b>walrus</b></p>", "<p>and a seal</p>"]}, "a walrus\n\nand a seal"),
        ({"text/html": "<p>walrus</p>", "text/plain": NAMED}, "walrus"),
        ({"text/html": "<p>walrus</p>", "text/plain": "   name\n0  walrus"}, "   name\n0  walrus"),
        ({"text/markdown": "**walrus**", "text/plain": "<IPython.core.display.Markdown object>"}, "**walrus**"),
        ({"text/latex": "$walrus$"}, "$walrus$"),
        ({"image/png": "AAAA", "text/plain": "<Walrus object at 0x7f>"}, "<Walrus object at 0x7f>"),
    ],
)
def test_the_best_form_of_an_output_is_read(data: dict[str, Any], expected: str) -> None:
    for kind in ("display_data", "execute_result"):
        assert read_cell("f()", {"output_type": kind, "data": data}) == [f"f()\n\n{expected}"]


def test_long_outputs_are_cut() -> None:
    (text,) = read_cell("f()", {"output_type": "display_data", "data": {"text/html": "<p>walrus" * 100_000}})
    assert len(text) <= len("f()\n\n") + LONGEST_OUTPUT
