"""An index of three documents by a tiny random checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import layouts
from tests.unit.cli.running import CORPUS, jsonl, run
from tests.unit.results.conftest import validate

__all__ = ["validate"]  # a fixture


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
