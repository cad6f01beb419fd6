"""The codec of a token index: trained on the sample, written once, opened with the index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DamagedIndex, VectorsError
from ..settings import TokenBuild
from .clustering import Centroids, centroid_count, train
from .residual_codec import UNIT_BYTES, ResidualCodec, gaussian_codec, padded_width, quantile_codec, rotation_signs
from .storage import REMEDY, fsync_folder, load_verified, write_arrays
from .token_stream import Sample

WIDEST_VECTOR = 4096
LEVELS = 64

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
    rows = sample.take_rotated(signs, padded_width(sample.dimensions, settings.bits), threads)
    count = min(settings.centroids, len(rows)) or centroid_count(sample.tokens, len(rows))
    centroids = train(rows, count, rng, threads)
    if quantile and settings.bits < 16:
        return quantile_codec(centroids, rows, settings.bits, threads)
    return gaussian_codec(centroids, signs, rows, settings.bits)


def write_codec(folder: Path, codec: ResidualCodec) -> dict[str, Any]:
    """Into a new folder; returns what the manifest keeps."""
    folder.mkdir()
    own = {name: getattr(codec, name) for name in OWN_ARRAYS}
    files = write_arrays(folder, own | {name: getattr(codec.centroids, name) for name in CENTROID_ARRAYS})
    fsync_folder(folder)
    return {"dimensions": codec.dimensions, "step": codec.step, "zero": codec.zero, "files": files}


def open_codec(folder: Path, facts: dict[str, Any], settings: TokenBuild) -> ResidualCodec:
    """Read whole and verified: it is small, and everything depends on it."""

    def loaded(arrays: dict[str, tuple[npt.DTypeLike, int]]) -> dict[str, npt.NDArray[Any]]:
        return {
            name: load_verified(folder / f"{name}.npy", facts["files"][f"{name}.npy"], dtype, dimensions)
            for name, (dtype, dimensions) in arrays.items()
        }

    centroids = Centroids(dimensions=facts["dimensions"], **loaded(CENTROID_ARRAYS))
    own = loaded(OWN_ARRAYS)
    count, groups = len(centroids.half_norms), len(centroids.group_rows)
    width = padded_width(centroids.dimensions, settings.bits)
    consistent = (
        centroids.rows.shape == (count + 1, width)
        and centroids.scales.shape == (count + 1,)
        and centroids.group_rows.shape == (groups, width)
        and centroids.group_scales.shape == centroids.group_half_norms.shape == (groups,)
        and centroids.starts.shape == (groups + 1,)
        and int(centroids.starts[0]) == 0
        and int(centroids.starts[-1]) == count
        and bool((np.diff(centroids.starts.astype(np.int64)) >= 0).all())
        and own["signs"].shape[1] == centroids.dimensions
        and own["level_bytes"].shape == (UNIT_BYTES,)
        and int(max(own["level_bytes"].max(), centroids.rows.max(), centroids.group_rows.max())) < LEVELS
        and own["cutoffs"].shape == (2**settings.bits - 1 if settings.bits < 16 else 0,)
    )
    if not consistent:
        raise DamagedIndex(f"{folder} holds arrays that do not belong together: {REMEDY}")
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
