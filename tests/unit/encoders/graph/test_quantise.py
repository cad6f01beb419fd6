"""Graphs in 8 bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import asterism
from tests import layouts


@pytest.mark.parametrize(("layout", "least"), [(layouts.bge_m3, 0.99), (layouts.colbert, 0.99), (layouts.xtr, 0.95)])
def test_int8(tmp_path: Path, layout: Callable[[Path], Path], least: float) -> None:
    """On random weights; those of T5, whose attention is not scaled, are nearly chaotic."""
    folder = layout(tmp_path / "model")
    exact, coarse = (
        asterism.load_encoder(folder, precision=precision).encode_document(layouts.TEXTS).multi
        for precision in ("float32", "int8")
    )
    np.testing.assert_array_equal(exact.offsets, coarse.offsets)
    assert np.einsum("ij,ij->i", exact.flat, coarse.flat).mean() > least
