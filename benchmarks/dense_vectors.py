"""Dense vectors of debian_desc_en by the default model, made once: documents, more documents, queries.

Of a description the first 220 characters are one document; what follows in some of them is a document of its own, for
a later batch. Short texts, because time and recall of a search do not depend on their length and encoding does.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CHARACTERS = 220
LONG = 300  # characters of a text that has enough left for a second document
MORE = 5_000
QUERIES = 1_000


@dataclass(frozen=True)
class DenseVectors:
    """documents (54,615, d), more (5,000, d), queries (1,000, d), all float32 of length one."""

    documents: np.ndarray
    more: np.ndarray
    queries: np.ndarray


def dense_vectors(data: Path, work: Path) -> DenseVectors:
    """From `work`, where they are made first if they are not there."""
    rows = _lines(data / "debian_desc_en" / "corpus.jsonl.gz")
    later = [row["text"][CHARACTERS : 2 * CHARACTERS] for row in rows if len(row["text"]) > LONG][:MORE]
    first = [f"{row['title']} {row['text']}"[:CHARACTERS] for row in rows]
    asked = [row["text"] for row in _lines(data / "debian_desc_en" / "queries.jsonl.gz")[-QUERIES:]]
    work.mkdir(parents=True, exist_ok=True)
    return DenseVectors(
        _kept(work / "documents.npy", lambda: _encoder().encode_document(first, views=["dense"]).dense),
        _kept(work / "more.npy", lambda: _encoder().encode_document(later, views=["dense"]).dense),
        _kept(work / "queries.npy", lambda: _encoder().encode_query(asked, views=["dense"]).dense),
    )


def _kept(path: Path, make: Callable[[], np.ndarray]) -> np.ndarray:
    if not path.exists():
        np.save(path, make())
    return np.load(path)


def _encoder() -> Any:
    import asterism

    return asterism.load_encoder("all-MiniLM-L6-v2", precision="int8")


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
