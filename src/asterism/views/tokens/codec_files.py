"""The files of a token index's codec: trained on the sample, written once, read when the index is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import VectorsError
from ...files.new_folders import fsync_path
from ...files.regular_files import is_real_folder
from ...kernels.reference import SharedDirection
from ...settings import TokenBuild
from ...storage.arrays import read_array, write_arrays
from ...storage.facts import Facts, FileFacts
from ...storage.faults import damaged
from .clustering import Centroids, choose_centroid_count, train
from .residual_codec import (
    ROUNDS_OTHER,
    UNIT_BYTES,
    ResidualCodec,
    compute_padded_width,
    draw_rotation_signs,
    make_gaussian_codec,
    make_quantile_codec,
)
from .shared_direction import LARGEST_STRETCH, measure_shared_direction
from .stream import Sample

WIDEST_VECTOR = 4096
LEVELS = 64
LARGEST = 1e17  # bound for values derived from vectors of up to 1e15, in up to 4,096 dimensions
LARGEST_SQUARE = 1e34

MEAN = "mean"
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
    """Choose the rotation and train centroids and levels on the sampled vectors."""
    if sample.dimensions > WIDEST_VECTOR:
        raise VectorsError(f"the vectors have {sample.dimensions} dimensions, expected at most {WIDEST_VECTOR}")
    rng = np.random.default_rng(settings.seed)
    quantile = settings.levels == "quantile"
    signs = draw_rotation_signs(sample.dimensions, rng)[: 0 if quantile else None]
    shared = SharedDirection.none(sample.dimensions) if quantile else measure_shared_direction(sample.copy_evenly())
    width = compute_padded_width(sample.dimensions, settings.bits)
    rows = sample.take_transformed(shared, signs, width, threads)
    count = min(settings.centroids, len(rows)) or choose_centroid_count(sample.tokens, len(rows))
    centroids = train(rows, count, rng, threads)
    if quantile and settings.bits < 16:
        return make_quantile_codec(centroids, rows, settings.bits, threads)
    return make_gaussian_codec(centroids, signs, rows, settings.bits, shared)


def write_codec(folder: Path, codec: ResidualCodec) -> dict[str, Any]:
    """Write a codec into a new folder; returns its entry for the manifest."""
    folder.mkdir()
    own = {name: getattr(codec, name) for name in OWN_ARRAYS} | {MEAN: codec.shared.mean}
    files = write_arrays(folder, own | {name: getattr(codec.centroids, name) for name in CENTROID_ARRAYS})
    fsync_path(folder)
    numbers = {"step": codec.step, "zero": codec.zero, "stretch": codec.shared.stretch}
    return {"dimensions": codec.dimensions, **numbers, "files": files}


def list_codec_files(facts: Facts) -> FileFacts:
    """Sizes and checksums of the codec's files, from the manifest."""
    shared = (MEAN,) if facts.has("stretch") else ()  # the first version of a codec has neither
    return facts.files(f"{name}.npy" for name in (*OWN_ARRAYS, *CENTROID_ARRAYS, *shared))


def open_codec(folder: Path, facts: Facts, settings: TokenBuild) -> ResidualCodec:
    """Read and verify a codec completely: it is small, and everything depends on it."""
    files = list_codec_files(facts)
    if not is_real_folder(folder):
        raise damaged(folder, "is not a folder")

    def load(arrays: dict[str, tuple[npt.DTypeLike, int]]) -> dict[str, npt.NDArray[Any]]:
        return {
            name: read_array(folder / f"{name}.npy", files[f"{name}.npy"], dtype, dimensions)
            for name, (dtype, dimensions) in arrays.items()
        }

    centroids = Centroids(dimensions=facts.whole("dimensions", 1, WIDEST_VECTOR), **load(CENTROID_ARRAYS))
    own = load(OWN_ARRAYS)
    shared = SharedDirection.none(centroids.dimensions)
    if facts.has("stretch"):
        mean = load({MEAN: (np.float32, 1)})[MEAN]
        shared = SharedDirection.from_mean(mean, facts.number("stretch", LARGEST_STRETCH))
    codec = ResidualCodec(
        settings.bits,
        centroids,
        own["signs"],
        own["level_bytes"],
        own["cutoffs"],
        facts.number("step", LARGEST),
        facts.number("zero", 1e30),
        scales_whole_vector=settings.levels == "quantile",
        shared=shared,
    )
    if not (_shapes_fit(codec) and _values_are_usable(codec)):
        raise damaged(folder, "holds arrays that do not fit together")
    return codec


def _shapes_fit(codec: ResidualCodec) -> bool:
    """At least one centroid; the groups cover all of them in order."""
    centroids, bits = codec.centroids, codec.bits
    count, groups = len(centroids.half_norms), len(centroids.group_rows)
    width = compute_padded_width(centroids.dimensions, bits)
    return (
        count > 0
        and groups > 0
        and centroids.rows.shape == (count + 1, width)
        and centroids.scales.shape == (count + 1,)
        and centroids.group_rows.shape == (groups, width)
        and centroids.group_scales.shape == centroids.group_half_norms.shape == (groups,)
        and centroids.starts.shape == (groups + 1,)
        and int(centroids.starts[0]) == 0
        and int(centroids.starts[-1]) == count
        and bool((centroids.starts[1:] > centroids.starts[:-1]).all())
        and codec.signs.shape[1] == centroids.dimensions
        and len(codec.signs) <= ROUNDS_OTHER
        and codec.shared.mean.shape == (centroids.dimensions,)
        and codec.level_bytes.shape == (UNIT_BYTES,)
        and codec.cutoffs.shape == (2**bits - 1 if bits < 16 else 0,)
    )


def _values_are_usable(codec: ResidualCodec) -> bool:
    """Levels in range, signs that are ±1, and numbers whose products stay finite."""
    centroids = codec.centroids
    positive = (centroids.scales, centroids.half_norms, centroids.group_scales, centroids.group_half_norms)
    return (
        int(max(codec.level_bytes.max(), centroids.rows.max(), centroids.group_rows.max())) < LEVELS
        and bool((np.abs(codec.signs) == 1).all())
        and all(bool(((values >= 0) & (values <= LARGEST_SQUARE)).all()) for values in positive)
        and bool((centroids.scales <= LARGEST).all() and (centroids.group_scales <= LARGEST).all())
        and bool((np.abs(codec.cutoffs) <= LARGEST).all() and (codec.cutoffs[1:] >= codec.cutoffs[:-1]).all())
        and codec.step > 0
        and bool((np.abs(codec.shared.mean) <= LARGEST).all())
        and codec.shared.stretch >= 1
    )
