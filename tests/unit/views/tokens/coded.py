"""Codecs, and collections of token vectors that are coded by them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from asterism import TokenVectors, Views
from asterism.collection.collection import Collection
from asterism.collection.policy import Policy
from asterism.documents.document import Document
from asterism.settings import TokenBuild
from tests.conftest import make_vectors, tokens_only

CODECS: list[dict[str, Any]] = [
    {"bits": 1},
    {"bits": 2},
    {"bits": 4},
    {"bits": 2, "levels": "quantile"},
    {"bits": 4, "levels": "quantile"},
    {"bits": 16},
    {"bits": 32},
    {"bits": 2, "refinement": "float16"},
    {"bits": 4, "fixed": 4},
]


def name_of(codec: dict[str, Any]) -> str:
    return "-".join(str(value) for value in codec.values())


def collection_of(path: Path, vectors: TokenVectors, build: dict[str, Any], parts: int = 1) -> Collection:
    """Documents "0", "1" … in so many segments."""
    collection = Collection.create(path, Views(TokenBuild(**build, threads=1)), {}, Policy(flat_tokens=40))
    edges = np.linspace(0, len(vectors), parts + 1).astype(int)
    with collection.writing() as writer:
        for i, (a, b) in enumerate(itertools.pairwise(edges)):
            documents = [Document(str(j), "text") for j in range(a, b)]
            writer.add(documents, tokens_only(TokenVectors.from_documents([vectors[j] for j in range(a, b)])))
            if i == 0:
                writer.settle()
    assert len(collection.snapshot().segments) == parts
    return collection


def vectors_for(build: dict[str, Any], documents: int = 60, d: int = 24, seed: int = 2) -> TokenVectors:
    fixed = build.get("fixed", 0)
    return make_vectors(documents, d, longest=fixed or 7, seed=seed, shortest=fixed)
