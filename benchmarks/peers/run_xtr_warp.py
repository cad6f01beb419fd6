"""xtr-warp-rs: the WARP engine for XTR in Rust over libtorch.

Built with 4 bits, its default, and 4,096 centroids: its default number takes more than ten minutes of k-means for two
million vectors on two cores (`--centroids 0` uses it all the same). A search left to itself chooses its own settings
from the index and the query: that is the default point. It scores the way XTR does, with an estimate in place of what
was not probed, so that more probes bring it nearer to MaxSim but never quite there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from harness import BuildOptions, Documents, Engine, Search, Settings, main


class XtrWarp(Engine):
    name = distribution = "xtr-warp-rs"
    module = "xtr_warp"

    def build(self, documents: Documents, folder: Path, options: BuildOptions) -> Settings:
        import torch
        from xtr_warp import XTRWarp

        XTRWarp(index=str(folder)).create(
            [torch.from_numpy(vectors) for vectors in documents.each()],
            device="cpu",
            nbits=4,
            num_partitions=options.centroids,
            show_progress=False,
        )
        return {"nbits": 4, "centroids": options.centroids or "default"}

    def open(self, folder: Path, threads: int) -> Search:
        import torch
        from xtr_warp import XTRWarp

        torch.set_num_threads(threads)
        index = XTRWarp(index=str(folder)).load(device="cpu")

        def search(query: np.ndarray, k: int, settings: Settings) -> list[int]:
            tensor = torch.from_numpy(query).unsqueeze(0)
            found = index.search(tensor, top_k=k, num_threads=threads, show_progress=False, **settings)
            return [document for document, _ in found[0]]

        return search

    def points(self, k: int) -> list[tuple[str, Settings]]:
        # With many probes, the limits it would choose for itself cut the extra ones off again: they are lifted.
        def point(probes: int) -> Settings:
            return {"nprobe": probes, "bound": 4096, "max_candidates": 1 << 20, "centroid_score_threshold": 0.0}

        return [
            ("default", {}),
            ("wide", {"nprobe": 32}),
            ("wider", point(64)),
            ("widest", point(128)),
            ("limit", point(256)),
        ]


if __name__ == "__main__":
    main(XtrWarp())
