"""What a search by a scorer costs besides the scorer: milliseconds of each stage, for each method.

python benchmarks/cross_search.py [--items 100000] [--anchor-queries 500] [--anchor-items 200] [--calls 200 400]

Scores, words and dense vectors are made from a seed; scores have many directions whose importance falls, and noise.
The scorer reads a table, and its own time is not counted; reading the texts that it is given is. The dense vectors know
half of what the scores depend on. Printed are medians over the queries; recall@10 shows that the searches work.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from asterism import Collection, CrossSearch, Document, FactorisedIndex, Representations, Retriever, TermCounting, Views
from asterism.factorised.anchors import choose_anchors
from asterism.factorised.regression import choose_ridge
from asterism.factorised.table import FOLDER, ScoreTable
from asterism.terms.counting import count_words

DIRECTIONS, DIMENSIONS, NOISE, WORDS = 300, 384, 0.05, 2000
BATCH = 10_000
STAGES = ("prepare", "first stage", "solve")


class TableScorer:
    """Reads the score of a text, whose last word is its number; counts its own seconds."""

    def __init__(self, scores: np.ndarray) -> None:
        self.scores = scores
        self.seconds = 0.0

    def score(self, query: str, texts: Sequence[str]) -> np.ndarray:
        begin = time.perf_counter()
        numbers = [int(text.rsplit(" ", 1)[1]) for text in texts]
        found = self.scores[int(query.rsplit(" ", 1)[1]), numbers]
        self.seconds += time.perf_counter() - begin
        return found


def draw_factors(rng: np.random.Generator, rows: int) -> np.ndarray:
    """(rows, DIRECTIONS): the importance of a direction falls with its number."""
    return (rng.normal(size=(rows, DIRECTIONS)) * np.arange(1, DIRECTIONS + 1) ** -0.5).astype(np.float32)


def draw_texts(rng: np.random.Generator, count: int) -> list[str]:
    """Eight words, and the number of the text."""
    words = rng.integers(0, WORDS, (count, 8))
    return [" ".join([*(f"word{word}" for word in row), str(number)]) for number, row in enumerate(words)]


def build(folder: Path, factors: np.ndarray, texts: Sequence[str]) -> Retriever:
    """An index with words and dense vectors."""
    counting = TermCounting(language="none")
    collection = Collection.create(folder, Views(dense=True, lexical="words", counting=counting), {})
    rng = np.random.default_rng(7)
    turned = rng.normal(size=(DIRECTIONS, DIMENSIONS)).astype(np.float32) / np.sqrt(DIMENSIONS)
    with collection.writing() as writer:
        for start in range(0, len(texts), BATCH):
            part = texts[start : start + BATCH]
            dense = factors[start : start + BATCH] @ turned
            dense += rng.normal(size=dense.shape).astype(np.float32) * dense.std()
            dense /= np.linalg.norm(dense, axis=1, keepdims=True)
            documents = [Document(str(start + number), text) for number, text in enumerate(part)]
            writer.add(documents, Representations(len(part), dense, count_words(part, "none")))
        writer.settle()
    return Retriever(collection)


def store_anchor_scores(retriever: Retriever, rows: np.ndarray, anchor_items: int) -> None:
    """What `asterism cross build` stores, in few blocks."""
    numbers = retriever.collection.snapshot().numbers
    queries = [f"anchor {number}" for number in range(rows.shape[1])]
    table = ScoreTable.create(retriever.path / FOLDER, queries, "float32", {})
    anchors = choose_anchors(rows, anchor_items, "pivots", 1)
    with table.writing() as writer:
        writer.append(numbers, rows)
        writer.finish(numbers, numbers[anchors].tolist(), choose_ridge(rows, anchors, 1))
        print(f"anchors {len(anchors)}, ridge {writer.table.state.ridge:g}, {writer.table.bytes / 1e6:.0f} MB")


def measure(index: FactorisedIndex, scorer: TableScorer, texts: Sequence[str], settings: CrossSearch) -> None:
    """Print a row of the table."""
    seen: list[dict[str, float]] = []
    recalls = []
    for number, text in enumerate(texts):
        scorer.seconds, begin = 0.0, time.perf_counter()
        found = index.search(text, 10, settings=settings)
        total = time.perf_counter() - begin
        stages = {stage: found.timings.get(stage, 0.0) for stage in STAGES}
        texts_read = found.timings["scorer"] - scorer.seconds
        seen.append({**stages, "texts": texts_read, "all": total - scorer.seconds})
        best = set(np.argsort(-scorer.scores[number])[:10].tolist())
        recalls.append(len(best & {int(id) for id in found.ids}) / 10)
    rest = seen[1:]  # the first one prepares
    columns = [float(np.median([one[stage] for one in rest])) * 1000 for stage in rest[0]]
    least = min(one["all"] for one in rest) * 1000
    print(f"{settings.method:8} {settings.calls:5}", *(f"{value:11.2f}" for value in columns), end=" ")
    print(f"{least:9.2f} {np.mean(recalls):10.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--anchor-queries", type=int, default=500)
    parser.add_argument("--anchor-items", type=int, default=200)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--calls", type=int, nargs="+", default=[200, 400])
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    items = draw_factors(rng, given.items)
    asked = draw_factors(rng, given.anchor_queries + given.queries)
    scores = asked @ items.T
    scores += rng.normal(size=scores.shape).astype(np.float32) * np.float32(NOISE * scores.std())
    scorer = TableScorer(scores[given.anchor_queries :])
    queries = draw_texts(rng, given.queries)
    with tempfile.TemporaryDirectory() as folder:
        retriever = build(Path(folder) / "x.ast", items, draw_texts(rng, given.items))
        store_anchor_scores(retriever, np.ascontiguousarray(scores[: given.anchor_queries].T), given.anchor_items)
        print("\nmilliseconds besides the scorer; `least` is the fastest query, where the machine did nothing else")
        columns = (*STAGES, "texts", "all")
        print(f"{'method':8} {'calls':>5}", *(f"{name:>11}" for name in columns), f"{'least':>9} {'recall@10':>10}")
        with FactorisedIndex(retriever, scorer) as index:
            for method in ("rerank", "anncur", "adacur", "axn"):
                for calls in given.calls:
                    settings = CrossSearch(method=method, calls=calls, first="lexical")
                    measure(index, scorer, queries, settings)


if __name__ == "__main__":
    main()
