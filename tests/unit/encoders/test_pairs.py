"""Pairs of a query and a text: frame, markers, what is cut, and what stands for query and text."""

from __future__ import annotations

import numpy as np
import pytest

from asterism.encoders.pairs import Markers, PairMaker, make_pair_batches
from asterism.encoders.tokens import TextTokenizer
from tests import layouts

MARKERS = Markers(1, 2, 3)
CLS, SEP = 5, 6
QUERY, TEXT = [60, 61, 62, 63, 64, 65], [70, 71, 72, 73, 74, 75, 76, 77]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> TextTokenizer:
    folder = tmp_path_factory.mktemp("tokenizer")
    layouts.wordpiece(folder)
    return TextTokenizer(folder)


def test_without_markers(tokenizer: TextTokenizer) -> None:
    pair = PairMaker(tokenizer, 32, None).make(4, QUERY, TEXT)
    assert pair.row.ids.tolist() == [CLS, *QUERY, SEP, *TEXT, SEP]
    assert (pair.row.text, pair.row.attended, pair.text_begin) == (4, 17, 8)
    assert (pair.places, pair.cut) == (((0,), (0,)), False)


def test_with_markers(tokenizer: TextTokenizer) -> None:
    pair = PairMaker(tokenizer, 32, MARKERS).make(0, QUERY, TEXT)
    assert pair.row.ids.tolist() == [CLS, 1, *QUERY, 2, SEP, 3, *TEXT, SEP]
    assert pair.text_begin == 10  # the text's marker is of the text's type
    assert [pair.row.ids[list(places)].tolist() for places in pair.places] == [[1, 2], [3]]


@pytest.mark.parametrize(
    ("length", "query", "text"),
    [(17, 6, 8), (16, 6, 7), (15, 6, 6), (14, 5, 6), (13, 5, 5), (8, 2, 3)],
    ids=str,
)
def test_the_text_is_cut_first(tokenizer: TextTokenizer, length: int, query: int, text: int) -> None:
    """The query keeps at least half of the room, and what the text leaves."""
    pair = PairMaker(tokenizer, length, None).make(0, QUERY, TEXT)
    assert pair.row.ids.tolist() == [CLS, *QUERY[:query], SEP, *TEXT[:text], SEP]
    assert pair.cut == (length < 17)
    short = PairMaker(tokenizer, length, None).make(0, QUERY, TEXT[:1])
    assert short.row.ids.tolist() == [CLS, *QUERY[: length - 4], SEP, TEXT[0], SEP]


def test_batches(tokenizer: TextTokenizer) -> None:
    maker = PairMaker(tokenizer, 32, MARKERS)
    pairs = [maker.make(0, QUERY[:1], TEXT[:1]), maker.make(1, QUERY, TEXT), maker.make(2, [], [])]
    (found,) = make_pair_batches(pairs, 1000)
    assert found.batch.numbers.tolist() == [1, 0, 2]
    for number, types, pool in zip(found.batch.numbers, found.types, found.pool, strict=True):
        ids = pairs[number].row.ids
        expected = np.zeros(len(types), np.int64)
        expected[pairs[number].text_begin : len(ids)] = 1
        assert types.tolist() == expected.tolist()
        assert pool[0].sum() == pool[1].sum() == 1
        assert ids[pool[0].nonzero()[0]].tolist() == [1, 2]
        assert ids[pool[1].nonzero()[0]].tolist() == [3]
