"""Asterism itself, through the same harness as its peers.

python benchmarks/run_asterism.py --variant 4-bit --vectors DIR --work DIR --out result.json
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from harness import BuildOptions, Documents, Engine, Search, Settings, main

VARIANTS: dict[str, Settings] = {
    "4-bit": {"bits": 4},
    "2-bit": {"bits": 2},
    "4-bit+float16": {"bits": 4, "refinement": "float16"},
    "2-bit quantile levels": {"bits": 2, "levels": "quantile"},
    "4-bit quantile levels": {"bits": 4, "levels": "quantile"},
}


class Asterism(Engine):
    name = distribution = module = "asterism"

    def build(self, documents: Documents, folder: Path, options: BuildOptions) -> Settings:
        from asterism import TokenIndex, TokenVectors

        chosen = VARIANTS[self.variant]
        vectors = TokenVectors(documents.vectors, documents.offsets)
        index = TokenIndex.build(folder / "x.tokens", vectors, **chosen, threads=options.threads)
        return {**chosen, "centroids": index.centroids}

    def open(self, folder: Path, threads: int) -> Search:
        from asterism import TokenIndex, TokenSearch

        index = TokenIndex.open(folder / "x.tokens")

        def search(query: np.ndarray, k: int, settings: Settings) -> list[int]:
            return index.search(query, k, TokenSearch(**settings, threads=threads)).ids.tolist()

        return search

    def points(self, k: int) -> list[tuple[str, Settings]]:
        def colbert(probes: int, candidates: int, confidence: float, rescore: int = 2) -> Settings:
            wanted = max(candidates, 4 * k)
            return {
                "probes": probes,
                "candidates": wanted,
                "refine": wanted // 2,
                "confidence": confidence,
                "rescore": rescore * k,
            }

        points: list[tuple[str, Settings]] = [
            ("default", {}),
            ("least", colbert(4, 256, 0.5)),
            ("less", colbert(4, 512, 1.0)),
            ("lean", colbert(8, 512, 0.25)),
            ("narrow", colbert(8, 1024, 1.75)),
            ("wide", colbert(16, 2048, 3.0, rescore=3)),
            ("wider", colbert(32, 4096, 4.0, rescore=5)),
            ("widest", colbert(64, 16384, 6.0, rescore=10)),
            ("xtr", {"method": "xtr", "imputation": "cluster"}),
            ("xtr wide", {"method": "xtr", "imputation": "cluster", "probes": 128}),
            ("ceiling of the codec", {"method": "exact"}),
        ]
        return [points[-1]] if "quantile" in self.variant else points


if __name__ == "__main__":
    main(Asterism())
