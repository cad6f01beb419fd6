"""LanceDB's multivector column: IVF_PQ over all token vectors, a document's vectors in one row.

The defaults of its documentation: IVF_PQ with the cosine distance (the only one it has for multivectors), dimension /
16 sub-vectors of 8 bits, and 20 probes. One setting is ours: it derives the number of partitions from the number of
rows, which here are documents; the documented size of 8,192 entries per partition is applied to the token vectors that
are really in them. The column is float32: it also takes float16, but on a processor without half-float arithmetic that
makes the build eight times slower and the search no faster. Without `refine_factor` the quantized scores decide; with
it, so many times k documents get their exact MaxSim. The index size counts the whole table: a refined search reads it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from harness import BuildOptions, Documents, Engine, Search, Settings, main

PARTITION = 8192


class LanceMultivector(Engine):
    name = "LanceDB multivector"
    distribution = module = "lancedb"

    def build(self, documents: Documents, folder: Path, options: BuildOptions) -> Settings:
        import lancedb
        import pyarrow as pa
        from lancedb.index import IvfPq

        rows, dimensions = documents.vectors.shape
        flat = pa.FixedSizeListArray.from_arrays(pa.array(documents.vectors.astype(np.float32).reshape(-1)), dimensions)
        vectors = pa.ListArray.from_arrays(pa.array(documents.offsets.astype(np.int32)), flat)
        data = pa.table({"id": pa.array(np.arange(len(documents))), "vector": vectors})
        table = lancedb.connect(str(folder)).create_table("documents", data)
        partitions = max(1, rows // PARTITION)
        table.create_index("vector", config=IvfPq(distance_type="cosine", num_partitions=partitions))
        return {"index": "IVF_PQ", "num_partitions": partitions, "num_sub_vectors": dimensions // 16, "float": 32}

    def open(self, folder: Path, threads: int) -> Search:
        import lancedb

        table = lancedb.connect(str(folder)).open_table("documents")

        def search(query: np.ndarray, k: int, settings: Settings) -> list[int]:
            # Left to itself it would send the vectors of every document found along with its id.
            asked = table.search(query, vector_column_name="vector").limit(k).select(["id", "_distance"])
            if "nprobes" in settings:
                asked = asked.nprobes(settings["nprobes"])
            if "refine_factor" in settings:
                asked = asked.refine_factor(settings["refine_factor"])
            ids: list[int] = asked.to_arrow()["id"].to_pylist()
            return ids

        return search

    def points(self, k: int) -> list[tuple[str, Settings]]:
        return [
            ("default", {}),
            ("refined", {"refine_factor": 5}),
            ("wide", {"refine_factor": 20}),
            ("wider", {"nprobes": 64, "refine_factor": 20}),
            ("widest", {"nprobes": 64, "refine_factor": 50}),
        ]


if __name__ == "__main__":
    main(LanceMultivector())
