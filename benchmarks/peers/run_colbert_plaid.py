"""PLAID as colbert-ai ships it: 2 bits, on the CPU.

Its own indexer reads the given vectors in place of a model's: a stand-in checkpoint answers `docFromText`. The search
is its own `IndexScorer` with the settings its `Searcher` documents per k. It makes as many centroids as fast-plaid
would by default; 4,096 are made here as for the others of the family (`--centroids 0` leaves it alone). Queries go in
with their own lengths: `query_maxlen`, which would cut them at 32 tokens, is set above the longest one.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
from harness import BuildOptions, Documents, Engine, Search, Settings, main

LONGEST_QUERY = 512


class GivenVectors:
    """A checkpoint that knows the answer: passage texts are document numbers."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents

    def docFromText(self, passages: list[str], **_: Any) -> tuple[Any, list[int]]:  # noqa: N802 (their name)
        import torch

        numbers = [int(passage) for passage in passages]
        offsets = self.documents.offsets
        rows = [self.documents.vectors[offsets[i] : offsets[i + 1]] for i in numbers]
        return torch.from_numpy(np.concatenate(rows)).float(), [len(row) for row in rows]


class ColbertPlaid(Engine):
    name = "colbert-ai PLAID"
    distribution = "colbert-ai"
    module = "colbert.indexing.collection_indexer"

    def prepare(self) -> None:
        """Compile its C++ extensions (once per machine) and load them, before any clock starts."""
        # torch looks for ninja on the path, where an environment that was not activated is not.
        os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        super().prepare()
        from colbert.modeling.colbert import ColBERT
        from colbert.search.index_storage import IndexScorer
        from colbert.search.strided_tensor import StridedTensor

        for owner in (ColBERT, IndexScorer, StridedTensor):
            owner.try_load_torch_extensions(use_gpu=False)

    def build(self, documents: Documents, folder: Path, options: BuildOptions) -> Settings:
        import torch
        from colbert.indexing import collection_indexer
        from colbert.infra.config import ColBERTConfig

        random.seed(42)
        torch.manual_seed(42)
        config = ColBERTConfig(index_path=str(folder), nbits=2, dim=documents.vectors.shape[1], rank=0, nranks=1)
        config.total_visible_gpus = 0
        collection_indexer.Checkpoint = lambda *_, **__: GivenVectors(documents)

        class Indexer(collection_indexer.CollectionIndexer):
            def setup(self) -> None:
                super().setup()
                if options.centroids is not None:
                    self.num_partitions = options.centroids
                    self._save_plan()

        indexer = Indexer(config, [str(i) for i in range(len(documents))], verbose=0)
        indexer.run(shared_lists=None)
        return {"nbits": 2, "centroids": indexer.num_partitions, "kmeans_niters": config.kmeans_niters}

    def open(self, folder: Path, threads: int) -> Search:
        import torch
        from colbert.infra.config import ColBERTConfig
        from colbert.search.index_storage import IndexScorer

        torch.set_num_threads(threads)
        scorer = IndexScorer(str(folder), use_gpu=False)
        config = ColBERTConfig(query_maxlen=LONGEST_QUERY)
        config.total_visible_gpus = 0

        def search(query: np.ndarray, k: int, settings: Settings) -> list[int]:
            config.configure(**settings)
            ids, _ = scorer.rank(config, torch.from_numpy(query).unsqueeze(0))
            return ids[:k]

        return search

    def points(self, k: int) -> list[tuple[str, Settings]]:
        def point(probes: int, threshold: float, documents: int) -> Settings:
            return {"ncells": probes, "centroid_score_threshold": threshold, "ndocs": documents}

        # Its three documented settings are for k <= 10, k <= 100 and beyond; only ndocs / 4 reach the full score.
        documented = [point(1, 0.5, 256), point(2, 0.45, 1024), point(4, 0.4, max(4 * k, 4096))]
        points = documented[0 if k <= 10 else 1 if k <= 100 else 2 :]
        points += [point(8, 0.3, 8192), point(16, 0.2, 16384)]
        labels = ["default", "wide", "wider", "widest", "limit"]
        return list(zip(labels, points, strict=False))


if __name__ == "__main__":
    main(ColbertPlaid())
