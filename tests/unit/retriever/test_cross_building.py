"""Anchor scores of an index: made with one scorer, in blocks that do not depend on time, and never of damaged rows."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import asterism
from asterism.errors import DamagedIndex, IndexBusy, InputError, ModelDiffers
from asterism.factorised.scorers import CheckedScorer
from asterism.factorised.table import ScoreTable
from asterism.retriever import cross_building
from asterism.retriever.cross_building import build_table, check_anchor_queries
from tests.unit.factorised.matrices import MatrixScorer, draw_matrix, name_items, name_queries

ITEMS, QUERIES = 60, 12
MATRIX = draw_matrix(QUERIES, ITEMS, 4, 5)
ANCHORS = name_queries(range(QUERIES))


@pytest.fixture
def retriever(tmp_path: Path) -> asterism.Retriever:
    """An index of words."""
    views = asterism.Views(lexical="words", counting=asterism.TermCounting())
    made = asterism.Retriever(asterism.Collection.create(tmp_path / "x.ast", views, {}))
    made.add(asterism.Document(f"d{number}", text) for number, text in enumerate(name_items(ITEMS)))
    return made


def build(retriever: asterism.Retriever, scorer: MatrixScorer | None = None, **given: object) -> ScoreTable:
    return build_table(retriever.collection, CheckedScorer(scorer or MatrixScorer(MATRIX)), ANCHORS, **given)


def test_only_one_scorer(retriever: asterism.Retriever) -> None:
    """Scores of two models do not mix, in an interrupted build or in a finished one; a moved model is the same."""
    build(retriever, made_of={"model": "first", "files": ["a"]})
    scorer = MatrixScorer(MATRIX)
    with pytest.raises(ModelDiffers, match="was made with first, which is not the given one"):
        build(retriever, scorer, made_of={"model": "second", "files": ["b"]})
    with pytest.raises(ModelDiffers):
        build(retriever, scorer)
    with pytest.raises(InputError, match="holds float32, but float16 is wanted"):
        build(retriever, scorer, made_of={"files": ["a"]}, precision="float16")
    build(retriever, scorer, made_of={"model": "moved", "files": ["a"]})
    assert not scorer.asked


def test_blocks_grow_with_the_table(retriever: asterism.Retriever, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few calls are lost at the beginning, and there are few blocks at the end."""
    monkeypatch.setattr(cross_building, "FIRST_CALLS", 4 * QUERIES)
    monkeypatch.setattr(cross_building, "BLOCK_CALLS", 9 * QUERIES)
    monkeypatch.setattr(cross_building, "GROWTH", 2)
    table = ScoreTable.create(retriever.path / "cross", ANCHORS, "float32", {})
    with table.writing() as writer:
        cross_building.add_missing_rows(retriever.collection, CheckedScorer(MatrixScorer(MATRIX)), writer)
        assert [segment.rows for segment in writer.table.state.segments] == [4, 4, 4, 6, 9, 9, 9, 9, 6]


@pytest.mark.parametrize("file", ["numbers.npy", "scores.npy"])
@pytest.mark.parametrize(
    "use",
    [
        lambda retriever: build(retriever),
        lambda retriever: retriever.check(),
        lambda retriever: asterism.FactorisedIndex(retriever, MatrixScorer(MATRIX)).search("q1", calls=20),
    ],
)
def test_damage_is_found(retriever: asterism.Retriever, file: str, use: Callable[[asterism.Retriever], object]) -> None:
    build(retriever)
    (found,) = retriever.path.glob(f"cross/*/{file}")
    content = bytearray(found.read_bytes())
    content[-3] ^= 1
    found.write_bytes(content)
    with pytest.raises(DamagedIndex, match="was changed since it was written: restore it from a copy, or remove"):
        use(retriever)


def test_nothing_is_added_to_damaged_scores(retriever: asterism.Retriever) -> None:
    build(retriever)
    (retriever.path / "cross" / "manifest.json").write_text("{}")
    with pytest.raises(DamagedIndex):
        asterism.FactorisedIndex(retriever, MatrixScorer(MATRIX)).add([asterism.Document("new", "item 3")])
    assert "new" not in retriever


@pytest.mark.parametrize("anchors", ["pivots", "clusters", "random"])
def test_without_documents(retriever: asterism.Retriever, anchors: str) -> None:
    retriever.delete([document.id for document in retriever])
    scorer = MatrixScorer(MATRIX)
    assert len(build(retriever, scorer, anchors=anchors).numbers) == 0
    assert not scorer.asked


def test_changes_during_a_build(retriever: asterism.Retriever, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents that are deleted, replaced, added or compacted while a build runs: no row of another text."""
    monkeypatch.setattr(cross_building, "FIRST_CALLS", 10 * QUERIES)
    changes = iter(
        [
            lambda: retriever.delete(["d0", "d5", "d25"]),
            lambda: retriever.update([asterism.Document("d30", "now item 1"), asterism.Document("d2", "now item 3")]),
            retriever.compact,
            lambda: retriever.add([asterism.Document("new", "item 7")]),
        ]
    )

    class Meddling(MatrixScorer):
        def score(self, query: str, texts: list[str]) -> np.ndarray:
            if query == "q3":
                next(changes, lambda: None)()
            return super().score(query, texts)

    build(retriever, Meddling(MATRIX))
    table = build(retriever)
    assert dict(zip(table.numbers.tolist(), table.read().tolist(), strict=True)) == read_right_rows(retriever)


def test_compacting_drops_scores(retriever: asterism.Retriever) -> None:
    """Those of deleted documents; not while a build runs, and not those of one that was interrupted."""
    build(retriever, anchor_items=6)
    table = cross_building.open_table(retriever.collection)
    retriever.delete(["d3", "d9"])
    with table.writing():
        retriever.compact()
    assert len(cross_building.open_table(retriever.collection).numbers) == ITEMS
    retriever.compact()
    now = cross_building.open_table(retriever.collection)
    assert dict(zip(now.numbers.tolist(), now.read().tolist(), strict=True)) == read_right_rows(retriever)
    assert (now.state.anchors, now.state.ridge) == (table.state.anchors, table.state.ridge)
    table.verify()  # a search that has it open goes on
    with now.writing() as writer:
        writer.finish(now.numbers, [], 0.0)  # as before the end of a build
    retriever.delete(["d4"])
    retriever.compact()
    assert len(cross_building.open_table(retriever.collection).numbers) == ITEMS - 2


def test_searches_while_scores_are_joined(retriever: asterism.Retriever) -> None:
    """Adding, deleting and compacting in one thread, searches in another that opens the table each time."""
    with asterism.FactorisedIndex(retriever, MatrixScorer(MATRIX)) as index:
        build(retriever)
        over = threading.Event()

        def change() -> None:
            try:
                for number in range(12):
                    index.add([asterism.Document(f"new{number}", f"item {number}")])
                    index.delete([f"new{number}"] if number % 2 else [f"d{number}"])
                    index.compact()
            finally:
                over.set()

        worker = threading.Thread(target=change)
        worker.start()
        while not over.is_set():
            with asterism.FactorisedIndex.open(retriever.path, MatrixScorer(MATRIX)) as other:
                assert len(other.search("q1", 5, calls=20)) == 5
        worker.join()
        assert index.info()["scored"] == ITEMS


def test_two_builds_at_once(retriever: asterism.Retriever) -> None:
    """The second one is refused at once, and nothing is scored twice."""
    started, goes_on = threading.Event(), threading.Event()

    class Waiting(MatrixScorer):
        def score(self, query: str, texts: list[str]) -> np.ndarray:
            started.set()
            assert goes_on.wait(60)
            return super().score(query, texts)

    worker = threading.Thread(target=build, args=(retriever, Waiting(MATRIX)))
    worker.start()
    assert started.wait(60)
    second = MatrixScorer(MATRIX)
    with pytest.raises(IndexBusy):
        build(retriever, second)
    goes_on.set()
    worker.join()
    assert not second.asked
    assert len(build(retriever, second).numbers) == ITEMS
    assert not second.asked


def test_a_table_that_another_process_has_just_made(
    retriever: asterism.Retriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(retriever)
    opened = cross_building.open_table(retriever.collection)
    monkeypatch.setattr(cross_building, "open_table", lambda _: None)
    assert build(retriever).numbers.tolist() == opened.numbers.tolist()


def read_right_rows(retriever: asterism.Retriever) -> dict[int, list[float]]:
    """What the scores of every document should be, by its number."""
    with retriever.collection.reading() as reader:
        documents = reader.documents(reader.read_all_numbers().tolist())
    texts = {number: int(document.text.split()[-1]) for number, document in documents.items()}
    return {number: MATRIX[:, text].astype(np.float32).tolist() for number, text in texts.items()}


def test_repaired_indexes(retriever: asterism.Retriever) -> None:
    """A repair gives new numbers to what it encodes again, and none that a deleted document had."""
    build(retriever)
    retriever.delete([f"d{number}" for number in range(30, ITEMS)])
    retriever.compact()
    retriever.close()
    with sqlite3.connect(retriever.path / "catalog.sqlite") as catalog:
        catalog.execute("DELETE FROM facts WHERE name = 'state'")
    asterism.Retriever.repair(retriever.path)
    with asterism.Retriever.open(retriever.path) as repaired:
        assert asterism.FactorisedIndex(repaired, MatrixScorer(MATRIX)).info()["scored"] == 0
        table = build(repaired)
        assert dict(zip(table.numbers.tolist(), table.read().tolist(), strict=True)) == read_right_rows(repaired)
        assert asterism.FactorisedIndex(repaired, MatrixScorer(MATRIX)).info()["scored"] == 30


def test_too_many_queries() -> None:
    with pytest.raises(InputError, match="there are 65,537 anchor queries, expected at most 65,536"):
        check_anchor_queries([f"query {number}" for number in range((1 << 16) + 1)])
