"""The golden indexes: one folder for each format version, with the results of searches.

Results are those of the version that wrote it, but for BM25: deleted documents do not count in its statistics any more.

python -m tests.golden.index_files     writes the newest; older ones are kept as they are
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

from asterism import Collection, Document, TokenSearch, TokenVectors
from asterism.collection.collection import VERSION
from asterism.collection.policy import Policy
from tests.conftest import ALL_VIEWS, found_in, in_all_views

HERE = Path(__file__).parent
QUERIES = 3
DIMENSIONS = 16
METHODS = ("exact", "colbert", "xtr")
FILTER = {"$or": [{"n": {"$gte": 20}}, {"tags": "even"}]}


def unit(rng: np.random.Generator, count: int) -> np.ndarray:
    vectors = rng.normal(size=(count, DIMENSIONS))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def answers(collection: Collection) -> list[list[tuple[str, float]]]:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(QUERIES):
        query = unit(rng, 4)
        for method in METHODS:
            for where in (None, FILTER):
                hits = collection.search(query, 5, TokenSearch(method=method), where).documents
                found.append([(document.id, score) for document, score in hits])
    for view in ("dense", "lexical"):
        for where in (None, FILTER) if view in collection.views().names else ():
            content = in_all_views(TokenVectors(unit(rng, 4), [0, 4]))
            hits = found_in(collection, content, view, 5, where).documents
            found.append([(document.id, score) for document, score in hits])
    return found


def write(folder: Path) -> None:
    rng = np.random.default_rng(1)
    collection = Collection.create(folder, ALL_VIEWS, {"name": "golden"}, Policy(flat_tokens=64, graph_documents=10))
    for batch in range(2):
        documents = [
            Document(f"é{n}", f"Text {n} — テキスト", "title" * (n % 2), {"n": n, "tags": ["even", "odd"][n % 2]})
            for n in range(15 * batch, 15 * batch + 15)
        ]
        with collection.writing() as writer:
            writer.add(documents, in_all_views(TokenVectors.from_documents([unit(rng, 1 + n % 7) for n in range(15)])))
            writer.settle() if batch == 0 else writer.delete(["é3", "é22"])
    (HERE / f"{folder.name}.json").write_text(json.dumps(answers(collection), indent=1, ensure_ascii=False) + "\n")
    collection.close()
    for name in ("writer.lock", "writer.queue"):
        (folder / name).unlink()


if __name__ == "__main__":
    target = HERE / f"index-{VERSION}"
    shutil.rmtree(target, ignore_errors=True)
    write(target)
