"""Folders of BGE-M3."""

from __future__ import annotations

from pathlib import Path

import pytest

import asterism
from asterism.errors import CheckpointError
from tests import layouts


@pytest.mark.parametrize("head", ["colbert_linear.pt", "sparse_linear.pt"])
def test_a_head_must_be_there(tmp_path: Path, head: str) -> None:
    folder = layouts.bge_m3(tmp_path / "model")
    (folder / head).unlink()
    with pytest.raises(CheckpointError, match=rf"{head} is missing"):
        asterism.load_encoder(folder)
