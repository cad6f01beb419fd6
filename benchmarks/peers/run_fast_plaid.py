"""fast-plaid: PLAID in Rust over libtorch.

Built with 4 bits, its default. Its default number of centroids (16 times the square root of the number of vectors,
down to a power of two) takes more than ten minutes of k-means for two million vectors on two cores, so 4,096 are made;
`create` has no argument for it, hence the wrapped k-means. `--centroids 0` leaves it alone.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from harness import BuildOptions, Documents, Engine, Search, Settings, main


class FastPlaid(Engine):
    name = "fast-plaid"
    distribution = "fast_plaid"
    module = "fast_plaid.search.fast_plaid"

    def build(self, documents: Documents, folder: Path, options: BuildOptions) -> Settings:
        import torch
        from fast_plaid.search import fast_plaid

        if options.centroids is not None:
            fast_plaid.compute_kmeans = partial(fast_plaid.compute_kmeans, num_partitions=options.centroids)
        index = fast_plaid.FastPlaid(index=str(folder), device="cpu")
        index.create([torch.from_numpy(vectors) for vectors in documents.each()], nbits=4)
        return {"nbits": 4, "centroids": options.centroids or "default"}

    def open(self, folder: Path, threads: int) -> Search:
        import torch
        from fast_plaid.search import fast_plaid

        torch.set_num_threads(threads)
        index = fast_plaid.FastPlaid(index=str(folder), device="cpu")

        def search(query: np.ndarray, k: int, settings: Settings) -> list[int]:
            tensor = torch.from_numpy(query).unsqueeze(0)
            found = index.search(tensor, top_k=k, show_progress=False, **settings)
            return [document for document, _ in found[0]]

        return search

    def points(self, k: int) -> list[tuple[str, Settings]]:
        return [
            ("default", {"n_ivf_probe": 8, "n_full_scores": 4096}),
            # Its default scores most of a small collection in full: fewer cost less and may lose nothing.
            ("lean", {"n_ivf_probe": 8, "n_full_scores": 1024}),
            ("wide", {"n_ivf_probe": 16, "n_full_scores": 4096}),
            ("wider", {"n_ivf_probe": 32, "n_full_scores": 8192}),
            ("widest", {"n_ivf_probe": 64, "n_full_scores": 16384}),
        ]


if __name__ == "__main__":
    main(FastPlaid())
