"""The roads through the code stay short; `scripts/count_hops.py --list` names every hop."""

from __future__ import annotations

from pathlib import Path

from scripts.count_hops import MOST_FOR_A_DOCUMENT, MOST_FOR_A_QUERY, count_hops


def test_hops(minilm: Path, tmp_path: Path) -> None:
    roads = count_hops(tmp_path / "x.ast", minilm)
    (document, _), (query, _) = roads["document to bytes"], roads["query to hybrid answer"]
    assert 40 < len(document) <= MOST_FOR_A_DOCUMENT
    assert 30 < len(query) <= MOST_FOR_A_QUERY
