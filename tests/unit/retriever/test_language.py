"""The language of an index: decided once, by its documents, and the same for every process, query and repair."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asterism import Document, Retriever, TermCounting
from asterism.collection.format import KIND, VERSION
from asterism.collection.kept_views import Views
from asterism.collection.writer import CollectionWriter
from asterism.errors import DamagedIndex, DocumentError, InputError, SettingError
from asterism.settings import FIRST_COUNTING
from asterism.storage.manifest import read_manifest
from tests.unit.retriever.documents import Put

ENGLISH = [
    Document("cats", "The cats of the house are sleeping, and they have been there for hours."),
    Document("dogs", "What is this? It is one of the dogs that we have seen with the cat."),
]
GERMAN = [Document("haus", "Das ist das Haus, in dem die Katzen nicht mit den Hunden sind.")]
WORDS: dict[str, Any] = {"views": ["lexical"], "terms": "words"}


def stored(made: Retriever) -> tuple[str, str]:
    """The language in the catalog, and in the manifest's copy."""
    manifest = read_manifest(made.path, KIND, VERSION).content
    return made.collection.facts("views")["counting"]["language"], manifest["views"]["counting"]["language"]


def test_the_first_documents_decide(put: Put) -> None:
    made = put([], **WORDS)
    assert (made.info()["language"], stored(made)) == ("auto", ("auto", "auto"))
    assert made.search("cat").ids == []
    made.add(ENGLISH)
    assert (made.info()["language"], stored(made)) == ("en", ("en", "en"))
    made.add(GERMAN)
    assert (made.info()["language"], stored(made)) == ("en", ("en", "en"))
    assert set(made.search("What is a cat?").ids) == {"cats", "dogs"}
    assert made.search("hour").ids == ["cats"]
    assert made.search("what").ids == ["dogs"]
    (match,) = made.explain("What is an hour?", "cats").matches
    assert (match.query_token, match.token, match.similarity > 0) == ("hour", "hours", True)
    with Retriever.open(made.path) as opened:
        assert opened.info()["language"] == "en"
        assert opened.search("hour").ids == ["cats"]


def test_a_given_language_and_none(put: Put) -> None:
    german = put(ENGLISH, "de.ast", **WORDS, counting=TermCounting(language="de"))
    assert (german.info()["language"], stored(german)) == ("de", ("de", "de"))
    plain = put(ENGLISH, "none.ast", **WORDS, counting=TermCounting(language="none"))
    assert (plain.info()["language"], plain.search("hour").ids) == ("none", [])


def test_unclear_documents_leave_it_open(put: Put) -> None:
    """What comes later can tell the language; then the words that are there are counted as its words."""
    made = put([Document("a", "zebras 12"), Document("b", "tigers 13")], **WORDS)
    assert (made.info()["language"], stored(made), made.search("zebra").ids) == ("auto", ("auto", "auto"), [])
    with Retriever.open(made.path) as other:
        made.add(ENGLISH)
        assert (made.info()["language"], stored(made)) == ("en", ("en", "en"))
        assert made.search("zebra").ids == other.search("zebra").ids == ["a"]
        assert [document.id for document in made] == ["a", "b", "cats", "dogs"]
        assert {hit.id: hit.score for hit in made.search("tiger cat", 9)} == {
            hit.id: hit.score for hit in put([*made], "fresh.ast", **WORDS).search("tiger cat", 9)
        }
        made.check()


def test_a_document_that_is_replaced_while_the_language_is_found(put: Put) -> None:
    made = put([Document("cats", "zebras 12"), Document("b", "tigers 13")], **WORDS)
    made.update(ENGLISH)
    assert [document.id for document in made] == ["b", "cats", "dogs"]
    assert (made.search("zebra").ids, made.search("hour").ids, made.search("tiger").ids) == ([], ["cats"], ["b"])
    made.check()


def test_refused_documents_decide_nothing(put: Put) -> None:
    made = put([Document("cats", "zebras 12")], **WORDS)
    with pytest.raises(DocumentError, match="already"):
        made.add(ENGLISH)
    assert (stored(made), made.search("zebra").ids) == (("auto", "auto"), [])


def test_many_unclear_documents_have_no_language(put: Put) -> None:
    made = put([Document(str(i), f"zebras {i}") for i in range(200)], **WORDS)
    assert stored(made) == ("auto", "auto")
    made.add([Document(str(i), f"zebras {i}") for i in range(200, 260)])
    assert stored(made) == ("none", "none")
    made.add(ENGLISH)
    assert (made.info()["language"], made.search("zebra").ids) == ("none", [])


def test_how_documents_are_batched_does_not_matter(put: Put) -> None:
    many = [Document(str(i), ENGLISH[i % 2].text) for i in range(600)]
    once = put(many, "once.ast", **WORDS)
    twice = put(many[:300], "twice.ast", **WORDS)
    twice.add(many[300:])
    assert once.info()["language"] == twice.info()["language"] == "en"
    assert once.search("cat", 600).ids == twice.search("cat", 600).ids


def test_a_process_that_opened_the_empty_index_sees_the_language(put: Put) -> None:
    made = put([], **WORDS)
    with Retriever.open(made.path) as early:
        assert early.search("hour").ids == []
        code = (
            "import sys; from asterism import Document, Retriever; "
            "Retriever.open(sys.argv[1]).add([Document('a', 'They are there for hours in the house of the cats')])"
        )
        subprocess.run([sys.executable, "-c", code, str(made.path)], check=True)
        assert early.search("hour").ids == made.search("hour").ids == ["a"]
        early.add(GERMAN)
        assert early.info()["language"] == "en"


def test_a_writer_that_fails_before_its_first_documents(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is decided by documents that were not added: the next ones may have another language."""
    made = put([], **WORDS)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(CollectionWriter, "add_admitted", fail)
        with pytest.raises(KeyboardInterrupt):
            made.add(ENGLISH)
    with Retriever.open(made.path) as second:
        assert (len(second), second.info()["language"], stored(second)) == (0, "auto", ("auto", "auto"))
        second.add(GERMAN)
        assert (second.info()["language"], stored(second)) == ("de", ("de", "de"))
        assert second.search("Hund").ids == made.search("Hunde").ids == ["haus"]
        second.check()


def test_no_documents_decide_nothing(put: Put) -> None:
    made = put([], **WORDS)

    def broken() -> Iterator[Document]:
        raise OSError("the disk is gone")
        yield ENGLISH[0]

    with pytest.raises(InputError):
        made.add(broken())
    assert made.add([]) == 0
    assert stored(made) == ("auto", "auto")


@pytest.mark.parametrize("damage", ["segment", "catalog"])
def test_repair_uses_the_language(damage: str, put: Put) -> None:
    made = put(ENGLISH, **WORDS)
    expected = {hit.id: hit.score for hit in made.search("hour")}
    path = made.path
    made.close()
    if damage == "segment":
        file = max(path.glob("segment-*/**/*.npy"), key=os.path.getsize)
        file.write_bytes(b"\0" * file.stat().st_size)
    else:
        content = (path / "catalog.sqlite").read_bytes()
        assert content.count(b'"language": "en"') == 1
        (path / "catalog.sqlite").write_bytes(content.replace(b'"language": "en"', b'"language": "xx"'))
    Retriever.repair(path)
    with Retriever.open(path) as repaired:
        assert repaired.info()["language"] == "en"
        assert {hit.id: hit.score for hit in repaired.search("hour")} == pytest.approx(expected)
        repaired.check()


def test_an_index_without_the_fact_keeps_its_terms(put: Put) -> None:
    """As earlier versions wrote it."""
    made = put(ENGLISH, "old.ast", **WORDS, counting=FIRST_COUNTING)
    views = made.collection.facts("views")
    del views["counting"]
    made.collection.put_fact("views", views)
    with Retriever.open(made.path) as old:
        assert old.info()["language"] == "none"
        old.add(GERMAN)
        assert (old.search("hour").ids, old.search("hours").ids) == ([], ["cats"])


@pytest.mark.parametrize("language", ["xx", "EN", "", 5, None, ["en"]])
def test_wrong_languages(language: Any, model: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="language is"):
        TermCounting(language=language)
    with pytest.raises(InputError, match="language is"):
        Views.from_json({"multi": None, "lexical": "words", "counting": {"language": language}})
    with pytest.raises(InputError, match="counting is a str"):
        Retriever.create(tmp_path / "x.ast", model, counting="en")


@pytest.mark.parametrize("counting", [{"language": "xx"}, {"other": 1}, "en", None, ["en"]])
def test_a_forged_language_is_damage(counting: Any, put: Put) -> None:
    made = put(ENGLISH, **WORDS)
    made.collection.put_fact("views", {**made.collection.facts("views"), "counting": counting})
    with pytest.raises(DamagedIndex, match=r"is not as expected|weighted by other settings"):
        Retriever.open(made.path)


def test_a_language_needs_words(put: Put) -> None:
    with pytest.raises(InputError, match="language is 'en', but the index counts no words"):
        put([], terms="tokens", counting=TermCounting(language="en"))
    made = put(ENGLISH, "tokens.ast", terms="tokens")
    assert (made.info()["language"], stored(made)) == (None, ("none", "none"))
