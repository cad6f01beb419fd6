"""Metadata are changed without a model: the views are copied, and a scorer's scores are carried over."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Document, FactorisedIndex, Retriever
from asterism.collection.policy import Policy
from asterism.errors import DocumentError, FilterError, InputError, UnknownDocument
from asterism.factorised.pairs import PairTable
from asterism.retriever import cross_fitting
from tests.unit.factorised.matrices import MatrixScorer, draw_matrix, name_items, name_queries
from tests.unit.retriever.all_views import FEW, METHODS, PutWith, scores
from tests.unit.retriever.documents import words


def all_scores(made: Retriever) -> list[dict[str, Any]]:
    methods = [method for method in METHODS if method not in ("hybrid", "hybrid:rrf")]
    return [scores(made, method) for method in methods]


def test_nothing_is_encoded(put_with: PutWith, m3: Path, tmp_path: Path) -> None:
    """The model is gone: whatever needs it fails, and the index answers as after an update of the same texts."""
    model = shutil.copytree(m3, tmp_path / "moved")
    made, other = put_with(model), put_with(m3)
    other.update([Document(one.id, one.text, one.title, {**one.metadata, "lang": "en"}) for one in FEW[1:4]])
    path = made.path
    made.close()
    shutil.rmtree(model)
    with Retriever.open(path) as opened:
        assert opened.set_metadata({"lang": "en"}, ["light", "python", "none"]) == 3
        assert opened.get("light").metadata == {"year": 2001, "lang": "en"}
        with pytest.raises(InputError, match="moved"):
            opened.search("fox")
        opened.check()
    with Retriever.open(path, m3) as opened:
        assert all_scores(opened) == all_scores(other)
        found = opened.search("fox", 10, filter={"lang": "en"})
        assert sorted(found.ids) == sorted(other.search("fox", 10, filter={"lang": "en"}).ids)


def test_coded_vectors_stay_the_same(tmp_path: Path, tokens: Path) -> None:
    with Retriever.create(tmp_path / "x", tokens, policy=Policy(flat_tokens=1000, most_segments=4)) as made:
        made.add(words(200))
        made.add([Document(f"late{i}", f"the late fox {i}", metadata={"late": i}) for i in range(10)])
        before = made.search("the late fox", 210, method="exact")
        assert made.set_metadata({"late": None}, filter={"late": {"$gte": 3}}) == 7
        assert made.set_metadata({"m": 1}, filter={"late": {"$exists": False}}) == 207
        after = made.search("the late fox", 210, method="exact")
        assert {hit.id: hit.score for hit in after} == {hit.id: hit.score for hit in before}
        assert len(made.list(filter={"m": 1})) == 207
        made.check()
        made.compact()
        made.check()


def test_merge_and_replace(put_with: PutWith, tokens: Path) -> None:
    made = put_with(tokens, [Document("a", "fox", metadata={"o": {"p": 1, "q": 2}, "n": 1, "l": [1]})])
    made.set_metadata({"o": {"p": None, "r": {"s": 3}}, "n": {"deep": True}, "l": [2, None]}, ["a"])
    assert made.get("a").metadata == {"o": {"q": 2, "r": {"s": 3}}, "n": {"deep": True}, "l": [2, None]}
    made.set_metadata({"only": None}, ["a"], replace=True)
    assert made.get("a").metadata == {"only": None}
    state = made.collection.snapshot().state
    assert made.set_metadata({"only": None}, ["a", "a"], replace=True) == 0
    assert made.collection.snapshot().state == state  # nothing was written
    assert made.set_metadata({"only": 1}, []) == 0


def test_wrong_use(put_with: PutWith, tokens: Path) -> None:
    made = put_with(tokens)
    before = made.list()
    for given, error, message in (
        ({"metadata": {}}, InputError, "neither ids nor a filter was given"),
        ({"metadata": {}, "ids": ["fox"], "filter": {}}, InputError, "both ids and a filter was given"),
        ({"metadata": {}, "ids": "fox"}, InputError, "ids is 'fox', expected a list of ids"),
        ({"metadata": {"x": 1}, "ids": ["fox", "wolf"]}, UnknownDocument, "'wolf': nothing was changed"),
        ({"metadata": {"x": {1}}, "ids": ["fox"]}, DocumentError, "is a set, expected JSON"),
        ({"metadata": [1], "ids": ["fox"]}, DocumentError, "metadata is a list, expected a dict"),
        ({"metadata": {"x": 1}, "filter": {"$bad": 1}}, FilterError, "bad"),
    ):
        with pytest.raises(error, match=message):
            made.set_metadata(**given)
    long = {"k" * 600: {"l" * 600: 1}}
    with pytest.raises(DocumentError, match="expected at most 1,000"):
        made.set_metadata(long, filter={})
    made.set_metadata({"k" * 600: {"x": 1}}, ["fox"])
    with pytest.raises(DocumentError, match="10,000 values"):  # too much together with what is there
        made.set_metadata({"many": [0] * 9_997}, filter={})
    assert len(made.list()) == len(before)
    made.check()


ITEMS, QUERIES = 30, 5
MATRIX = draw_matrix(QUERIES + 1, ITEMS, 3, 1)


def test_scores_are_carried_over(tmp_path: Path) -> None:
    """Also where other documents have none yet, which are scored later."""
    scorer = MatrixScorer(MATRIX)
    queries = name_queries(range(QUERIES))
    asked = name_queries([QUERIES])[0]
    path = tmp_path / "x"
    with FactorisedIndex.build(scorer, name_items(ITEMS), queries, path, anchor_items=4) as index:
        expected, anchors = index.search(asked, 5, calls=8, method="anncur").ids, index.info()["anchor_items"]
        index.retriever.add([Document("late", name_items(ITEMS)[0])])
        calls = len(scorer.asked)
        assert index.retriever.set_metadata({"x": 1}, [str(i) for i in range(20)]) == 20
        assert len(scorer.asked) == calls
        info = index.info()
        assert (info["documents"], info["scored"], info["anchor_items"]) == (ITEMS + 1, ITEMS, anchors)
        index.retriever.delete(["late"])
        assert index.search(asked, 5, calls=8, method="anncur").ids == expected
        index.add([Document("later", name_items(ITEMS)[1])])
        assert index.info()["scored"] == ITEMS + 1
        index.compact()
        index.check()
        assert index.info()["scored"] == ITEMS + 1


def test_pairs_and_fitted_vectors_are_carried_over(tmp_path: Path, single: Path) -> None:
    scorer = MatrixScorer(MATRIX)
    queries = name_queries(range(QUERIES))
    path = tmp_path / "x"
    with FactorisedIndex.build(scorer, name_items(ITEMS), queries, path, model=single, sparse=6) as index:
        before = PairTable.open(path / "pairs")
        changed = [str(i) for i in range(0, ITEMS, 2)]
        index.retriever.set_metadata({"x": 1}, changed)
        after = PairTable.open(path / "pairs")
        with index.retriever.collection.reading() as reader:
            ids = {number: int(id) for number, id in reader.read_all_ids().items()}
        assert {(query, ids[number]) for query, number in zip(after.queries, after.documents, strict=True)} == set(
            zip(before.queries.tolist(), before.documents.tolist(), strict=True)  # numbers were ids at first
        )
        old = dict(zip(before.numbers.tolist(), before.vectors, strict=True))
        for number, vector in zip(after.numbers.tolist(), after.vectors, strict=True):
            np.testing.assert_array_equal(vector, old[ids[number]])
        calls = len(scorer.asked)
        collection, runner = index.retriever.collection, index.retriever.runner
        cross_fitting.fit_index(collection, runner, cross_fitting.CheckedScorer(scorer), queries, depth=6)
        assert len(scorer.asked) == calls
        index.check()


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("change", [{"file": None}, {"file": "x"}, {"place": 2}, {"page": 1}, {"lines": [1]}])
def test_where_a_passage_comes_from_stays(tmp_path: Path, change: dict[str, Any], replace: bool) -> None:
    passage = Document("a.md#1", "a fox", metadata={"file": "a.md", "place": 1, "format": "text", "lines": [1, 2]})
    with Retriever.create(tmp_path / "x", views=["lexical"]) as made:
        made.add([passage, Document("own#1", "a hen", metadata={"file": "other", "place": 1})])
        with pytest.raises(DocumentError, match=r"of 'a.md#1' was to be changed.*nothing was changed"):
            made.set_metadata({**change, "tag": 1}, ["own#1", "a.md#1"], replace=replace)
        assert made.get("own#1").metadata == {"file": "other", "place": 1}
        made.set_metadata({"file": "a.md", "tag": 1}, ["a.md#1"], replace=replace)
        assert made.get("a.md#1").metadata == {**passage.metadata, "tag": 1}
        made.set_metadata(change, ["own#1"])
