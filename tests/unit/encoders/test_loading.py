"""What cannot be loaded as a model."""

from __future__ import annotations

from pathlib import Path

import pytest

import asterism
from asterism.errors import SettingError, UnknownModel


def test_no_model(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel, match="not a model of a known layout"):
        asterism.load_encoder(tmp_path)
    with pytest.raises(UnknownModel, match="did you mean 'all-MiniLM-L6-v2'"):
        asterism.load_encoder("all-MiniLM-L6-v3")
    with pytest.raises(UnknownModel, match="no folder"):
        asterism.load_encoder(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UnknownModel, match="is a file"):
        asterism.load_encoder(tmp_path / "file")
    with pytest.raises(SettingError, match="did you mean 'precision'"):
        asterism.load_encoder(tmp_path, precison="int8")
