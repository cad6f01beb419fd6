"""Rankings and teachers made of indexes and models, against the search and the encoder themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asterism import Retriever, load_encoder
from asterism.errors import InputError
from asterism.recipes.teachers import EncoderTeacher, PassageIndex, load_teacher
from tests import layouts

PASSAGES = [
    "the quick brown fox jumps over the lazy dog",
    "a function to read the file and close it",
    "light speed of the first vector",
    "how do i train the model to answer a question",
]
QUERY = "who is the quick fox"


@pytest.mark.parametrize("method", ["lexical", "dense", "colbert", "hybrid"])
def test_an_index_ranks_and_scores_as_its_search(tmp_path: Path, method: str) -> None:
    model = layouts.bge_m3(tmp_path / "model")
    index = PassageIndex(tmp_path / "x.ast", PASSAGES, method, str(model))
    ranked = index([QUERY, "read the file"], 4)
    scores = index.score(QUERY, PASSAGES[::-1])
    index.close()
    with Retriever.open(tmp_path / "x.ast") as opened:
        assert len(opened) == len(PASSAGES)
        found = opened.search(QUERY, 4, method=method)
        assert ranked[0] == [int(id) for id in found.ids]
        expected = [opened.explain(QUERY, str(number), method=method).score for number in (3, 2, 1, 0)]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_passages_beyond_the_search_are_scored_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asterism.recipes.teachers.DEPTH", 1)
    index = PassageIndex(tmp_path / "x.ast", PASSAGES, "dense", str(layouts.bge_m3(tmp_path / "model")))
    few = index.score(QUERY, PASSAGES)
    monkeypatch.undo()
    np.testing.assert_allclose(few, index.score(QUERY, PASSAGES), atol=1e-5)
    index.close()


def test_an_interrupted_index_is_continued(tmp_path: Path) -> None:
    model = str(layouts.bge_m3(tmp_path / "model"))
    PassageIndex(tmp_path / "x.ast", PASSAGES[:2], "lexical", model).close()
    index = PassageIndex(tmp_path / "x.ast", PASSAGES, "lexical", model)
    assert index(["light speed"], 1) == [[2]]
    index.close()


@pytest.mark.parametrize("layout", ["dense", "tokens"])
def test_a_model_teaches_by_its_similarities(tmp_path: Path, layout: str) -> None:
    make = layouts.sentence_transformer if layout == "dense" else layouts.colbert
    encoder = load_encoder(make(tmp_path / "model"))
    texts = [*PASSAGES, "...", PASSAGES[0]]  # punctuation alone has no token vectors in ColBERT
    found = EncoderTeacher(encoder).score(QUERY, texts)
    asked, known = encoder.encode_query([QUERY]), encoder.encode_document(texts)
    if layout == "dense":
        expected = known.dense @ asked.dense[0]
    else:
        sums = [(np.asarray(known.multi[i]) @ asked.multi[0].T) for i in range(len(texts))]
        expected = [one.max(axis=0).mean() if len(one) else -1.0 for one in sums]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found[0] == found[-1]


def test_a_cross_encoder_or_another_model(tmp_path: Path) -> None:
    cross = load_teacher(str(layouts.cross_encoder(tmp_path / "cross")))
    other = load_teacher(str(layouts.colbert(tmp_path / "colbert")))
    for teacher in (cross, other):
        assert teacher.score(QUERY, PASSAGES).shape == (4,)
    assert isinstance(other, EncoderTeacher)
    assert not isinstance(cross, EncoderTeacher)


def test_a_teacher_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a folder, nor a known model"):
        load_teacher("no-such-model")
