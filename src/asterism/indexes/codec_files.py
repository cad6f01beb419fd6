"""The codec of a token index: trained on the sample, written once, opened with the index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import VectorsError
from ..settings import TokenBuild
from .clustering import Centroids, centroid_count, train
from .residual_codec import ResidualCodec, gaussian_codec, padded_width, quantile_codec, rotation_signs
from .storage import load_verified, write_arrays
from .token_stream import Sample

CODEC = "codec"
WIDEST_VECTOR = 4096

OWN_ARRAYS: dict[str, tuple[npt.DTypeLike, int]] = {
    "signs": (np.float32, 2),
    "level_bytes": (np.uint8, 1),
    "cutoffs": (np.float32, 1),
}
CENTROID_ARRAYS: dict[str, tuple[npt.DTypeLike, int]] = {
    "rows": (np.uint8, 2),
    "scales": (np.float32, 1),
    "half_norms": (np.float32, 1),
    "group_rows": (np.uint8, 2),
    "group_scales": (np.float32, 1),
    "group_half_norms": (np.float32, 1),
    "starts": (np.uint32, 1),
}


def train_codec(sample: Sample, settings: TokenBuild, threads: int) -> ResidualCodec:
    """Rotation, centroids and levels for the sampled vectors."""
    if sample.dimensions > WIDEST_VECTOR:
        raise VectorsError(f"the vectors have {sample.dimensions} dimensions, expected at most {WIDEST_VECTOR}")
    rng = np.random.default_rng(settings.seed)
    quantile = settings.levels == "quantile"
    signs = rotation_signs(sample.dimensions, rng)[: 0 if quantile else None]
    rows = sample.take_rotated(signs, threads)
    count = min(settings.centroids, len(rows)) or centroid_count(sample.tokens, len(rows))
    centroids = train(rows, count, padded_width(sample.dimensions, settings.bits), rng, threads)
    if quantile and settings.bits < 16:
        return quantile_codec(centroids, rows, settings.bits, threads)
    return gaussian_codec(centroids, signs, settings.bits)


def write_codec(folder: Path, codec: ResidualCodec) -> dict[str, Any]:
    """Into folder/codec; returns what the manifest keeps."""
    (folder / CODEC).mkdir()
    own = {name: getattr(codec, name) for name in OWN_ARRAYS}
    files = write_arrays(folder / CODEC, own | {name: getattr(codec.centroids, name) for name in CENTROID_ARRAYS})
    return {"dimensions": codec.dimensions, "step": codec.step, "zero": codec.zero, "files": files}


def open_codec(folder: Path, facts: dict[str, Any], settings: TokenBuild) -> ResidualCodec:
    """Read whole and verified: it is small, and everything depends on it."""

    def loaded(arrays: dict[str, tuple[npt.DTypeLike, int]]) -> dict[str, npt.NDArray[Any]]:
        return {
            name: load_verified(folder / CODEC / f"{name}.npy", facts["files"][f"{name}.npy"], dtype, dimensions)
            for name, (dtype, dimensions) in arrays.items()
        }

    centroids = Centroids(dimensions=facts["dimensions"], **loaded(CENTROID_ARRAYS))
    own = loaded(OWN_ARRAYS)
    return ResidualCodec(
        settings.bits,
        centroids,
        own["signs"],
        own["level_bytes"],
        own["cutoffs"],
        facts["step"],
        facts["zero"],
        scales_whole_vector=settings.levels == "quantile",
    )
