"""Search by words: matched words, and what works without the model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from asterism import Document, Explanation, Retriever, TermCounting
from asterism.errors import UnknownModel
from asterism.retriever import retriever
from tests.unit.retriever.all_views import FEW, PutWith, places_are_right

CHINESE = [
    Document("moon", "月球是地球唯一的天然卫星。", "天体：月球"),
    Document("bread", "面包是用面粉做的。"),
    Document("both", "一只狐狸 the quick fox 在月球。", "Fox 狐狸"),
]


def words_of(explanation: Explanation) -> dict[str, tuple[str, str]]:
    """Query word -> the field and the words of the document that it matched."""
    fields = {"title": explanation.document.title, "text": explanation.document.text}
    return {
        match.query_token: (match.field, fields[match.field][match.begin : match.end])
        for match in explanation.matches
        if match.begin >= 0
    }


def test_matched_words_in_title_and_text(put_with: PutWith, tokens: Path) -> None:
    made = put_with(tokens)
    found = made.explain("SPEED and light, how?", "light", method="lexical")
    assert words_of(found) == {"speed": ("title", "Speed"), "light": ("text", "light")}
    assert {match.query_token: match.similarity > 0 for match in found.matches} == {"speed": True, "light": True}
    assert [found.query[match.query_begin : match.query_end] for match in found.matches] == ["SPEED", "light"]
    plain = put_with(tokens, counting=TermCounting(language="none"))
    found = plain.explain("SPEED and light, how?", "light", method="lexical")
    assert words_of(found) == {"speed": ("title", "Speed"), "light": ("text", "light"), "how": ("title", "How")}
    assert {match.query_token: match.similarity > 0 for match in found.matches} == {
        "speed": True,
        "and": False,
        "light": True,
        "how": True,
    }
    assert words_of(made.explain("the fox", "title", method="lexical")) == {"fox": ("title", "fox")}
    assert words_of(made.explain("the", "title", method="lexical")) == {"the": ("title", "the")}


def test_matched_words_in_chinese(put_with: PutWith, tokens: Path, single: Path) -> None:
    for model in (tokens, single):
        made = put_with(model, CHINESE)
        assert made.search("月球", method="lexical").ids[0] == "moon"
        assert made.search("面粉", method="lexical").ids == ["bread"]
        found = made.explain("月球的卫星", "moon", method="lexical")
        assert places_are_right(found) >= 2
        assert words_of(found)["月球"] == ("title", "月球")
        assert words_of(found)["卫星"] == ("text", "卫星")
        mixed = words_of(made.explain("quick 狐狸 月球", "both", method="lexical"))
        assert mixed["quick"] == ("text", "quick")
        assert mixed["狐狸"] == ("title", "狐狸")
        assert mixed["月球"] == ("text", "月球")
        hybrid = made.explain("月球的卫星", "moon", method="hybrid")
        shares = {share.view: share for share in hybrid.shares}
        assert shares["lexical"].matches == found.matches


def test_no_common_word(put_with: PutWith, tokens: Path) -> None:
    made = put_with(tokens)
    assert made.search("zebra", method="lexical").ids == []
    assert made.search("?!", method="lexical").ids == []
    found = made.explain("zebra", "fox", method="lexical")
    assert (found.score, [match.token for match in found.matches]) == (0, [""])
    assert set(made.search("zebra", method="hybrid").ids) == {document.id for document in FEW} - {"none"}
    assert set(made.search("?!", method="hybrid:rrf").ids) == {document.id for document in FEW} - {"none"}


def test_words_are_counted_where_the_model_has_no_weights(put_with: PutWith, single: Path, full: Retriever) -> None:
    made = put_with(single)
    assert (made.views, made.info()["terms"]) == (("dense", "lexical"), "words")
    assert made.weights == full.weights == (1, 1, 3)
    assert made.search("fox").method == "hybrid"


def test_a_lexical_search_does_not_load_the_model(
    put_with: PutWith, tokens: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, alone = put_with(tokens), put_with(tokens, views=["lexical"])

    def never(*_: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(retriever, "load_model", never)
    for path in (full.path, alone.path):
        with Retriever.open(path) as opened:
            assert set(opened.search("quick fox", method="lexical").ids) == {"fox", "title"}
            assert opened.search_many(["fox", "light"], method="lexical")[1].ids == ["light"]
            assert places_are_right(opened.explain("quick fox", "fox", method="lexical")) == 2
    with Retriever.open(alone.path) as opened:
        opened.add([Document("new", "zebra")])
        opened.update([Document("new", "two zebras")])
        opened.compact()
        assert opened.search("zebras").ids == ["new"]


def test_a_lexical_index_outlives_its_model(put_with: PutWith, tokens: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tokens, tmp_path / "copy")
    path = put_with(copy).path
    shutil.rmtree(copy)
    with Retriever.open(path) as opened:
        assert opened.search("light", method="lexical").ids == ["light"]
        with pytest.raises(UnknownModel, match="pass the model's new location"):
            opened.search("light", method="hybrid")
