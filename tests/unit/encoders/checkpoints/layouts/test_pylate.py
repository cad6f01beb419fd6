"""Folders of PyLate."""

from __future__ import annotations

from pathlib import Path

import asterism
from tests import layouts


def test_files_are_told_apart(tmp_path: Path) -> None:
    said = asterism.load_encoder(layouts.pylate(tmp_path / "model")).describe()["files"]
    assert {"model.safetensors", "1_Dense/model.safetensors", "modules.json"} <= set(said)
    assert said["model.safetensors"] != said["1_Dense/model.safetensors"]
