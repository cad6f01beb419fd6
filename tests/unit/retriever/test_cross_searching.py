"""Searches by a scorer while documents change, of damaged indexes, and with settings that contradict each other."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import asterism
from asterism.errors import DamagedIndex, InputError, SettingError
from tests import layouts
from tests.unit.factorised.matrices import MatrixScorer, draw_matrix, name_items, name_queries

ITEMS, QUERIES = 200, 30
MATRIX = draw_matrix(QUERIES, ITEMS, 5, 2)
METHODS = ("anncur", "adacur", "axn", "rerank")


def build(path: Path, scorer: MatrixScorer | None = None) -> asterism.FactorisedIndex:
    """Words find every item for q25."""
    given, items = scorer or MatrixScorer(MATRIX), [f"q25 {item}" for item in name_items(ITEMS)]
    return asterism.FactorisedIndex.build(given, items, name_queries(range(20)), path, anchor_items=10)


class Deleting(MatrixScorer):
    """Deletes documents while it scores: at each call one that was scored, and the best of those that were not."""

    def __init__(self, path: Path, calls: int) -> None:
        super().__init__(MATRIX)
        self.retriever = asterism.Retriever.open(path)
        self.left = calls

    def score(self, query: str, texts: list[str]) -> np.ndarray:
        found = super().score(query, texts)
        if self.left:
            self.left -= 1
            asked = {int(text.split()[-1]) for _, text in self.asked}
            others = [item for item in np.argsort(-MATRIX[int(query[1:])]).tolist() if item not in asked]
            self.retriever.delete([texts[0].split()[-1], *map(str, others[:3])], missing_ok=True)
            self.retriever.compact()
        return found


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("calls", [7, 40])
def test_documents_deleted_during_a_search(tmp_path: Path, method: str, calls: int) -> None:
    """The budget holds for all attempts together, no pair is scored twice, and no answer is gone."""
    build(tmp_path / "x.cur").close()
    scorer = Deleting(tmp_path / "x.cur", 4)
    with asterism.FactorisedIndex.open(tmp_path / "x.cur", scorer) as index:
        found = index.search("q25", 5, calls=calls, method=method)
        assert len(scorer.asked) == len(set(scorer.asked)) == found.calls <= calls
        assert all(id in index.retriever for id in found.ids)
        assert len(found) == 5 or calls == 7


def test_a_catalog_without_the_documents(tmp_path: Path) -> None:
    """Damage, not a search without end."""
    build(tmp_path / "x.cur").close()
    with sqlite3.connect(tmp_path / "x.cur" / "catalog.sqlite") as catalog:
        catalog.execute("DELETE FROM documents")
    with (
        asterism.FactorisedIndex.open(tmp_path / "x.cur", MatrixScorer(MATRIX)) as index,
        pytest.raises(DamagedIndex, match="documents that its catalog lacks"),
    ):
        index.search("q25", calls=20)


def test_many_threads_with_many_budgets(tmp_path: Path) -> None:
    with build(tmp_path / "x.cur") as index, ThreadPoolExecutor(32) as team:
        budgets = [2 + number % 19 for number in range(200)]
        found = list(team.map(lambda calls: index.search("q25", 3, calls=calls, method="anncur"), budgets))
        assert [one.calls for one in found] == budgets


def test_settings_that_contradict(tmp_path: Path) -> None:
    with build(tmp_path / "x.cur") as index:
        settings = asterism.CrossSearch(rounds=2, calls=30)
        assert index.search("q25", settings=settings).calls == 30
        found = index.search("q25", settings=settings, calls=20, method="anncur")
        assert (found.calls, found.method) == (20, "anncur")
        with pytest.raises(InputError, match="settings is a dict"):
            index.search("q25", settings={"calls": 30})
        with pytest.raises(SettingError, match="method is 'lexical', but settings is a CrossSearch"):
            index.retriever.search("q25", method="lexical", rerank=MatrixScorer(MATRIX), settings=settings)
        with pytest.raises(SettingError, match="depth is 0"):
            index.retriever.search("q25", rerank=MatrixScorer(MATRIX), depth=0)


def test_the_model_is_loaded_once(tmp_path: Path) -> None:
    model = str(layouts.cross_encoder(tmp_path / "model"))
    with build(tmp_path / "x.cur") as index:
        (tmp_path / "x.cur" / "cross").rename(tmp_path / "cross")
        searcher = index.retriever.make_cross_searcher()
        assert searcher.load_scorer(model) is index.retriever.make_cross_searcher().load_scorer(model)
        with pytest.raises(SettingError, match="has no scores of anchor queries"):
            searcher.load_scorer()


@pytest.mark.parametrize("mix", [0.0, 0.4])
def test_axn_over_dense_vectors(tmp_path: Path, mix: float) -> None:
    """Against NumPy: in rounds, least squares over the vectors asked so far, mixed with the query's own vector
    on the scale of the scores."""
    rng = np.random.default_rng(4)
    words = ["light", "speed", "fox", "dog", "run", "function", "brown", "lazy", "quick", "read", "file"]
    texts = [" ".join([*rng.choice(words, 6), str(number)]) for number in range(80)]
    with asterism.Retriever.create(tmp_path / "x.ast", layouts.bge_m3(tmp_path / "model")) as retriever:
        retriever.add(asterism.Document(f"d{number}", text) for number, text in enumerate(texts))
        matrix = rng.normal(size=(1, len(texts)))
        scorer = MatrixScorer(matrix)
        settings = asterism.CrossSearch(method="axn", calls=40, rounds=4, ridge=0.0, mix=mix, first="dense")
        found = retriever.search("q0", 5, rerank=scorer, settings=settings)
        (segment,) = retriever.collection.snapshot().segments
        vectors = np.asarray(segment.dense.vectors, np.float64)
        own = np.append(retriever.encoder.encode_query(["q0"], views=["dense"]).dense[0], 0.0)
        asked = [int(id[1:]) for id in retriever.search("q0", 10, method="dense").ids]
    rows = np.append(vectors, np.ones((len(vectors), 1)), axis=1)
    while len(asked) < 40:
        fitted = np.linalg.lstsq(rows[asked], matrix[0, asked], rcond=1e-6)[0]
        slope = np.polyfit(rows[asked] @ own, matrix[0, asked], 1)[0]  # from cosines to scores
        predicted = rows @ ((1 - mix) * fitted + mix * slope * own)
        predicted[asked] = -np.inf
        asked += np.argsort(-predicted)[:10].tolist()
    assert [int(text.split()[-1]) for _, text in scorer.asked] == asked
    assert found.ids == [f"d{number}" for number in sorted(asked, key=lambda number: -matrix[0, number])[:5]]
