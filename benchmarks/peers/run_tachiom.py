"""TACHIOM (package `tachiom`): token-aware clustering, then product quantization, under a graph of the centroids.

Built with its documented defaults: it chooses the number of centroids itself. The wheel asks for a newer C library
than many systems have; setup.sh says how it is made to load on an older one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from harness import BuildOptions, Documents, Engine, Search, Settings, main


class Tachiom(Engine):
    name = distribution = module = "tachiom"

    def build(self, documents: Documents, folder: Path, options: BuildOptions) -> Settings:
        import tachiom

        # The half floats go in as bit patterns: that is how its API takes them.
        index = tachiom.Tachiom.build_from_arrays(
            documents.vectors.view(np.uint16), documents.tokens.astype(np.uint32), documents.lengths.astype(np.int32)
        )
        index.save(str(folder / "index.bin"))
        return {"defaults": True, "centroids": index.n_centroids, "pq_subspaces": 32, "hnsw_m": 32}

    def open(self, folder: Path, threads: int) -> Search:
        import tachiom

        index = tachiom.Tachiom.load(str(folder / "index.bin"))
        missing = np.iinfo(np.uint32).max

        def search(query: np.ndarray, k: int, settings: Settings) -> list[int]:
            _, ids = index.search(query, k, **settings)
            return [i for i in ids.tolist() if i != missing]

        return search

    def points(self, k: int) -> list[tuple[str, Settings]]:
        def point(centroids: int, documents: int, beam: int, alpha: float | None) -> Settings:
            return {"k_centroids": centroids, "k_docs_to_score": documents, "ef_search": beam, "alpha": alpha}

        return [
            ("default", point(20, 500, 30, 0.45)),
            # A lower alpha prunes more candidates, none keeps them all.
            ("wide", point(50, 500, 75, 0.45)),
            ("wider", point(50, 1000, 75, 0.6)),
            ("widest", point(100, 2000, 150, 0.7)),
            ("limit", point(200, 8000, 300, None)),
        ]


if __name__ == "__main__":
    main(Tachiom())
