"""Reads the files of an index into the arguments of the reference search."""

from __future__ import annotations

import numpy as np

from asterism import TokenIndex, TokenSearch
from asterism.kernels.reference import CodeFormat
from asterism.kernels.reference_search import Plan, ReferenceSearch, StoredTokens
from asterism.views.tokens.search_defaults import fill_in_defaults


def stored_tokens(index: TokenIndex) -> StoredTokens:
    codec = index._codec
    coded = codec.bits < 16
    parts = [index.path / facts.name for facts in index._segments]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([np.load(part / f"{name}.npy") for part in parts])

    if index.settings.fixed:
        offsets = np.arange(len(index) + 1) * index.settings.fixed
    else:
        lengths = np.concatenate([np.diff(np.load(part / "offsets.npy")) for part in parts])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
    return StoredTokens(
        CodeFormat(codec.bits, codec.level_bytes, codec.step, codec.zero, codec.scales_whole_vector),
        codec.centroids.rows,
        codec.centroids.scales,
        codec.signs,
        codec.shared,
        offsets,
        joined("centroids"),
        joined("codes"),
        joined("scales") if coded else None,
        joined("fine") if index.settings.refinement == "float16" else None,
    )


def reference_search(
    index: TokenIndex, query: np.ndarray, k: int, settings: TokenSearch, eligible: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    plan = fill_in_defaults(settings, k, len(index), index.tokens, index.centroids)
    names = Plan.__dataclass_fields__
    eligible = np.ones(len(index), bool) if eligible is None else eligible
    chosen = Plan(**{name: value for name, value in plan.items() if name in names})
    return ReferenceSearch(stored_tokens(index), query, chosen, eligible).search(k)
