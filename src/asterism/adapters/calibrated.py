"""Scores from 0 to 1, which frameworks compare with a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import SettingError
from ..results import Ranking
from ..retriever import Retriever


def search_calibrated(
    index: Retriever, query: str, k: int, method: str | None, filter: Mapping[str, Any] | None
) -> Ranking:
    """A hybrid search with calibrated scores (see HybridSearch); no other method has them."""
    if method not in (None, "hybrid", "hybrid:standard") or len(index.views) < 2:
        asked = f"method is {method!r}" if method not in (None, "hybrid") else f"the index has {index.views[0]} alone"
        raise SettingError(f"scores from 0 to 1 are those of hybrid search over several views, but {asked}")
    fusion = index.fusion if method != "hybrid:standard" else replace(index.fusion, fusion="standard")
    return index.search(query, k, filter=filter, settings=replace(fusion, calibrated=True))
