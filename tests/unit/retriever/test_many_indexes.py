"""Several indexes searched as one: by comparable scores, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism import Document, HybridSearch, Retriever, TermCounting, open_many
from asterism.errors import InputError, NotAnIndex, SettingError, TextError
from tests.unit.factorised.matrices import MatrixScorer, draw_matrix, name_items
from tests.unit.retriever.all_views import FEW, QUERY, PutWith


def make_words(path: Path, documents: list[Document], language: str = "none") -> Path:
    with Retriever.create(path, views=["lexical"], counting=TermCounting(language=language)) as made:
        made.add(documents)
    return path


@pytest.mark.parametrize("method", ["exact", "colbert", "dense", "lexical"])
def test_plain_scores_of_one_model(method: str, put_with: PutWith, m3: Path) -> None:
    """The same hits with the same scores as from one index with all documents."""
    parts = [put_with(m3, FEW[:2]), put_with(m3, FEW[2:]), put_with(m3, [])]
    whole = put_with(m3).search(QUERY, 10, method=method)
    with open_many([part.path for part in parts]) as many:
        found = many.search(QUERY, 10, method=method)
        assert {hit.id: hit.score for hit in found} == {hit.id: pytest.approx(hit.score, abs=1e-5) for hit in whole}
        assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
        assert {hit.index for hit in found} <= {str(part.path) for part in parts[:2]}
        assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
        assert all(hit.id in many.indexes[hit.index or ""] for hit in found)
        first, second = (many.indexes[str(part.path)].encoder for part in parts[:2])
        assert first is second  # loaded once
        assert len(many) == len(FEW)
        assert repr(many).startswith("<ManyIndexes ['/")


@pytest.mark.parametrize("method", ["exact", "hybrid", "lexical"])
def test_many_queries(method: str, put_with: PutWith, m3: Path) -> None:
    queries = [QUERY, "the speed of light", "python"]
    with open_many([put_with(m3, FEW[:2]).path, put_with(m3, FEW[2:]).path]) as many:
        found = many.search_many(queries, 2, offset=1, method=method)
        assert [ranking.query for ranking in found] == queries
        for query, ranking in zip(queries, found, strict=True):
            alone = many.search(query, 2, offset=1, method=method)
            assert [(hit.rank, hit.id, hit.index) for hit in ranking] == [
                (hit.rank, hit.id, hit.index) for hit in alone
            ]
            assert [hit.score for hit in ranking] == pytest.approx([hit.score for hit in alone], abs=1e-5)
        assert many.search_many([], 2) == []
        with pytest.raises(TextError, match="for one, use search"):
            many.search_many("fox")


def test_hybrid_scores_are_calibrated(put_with: PutWith, m3: Path, single: Path) -> None:
    """So the models may differ."""
    parts = [put_with(m3, FEW[:2]), put_with(single, FEW[2:])]
    with open_many([part.path for part in parts]) as many:
        found = many.search(QUERY, 10)
        assert found.method == "hybrid"
        assert all(0 <= hit.score <= 1 for hit in found)
        for part in parts:
            own = part.search(QUERY, 10, settings=HybridSearch(calibrated=True))
            assert [hit.id for hit in found if hit.index == str(part.path)] == own.ids
        with pytest.raises(SettingError, match=r"have different models .*: search by hybrid"):
            many.search(QUERY, method="dense")
        with pytest.raises(SettingError, match="fuses its views by 'rrf', whose scores mean something within one"):
            many.search(QUERY, method="hybrid:rrf")


def test_what_cannot_be_compared(tmp_path: Path, put_with: PutWith, m3: Path, single: Path) -> None:
    words = make_words(tmp_path / "words", FEW)
    other = make_words(tmp_path / "other", [Document("der", "der Fuchs")], "de")
    weighed, counted = put_with(m3, FEW[:2]), put_with(single, FEW[2:])
    for paths, method, message in (
        ([words, other], None, r"different settings of BM25 \(.*none.* and .*de.*\).* same --language"),
        ([words, weighed.path], None, r"different methods \(lexical and hybrid\).*: give a method that all have"),
        ([weighed.path, counted.path], "lexical", r"different terms \(model and words\)"),
        ([weighed.path, put_with(m3).path], "xtr", "expected 'colbert' or 'exact' for several"),
        ([words, weighed.path], "dense", "needs the view 'dense'"),
    ):
        with open_many(paths) as many, pytest.raises(SettingError, match=message):
            many.search(QUERY, method=method)


def test_a_scorer_orders_the_best_of_each(tmp_path: Path) -> None:
    scorer = MatrixScorer(draw_matrix(1, 12, 3, 1))
    items = [Document(text, text) for text in name_items(12)]
    paths = [make_words(tmp_path / "a", items[:6]), make_words(tmp_path / "b", items[6:])]
    best = sorted(range(12), key=lambda item: -scorer.matrix[0, item])
    with open_many(paths) as many:
        query = "q0"
        scorer_of_items = _Fixed(scorer, query)
        found = many.search("item", 4, offset=1, rerank=scorer_of_items, depth=6)
        assert found.ids == [f"item {number}" for number in best[1:5]]
        assert found.calls == 12


class _Fixed:
    """Scores texts for one query, whatever was asked."""

    def __init__(self, scorer: MatrixScorer, query: str) -> None:
        self.scorer, self.query = scorer, query

    def score(self, query: str, texts: list[str]) -> object:
        return self.scorer.score(self.query, texts)


def test_wrong_use(tmp_path: Path) -> None:
    words = make_words(tmp_path / "words", FEW)
    (tmp_path / "link").symlink_to(words)
    for paths, error, message in (
        ([], InputError, "no indexes were given"),
        (str(words), InputError, "expected a list of folders"),
        ([words, tmp_path / "link"], InputError, "was given twice"),
        ([words, tmp_path / "none"], NotAnIndex, "does not exist"),
    ):
        with pytest.raises(error, match=message):
            open_many(paths)  # type: ignore[arg-type]
    with open_many([words]) as many:
        assert many.search("fox").ids
        with pytest.raises(SettingError, match="offset"):
            many.search("fox", offset=-1)
    make_words(tmp_path / "empty", [])
    with open_many([tmp_path / "empty"]) as many:
        assert (many.search("fox").ids, len(many)) == ([], 0)
