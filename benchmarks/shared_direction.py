"""Vectors that share a direction, as those of many models do: an offset is added to all, and they are normalised again.

Their mean cosine is then 0.95. Queries get the same offset. Recall on such vectors stands beside recall on those given.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

COSINE = 0.95
SAMPLE = 20_000
CHUNK = 100_000


def add_offset(rows: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Rows (n, d) and an offset (d,) -> (n, d) float32 of unit length."""
    moved = rows.astype(np.float32) + offset
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def choose_offset(rows: np.ndarray, cosine: float = COSINE) -> np.ndarray:
    """(d,) in a random direction, as long as gives this mean cosine; found by bisection on a sample."""
    sample = rows[:: max(1, len(rows) // SAMPLE)]
    direction = np.random.default_rng(0).normal(size=rows.shape[1])
    direction = (direction / np.linalg.norm(direction)).astype(np.float32)
    short, long = 0.0, 64.0
    for _ in range(30):
        length = (short + long) / 2
        reached = np.square(add_offset(sample, length * direction).mean(axis=0)).sum() >= cosine
        short, long = (short, length) if reached else (length, long)
    return np.float32(long) * direction


def make_shared(vectors: Path) -> Path:
    """A folder beside the benchmark's vectors that holds them with an offset; made once."""
    to = vectors.with_name(f"{vectors.name}-shared")
    if (to / "query_offsets.npy").exists():
        return to
    to.mkdir(exist_ok=True)
    flat = np.load(vectors / "documents.npy", mmap_mode="r")
    offset = choose_offset(flat)
    moved = np.lib.format.open_memmap(to / "documents.npy", "w+", np.float16, flat.shape)
    for first in range(0, len(flat), CHUNK):
        moved[first : first + CHUNK] = add_offset(flat[first : first + CHUNK], offset)
    moved.flush()
    np.save(to / "queries.npy", add_offset(np.load(vectors / "queries.npy"), offset))
    for name in ("document_offsets", "document_tokens", "query_offsets"):
        shutil.copy(vectors / f"{name}.npy", to)
    return to
