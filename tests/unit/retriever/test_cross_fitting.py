"""Dense vectors fitted to a scorer: few calls, the right pairs, and a build that goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import asterism
from asterism.errors import DamagedIndex, InputError, ModelDiffers, ScorerError, SettingError
from asterism.factorised.pairs import PairTable
from asterism.factorised.scorers import Asking, CheckedScorer
from asterism.retriever import cross_fitting
from asterism.retriever.cross_building import build_table
from tests import layouts
from tests.unit.factorised.matrices import MatrixScorer, draw_matrix

ITEMS, QUERIES, DEPTH = 80, 24, 12
MATRIX = draw_matrix(QUERIES + 1, ITEMS, 3, 8)
WORDS = ["light", "speed", "fox", "dog", "run", "function", "brown", "lazy", "quick", "read", "file"]
ANCHORS = [f"q{number}" for number in range(QUERIES)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.bge_m3(tmp_path_factory.mktemp("models") / "dense")


def write_items(count: int = ITEMS) -> list[str]:
    rng = np.random.default_rng(4)
    return [" ".join([*rng.choice(WORDS, 6), str(number)]) for number in range(count)]


def build(path: Path, model: Path, scorer: MatrixScorer | None = None, **given: object) -> asterism.FactorisedIndex:
    settings = {"sparse": DEPTH, "model": model, **given}
    return asterism.FactorisedIndex.build(scorer or MatrixScorer(MATRIX), write_items(), ANCHORS, path, **settings)


def read_files(folder: Path) -> dict[str, bytes]:
    files = (file for file in (folder / "pairs").rglob("*") if file.is_file() and not file.name.startswith("writer"))
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_the_best_of_each_query_are_scored_once(tmp_path: Path, model: Path) -> None:
    scorer = MatrixScorer(MATRIX)
    with build(tmp_path / "x.cur", model, scorer) as made:
        assert len(scorer.asked) == len(set(scorer.asked)) == QUERIES * DEPTH
        best = made.retriever.search("q5", DEPTH)
        assert {text for query, text in scorer.asked if query == "q5"} == {hit.document.text for hit in best}
        found = made.info()
        assert (found["pairs"], found["pair_queries"], found["documents"]) == (QUERIES * DEPTH, QUERIES, ITEMS)
        assert found["fitted"] == len({text for _, text in scorer.asked})
        assert found["error_after"] <= found["error_before"]
        assert not found["unfinished"]
        made.check()


def test_axn_searches_by_the_fitted_vectors(tmp_path: Path, model: Path) -> None:
    """Against NumPy, with the stored vectors in place of the dense ones."""
    with build(tmp_path / "x.cur", model) as made:
        scorer = MatrixScorer(MATRIX)
        settings = asterism.CrossSearch(method="axn", calls=30, rounds=3, first="dense")
        made.retriever.search(f"q{QUERIES}", 5, rerank=scorer, settings=settings)
        asked = [int(id) for id in made.retriever.search(f"q{QUERIES}", 10, method="dense").ids]
        snapshot = made.retriever.collection.snapshot()
        (segment,) = snapshot.segments
        dense = np.asarray(segment.dense.vectors, np.float64)
    table = PairTable.open(tmp_path / "x.cur" / "pairs")
    rows = np.append(dense, np.ones((ITEMS, 1)), axis=1)
    rows[np.searchsorted(snapshot.numbers, table.numbers)] = table.vectors
    while len(asked) < 30:
        gram = rows[asked].T @ rows[asked]
        ridge = 1e-2 * np.linalg.eigvalsh(gram).max()
        fitted = np.linalg.solve(gram + ridge * np.eye(len(gram)), rows[asked].T @ MATRIX[QUERIES, asked])
        predicted = rows @ fitted
        predicted[asked] = -np.inf
        asked += np.argsort(-predicted)[:10].tolist()
    assert [int(text.split()[-1]) for _, text in scorer.asked] == asked


class Failing(MatrixScorer):
    """Fails after some calls."""

    def __init__(self, calls: int) -> None:
        super().__init__(MATRIX)
        self.left = calls

    def score(self, query: str, texts: list[str]) -> np.ndarray:
        if self.left < len(texts):
            raise ConnectionError("gone")
        self.left -= len(texts)
        return super().score(query, texts)


def test_a_failed_build_goes_on(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_fitting, "FIRST_CALLS", 4 * DEPTH)
    with pytest.raises(ScorerError):
        build(tmp_path / "x.cur", model, Failing(10 * DEPTH), asking=Asking(retries=0))
    scorer = MatrixScorer(MATRIX)
    build(tmp_path / "x.cur", model, scorer).close()
    assert len(scorer.asked) == (QUERIES - 8) * DEPTH  # two blocks of four queries were there
    build(tmp_path / "y.cur", model).close()
    assert read_files(tmp_path / "x.cur") == read_files(tmp_path / "y.cur")


def test_documents_that_change(tmp_path: Path, model: Path) -> None:
    """A new one keeps its dense vector until the next build, which scores what is new; a deleted one goes."""
    with build(tmp_path / "x.cur", model) as made:
        made.delete(["3", "4"])
        made.add([asterism.Document("new", "quick fox light 3")])
        found = made.search("q24", 5, calls=30, method="axn")
        assert found.calls == 30
        scorer = MatrixScorer(MATRIX)
        index, runner = made.retriever.collection, made.retriever.runner
        table = cross_fitting.fit_index(index, runner, CheckedScorer(scorer), ANCHORS, depth=DEPTH)
        assert 0 < len(scorer.asked) < QUERIES * DEPTH
        with index.reading() as reader:
            numbers = reader.read_all_numbers()
        assert np.isin(table.documents, numbers).all()
        before = read_files(tmp_path / "x.cur")
        cross_fitting.fit_index(index, runner, CheckedScorer(scorer), ANCHORS, depth=DEPTH)
        assert read_files(tmp_path / "x.cur") == before  # nothing was left to do


def test_bad_input(tmp_path: Path, model: Path) -> None:
    scorer = MatrixScorer(MATRIX)
    with pytest.raises(SettingError, match="sparse is 5, which fits the dense vectors of a model"):
        asterism.FactorisedIndex.build(scorer, write_items(), ANCHORS, tmp_path / "w.cur", sparse=5)
    with pytest.raises(SettingError, match="sparse is -1"):
        build(tmp_path / "v.cur", model, scorer, sparse=-1)
    with build(tmp_path / "x.cur", model) as made:
        with pytest.raises(SettingError, match=r"has no scores of anchor queries: .* method axn"):
            made.search("q24", calls=30, method="anncur")
        index, runner = made.retriever.collection, made.retriever.runner
        with pytest.raises(InputError, match=r"was made with 24 queries that are not the 1 given"):
            cross_fitting.fit_index(index, runner, CheckedScorer(scorer), ["q1"], depth=3)
        for begin in (
            lambda: cross_fitting.fit_index(
                index, runner, CheckedScorer(scorer), ANCHORS, depth=3, made_of={"files": ["b"]}
            ),
            lambda: build_table(index, CheckedScorer(scorer), ANCHORS, made_of={"files": ["b"]}),
        ):
            with pytest.raises(ModelDiffers, match="was made with a scorer of your own"):
                begin()
    assert not scorer.asked


def test_damage_stops_what_uses_the_vectors(tmp_path: Path, model: Path) -> None:
    with build(tmp_path / "x.cur", model) as made:
        (file,) = (tmp_path / "x.cur").glob("pairs/*/vectors.npy")
        content = bytearray(file.read_bytes())
        content[-2] ^= 1
        file.write_bytes(content)
        for use in (made.check, lambda: made.search("q24", calls=20, method="axn")):
            with pytest.raises(DamagedIndex, match="build the scores again"):
                use()
        assert len(made.retriever.search("fox", 3)) == 3
        made.retriever.compact()
