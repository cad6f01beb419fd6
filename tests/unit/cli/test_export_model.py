"""The command export-model."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism.encoders.checkpoints.layouts import open_checkpoint
from tests import layouts

from .test_models import run


@pytest.mark.parametrize("layout", ["pylate", "sentence-transformers", None])
def test_command_export_model(layout: str | None, tmp_path: Path) -> None:
    folder = layouts.linear_heads(tmp_path / "model", dense={"pooling": "mean", "layers": ["unit_length"]})
    given = [] if layout is None else ["--layout", layout]
    done = run("export-model", str(folder), str(tmp_path / "export"), *given)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'export'}\n")
    assert done.stderr == "without dense: the layout has token vectors only\n"
    assert open_checkpoint(tmp_path / "export").family == "pylate"
    assert (tmp_path / "export" / "3_MultiVectorMask").exists() == (layout != "pylate")


def test_command_errors(tmp_path: Path) -> None:
    folder = layouts.linear_heads(tmp_path / "model")
    for arguments, message in (
        ([str(folder), str(folder)], f"{folder} exists already, expected a new folder: choose another, or remove it"),
        (["no-model", str(tmp_path / "x")], "'no-model' is neither a folder, nor a known model, nor an id"),
        ([str(tmp_path), str(tmp_path / "x")], f"{tmp_path} is not a model of a known layout"),
        ([str(folder), str(tmp_path / "x"), "--layout", "onnx"], "'onnx' is not a layout to export to, expected"),
        ([str(folder), str(folder / "README.md" / "x")], "x cannot be written (Not a directory): make room, or choose"),
    ):
        if "README" in arguments[1]:
            (folder / "README.md").touch()
        done = run("export-model", *arguments)
        assert done.returncode in (1, 2)
        assert done.stderr.startswith("asterism: ")
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "x").exists()
