"""Shared by the experiments on trained models: a test collection, its vectors by a model, and what a search finds.

A model encodes a collection once; indexes with other bits or fewer vectors are made of the same vectors.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from asterism import Document, TokenIndex, TokenSearch, TokenVectors, load_encoder, read_documents
from asterism.evaluation.datasets import read_evaluation_set
from asterism.evaluation.metrics import measure

MEASURE = "nDCG@10"
K = 10
WARM_UP = 20  # queries


@dataclass(frozen=True)
class TestSet:
    """Judged queries, all documents that are relevant to them, and others; which ones, a hash of their ids decides."""

    name: str
    documents: list[Document]
    queries: dict[str, str]
    judgements: dict[str, dict[str, int]]

    @classmethod
    def read(cls, data: Path, name: str, split: str, queries: int, documents: int) -> TestSet:
        """At most so many queries and, unless more are relevant, documents; 0 for all."""
        judged = read_evaluation_set(data / name, split)
        asked = sorted(judged.queries, key=_hash)[: queries or None]
        judgements = {query: dict(judged.qrels[query]) for query in asked}
        relevant = {id for grades in judgements.values() for id, grade in grades.items() if grade > 0}
        found = list(read_documents(data / name))
        ordered = sorted(found, key=lambda document: (document.id not in relevant, _hash(document.id)))
        kept = ordered[: max(documents, len(relevant)) if documents else None]
        return cls(name, kept, {query: judged.queries[query] for query in asked}, judgements)


def _hash(id: str) -> bytes:
    return hashlib.sha256(id.encode()).digest()


@dataclass(frozen=True)
class EncodedSet:
    """A test set and its token vectors by one model."""

    test: TestSet
    documents: TokenVectors
    queries: TokenVectors

    @classmethod
    def encode(cls, test: TestSet, model: Path) -> EncodedSet:
        """As `asterism index` does: without torch, in int8."""
        encoder = load_encoder(model, precision="int8")
        documents = encoder.encode_document([document.full_text for document in test.documents], views=["multi"]).multi
        queries = encoder.encode_query(list(test.queries.values()), views=["multi"]).multi
        return cls(test, documents, queries)

    @contextmanager
    def index(self, work: Path, bits: int = 4) -> Iterator[TokenIndex]:
        """An index of the vectors for as long as it is needed."""
        work.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=work) as folder:
            yield TokenIndex.build(Path(folder) / "x.tokens", self.documents, bits=bits, seed=7)

    def measure(self, index: TokenIndex, search: TokenSearch) -> tuple[float, float]:
        """nDCG@10 in hundredths, and milliseconds of processor time that a query takes on one thread.

        Processor time, because other programs may run beside it; some queries first bring the files into memory.
        """
        queries = [self.queries[place] for place in range(len(self.queries))]
        index.search_many(queries[:WARM_UP], K, search)
        begin = time.process_time()
        hits = index.search_many(queries, K, search)
        seconds = time.process_time() - begin
        return self.judge(hits.ids, hits.scores), 1000 * seconds / len(queries)

    def judge(self, ids: Sequence[Sequence[int]], scores: Sequence[Sequence[float]]) -> float:
        """Places of documents and their scores, by query -> nDCG@10 in hundredths."""
        rows = (zip(*row, strict=True) for row in zip(ids, scores, strict=True))
        run = {
            query: {self.test.documents[place].id: float(score) for place, score in row if place >= 0}
            for query, row in zip(self.test.queries, rows, strict=True)
        }
        return 100 * float(measure(self.test.judgements, run)[MEASURE].mean())
