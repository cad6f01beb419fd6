"""What int8 costs: cosine of token vectors with float32, and nDCG@10 of dense search on scifact at both precisions.

make bench-int8-quality      (or: python benchmarks/int8_quality.py --data ../shared/data)
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from pathlib import Path

import numpy as np

import asterism


def lines(file: Path) -> list[dict[str, str]]:
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def judgements(folder: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for file in folder.glob("test.tsv*"):
        with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as stream:
            rows = csv.reader(stream, delimiter="\t")
            next(rows)
            for query, document, grade in rows:
                found.setdefault(query, {})[document] = int(grade)
    return found


def ndcg(ranked: list[str], grades: dict[str, int], depth: int = 10) -> float:
    """nDCG with linear gains, as trec_eval computes it."""
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    gains = np.array([max(grades.get(document, 0), 0) for document in ranked[:depth]])
    ideal = np.sort([grade for grade in grades.values() if grade > 0])[::-1][:depth]
    return float(gains @ discounts[: len(gains)] / (ideal @ discounts[: len(ideal)])) if len(ideal) else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    options = parser.parse_args()
    folder = options.data / "scifact"
    corpus, queries = lines(folder / "corpus.jsonl.gz"), lines(folder / "queries.jsonl.gz")
    judged = judgements(folder / "qrels")
    queries = [query for query in queries if query["_id"] in judged]
    texts = [f"{document.get('title', '')} {document['text']}".strip() for document in corpus]
    vectors = {}
    for precision in ("float32", "int8"):
        encoder = asterism.load_encoder(options.model, precision=precision, long="truncate")
        documents = encoder.encode_document(texts)
        asked = encoder.encode_query([query["text"] for query in queries])
        vectors[precision] = documents
        order = np.argsort(-(asked.dense @ documents.dense.T), axis=1)[:, :10]
        scores = [
            ndcg([corpus[i]["_id"] for i in row], judged[query["_id"]])
            for query, row in zip(queries, order, strict=True)
        ]
        print(f"{precision}: nDCG@10 {100 * np.mean(scores):.2f} on {len(scores)} queries", flush=True)
        if documents.multi is not None:
            found = [
                ndcg(
                    [corpus[i]["_id"] for i in exact_maxsim(asked.multi[q], documents.multi)],
                    judged[query["_id"]],
                )
                for q, query in enumerate(queries)
            ]
            print(f"{precision}: nDCG@10 {100 * np.mean(found):.2f} by MaxSim over the token vectors", flush=True)
    for view in ("multi", "dense"):
        parts = [getattr(vectors[precision], view) for precision in ("float32", "int8")]
        if parts[0] is not None:
            exact, quantised = (part.flat if view == "multi" else part for part in parts)
            cosines = np.einsum("ij,ij->i", exact, quantised)
            low = np.quantile(cosines, 0.01)
            print(f"{view}: {len(cosines)} vectors, mean cosine {cosines.mean():.5f}, 1% below {low:.4f}")


def exact_maxsim(query: np.ndarray, documents: asterism.TokenVectors) -> np.ndarray:
    """The ten best documents."""
    best = np.maximum.reduceat(
        documents.flat @ query.T, np.minimum(documents.offsets[:-1], len(documents.flat) - 1), axis=0
    )
    best[np.diff(documents.offsets) == 0] = -1
    return np.argsort(-best.sum(axis=1))[:10]


if __name__ == "__main__":
    main()
