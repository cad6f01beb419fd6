"""Dense segments: what is refused, what is damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asterism.errors import DamagedIndex, VectorsError
from asterism.views.dense.searcher import DenseSearcher
from asterism.views.dense.writer import write_dense
from tests.unit.views.dense.rows import D, forged, normal, segment_of


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "row 7 has NaN"), (np.inf, "row 7 has NaN"), (65_520, "row 7 exceeds float16"), (1e20, "row 7")],
)
def test_what_cannot_be_stored_is_refused(tmp_path: Path, value: float, message: str) -> None:
    rows = normal(10)
    rows[7, 2] = value
    with pytest.raises(VectorsError, match=message):
        write_dense(tmp_path / "x", [rows[:4], rows[4:]], 10, D, False, 1)


@pytest.mark.parametrize("rows", [normal(10, d=D + 1), normal(10)[0], normal(10)[None]])
def test_wrong_shapes_are_refused(tmp_path: Path, rows: np.ndarray) -> None:
    with pytest.raises(VectorsError, match=r"expected \(documents, 16\)"):
        write_dense(tmp_path / "x", [rows], 10, D, False, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_no_numbers_are_damage(tmp_path: Path, value: float) -> None:
    facts = segment_of(tmp_path / "x", normal(30)).facts
    segment = forged(tmp_path / "x", facts, "vectors", lambda values: values.__setitem__(slice(None), value))
    with pytest.raises(DamagedIndex, match="NaN or infinity"):
        DenseSearcher(tmp_path, [segment]).search(normal(1), 5)
