"""PyLate's Voyager index: a graph over all token vectors, then exact MaxSim of the documents it meets.

PyLate recommends its PLAID index, but that is a wrapper of fast-plaid (run_fast_plaid.py measures that one directly;
the older Stanford backend behind it is deprecated), so its own other index is run here. Documented defaults: M=64,
ef_construction=200, ef_search=200, 100 neighbours per query token. As it comes, the class reads its two id mappings
from disk again at every query, which takes time in proportion to the collection: the runner keeps them in memory, to
the engine's favour. Vectors stay whole (float32), so with enough neighbours it approaches the exact answer.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from harness import BuildOptions, Documents, Engine, Search, Settings, main


class PylateVoyager(Engine):
    name = "PyLate Voyager"
    distribution = "pylate"
    module = "pylate.indexes"

    def prepare(self) -> None:
        super().prepare()
        import voyager  # noqa: F401 (pylate imports it only when an index is made)
        from pylate import retrieve  # noqa: F401

    def build(self, documents: Documents, folder: Path, options: BuildOptions) -> Settings:
        from pylate import indexes

        index = indexes.Voyager(index_folder=str(folder), embedding_size=documents.vectors.shape[1])
        # It takes no half floats. Views of one float32 copy: np.split makes no other.
        whole = Documents(documents.vectors.astype(np.float32), documents.offsets, documents.tokens)
        index.add_documents([str(i) for i in range(len(documents))], whole.each())
        return {"M": 64, "ef_construction": 200, "storage": "float32"}

    def open(self, folder: Path, threads: int) -> Search:
        import torch
        from pylate import indexes, retrieve

        torch.set_num_threads(threads)
        index = indexes.Voyager(index_folder=str(folder))
        documents, embeddings = index._load_documents_ids_to_embeddings(), index._load_embeddings_to_documents_ids()
        index._load_documents_ids_to_embeddings = lambda: documents
        index._load_embeddings_to_documents_ids = lambda: embeddings
        retriever = retrieve.ColBERT(index=index)

        def search(query: np.ndarray, k: int, settings: Settings) -> list[int]:
            index.ef_search = settings["ef_search"]
            found = retriever.retrieve([query], k=k, k_token=settings["k_token"], device="cpu")
            return [int(result["id"]) for result in found[0]]

        return search

    def points(self, k: int) -> list[tuple[str, Settings]]:
        return [
            ("default", {"k_token": 100, "ef_search": 200}),
            ("wide", {"k_token": 200, "ef_search": 400}),
            ("wider", {"k_token": 500, "ef_search": 1000}),
            ("widest", {"k_token": 1000, "ef_search": 2000}),
        ]


if __name__ == "__main__":
    main(PylateVoyager())
