"""The façade from end to end: on a tiny random checkpoint for what must hold, on the default model for sense."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Document, Explanation, Retriever, TokenBuild, TokenSearch, retriever
from asterism.errors import (
    AsterismError,
    DamagedIndex,
    DocumentError,
    FilterError,
    IndexBusy,
    IndexExists,
    IndexFolderError,
    InputError,
    ModelDiffers,
    NotAnIndex,
    SettingError,
    TextError,
    UnknownDocument,
    UnknownModel,
)
from asterism.indexes import collection_writer
from asterism.settings import EncoderSettings
from tests import layouts

Put = Callable[..., Retriever]

METHODS = ("exact", "colbert", "xtr")
FEW = [
    Document("fox", "The quick brown fox jumps over the lazy dog.", metadata={"year": 1999, "lang": "en"}),
    Document("light", "Who first measured the speed of light?", "Speed", {"year": 2001, "lang": "en"}),
    Document("python", "Run a function every few seconds.", "Python", {"year": 2020, "lang": "de"}),
    Document("empty", ""),
]
QUERIES = ["the quick fox", "who measured the speed of light in time?", "a", "python function"]


def words(count: int = 200, seed: int = 0) -> list[Document]:
    rng = np.random.default_rng(seed)

    def some(least: int, most: int) -> str:
        return " ".join(rng.choice(layouts.WORDS, int(rng.integers(least, most))))

    return [Document(f"d{i}", some(3, 25), some(1, 4) if i % 2 else "", {"n": i}) for i in range(count)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.colbert(tmp_path_factory.mktemp("models") / "colbert")


@pytest.fixture
def put(model: Path, tmp_path: Path, closed_later: Callable[[Retriever], Retriever]) -> Put:
    """Makes an index of documents."""

    def make(documents: list[Document] = FEW, name: str = "x.ast", **settings: Any) -> Retriever:
        made = closed_later(Retriever.create(tmp_path / name, settings.pop("model", model), **settings))
        made.add(documents)
        return made

    return make


@pytest.fixture(scope="module")
def few(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    """Not to be changed."""
    with Retriever.create(tmp_path_factory.mktemp("few") / "x.ast", model) as made:
        made.add(FEW)
        yield made


@pytest.fixture(scope="module")
def clustered(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    """Large enough to be coded, in several segments, with dead documents in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collection_writer, "FLAT_TOKENS", 1000)
        with Retriever.create(tmp_path_factory.mktemp("clustered") / "x.ast", model) as made:
            made.add(words(200))
            made.add(Document(f"late{i}", f"the late fox {i}") for i in range(10))
            made.delete([f"d{i}" for i in range(0, 40, 2)])
            yield made


@pytest.fixture(scope="module")
def sensible(minilm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    texts = {
        "volcano": "Molten rock that reaches the surface of the Earth is called lava.",
        "bread": "Yeast makes the dough rise before it is baked in a hot oven.",
        "moon": "Neil Armstrong was the first person to walk on the Moon, in July 1969.",
        "chess": "The bishop moves diagonally, the rook along ranks and files.",
        "heart": "The left ventricle pumps blood with oxygen into the aorta.",
        "python": "sched.scheduler runs functions at given times, one after another.",
        "whale": "The blue whale is the largest animal that has ever lived.",
        "light": "In 1676 Ole Rømer made the first measurement of the speed of light.",
    }
    with Retriever.create(tmp_path_factory.mktemp("sensible") / "x.ast") as made:
        made.add(Document(id, text) for id, text in texts.items())
        yield made


# --- sense ---


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("question", "id"),
    [
        ("who was the first human on the lunar surface?", "moon"),
        ("how do I bake a loaf?", "bread"),
        ("which astronomer first measured how fast light travels?", "light"),
        ("biggest creature on the planet", "whale"),
    ],
)
def test_an_obvious_question_finds_the_obvious_document(
    sensible: Retriever, question: str, id: str, method: Any
) -> None:
    ranking = sensible.search(question, k=3, method=method)
    assert ranking.ids[0] == id
    assert (ranking.query, ranking.method, len(ranking)) == (question, method, 3)
    assert [hit.rank for hit in ranking] == [1, 2, 3]
    assert [hit.score for hit in ranking] == sorted((hit.score for hit in ranking), reverse=True)
    assert ranking[0].document == sensible.get(id)
    assert ranking.timings["encode"] > 0


def test_an_explanation_points_at_the_words_that_answer(sensible: Retriever) -> None:
    explanation = sensible.explain("the Moon landing of Armstrong", "moon")
    text = explanation.document.text
    answers = {match.query_token: text[match.begin : match.end] for match in explanation.matches if match.begin >= 0}
    assert answers["moon"] == "Moon"
    assert answers["armstrong"] == "Armstrong"


def test_many_queries_as_one_by_one_with_the_default_model(sensible: Retriever) -> None:
    queries = ["speed of light", "a", "how does a bishop move on the board of a game?"]
    assert sensible.search_many(queries, 4) == [sensible.search(query, 4) for query in queries]


# --- create, open ---


def test_create_add_open_search(put: Put, model: Path) -> None:
    made = put()
    before = made.search("quick fox", 4)
    with Retriever.open(made.path) as opened:
        assert opened.search("quick fox", 4) == before
        assert (len(opened), list(opened)) == (4, FEW)
        assert opened.info()["model"] == str(model.resolve())


@pytest.mark.parametrize("taken", ["file", "folder", "link"])
def test_create_where_something_is(taken: str, tmp_path: Path, model: Path) -> None:
    place = tmp_path / "x"
    place.touch() if taken == "file" else place.mkdir() if taken == "folder" else place.symlink_to("nowhere")
    with pytest.raises(IndexExists, match="exists already"):
        Retriever.create(place, model)


def test_create_without_a_usable_model_leaves_nothing(tmp_path: Path) -> None:
    dense = layouts.sentence_transformer(tmp_path / "dense")
    with pytest.raises(InputError, match="no multi vectors"):
        Retriever.create(tmp_path / "x.ast", dense, views=["multi"])
    for name in ("all-MiniLM", tmp_path / "nowhere", 5):
        with pytest.raises(InputError):
            Retriever.create(tmp_path / "x.ast", name)  # type: ignore[arg-type]
    assert [file.name for file in tmp_path.iterdir()] == ["dense"]


def test_open_what_is_no_index(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "file", tmp_path / "nowhere"):
        with pytest.raises(NotAnIndex):
            Retriever.open(place)


def test_another_model_is_refused(put: Put, tmp_path: Path) -> None:
    path = put().path
    other = layouts.colbert(tmp_path / "other", query_maxlen=16)
    with pytest.raises(ModelDiffers, match="other is not the model"):
        Retriever.open(path, model=other)


def test_a_moved_model_is_found_by_saying_where(put: Put, model: Path, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    shutil.copytree(model, old)
    made = put(model=old)
    before = made.search("fox", 2)
    made.close()
    shutil.move(old, new)
    with Retriever.open(made.path) as opened, pytest.raises(UnknownModel, match="open\\(path, model=\\) or --model"):
        opened.search("fox")
    with Retriever.open(made.path, model=new) as opened:
        assert opened.search("fox", 2) == before


def test_settings_are_kept(put: Put) -> None:
    made = put(build=TokenBuild(bits=2), encoder=EncoderSettings(precision="float32"))
    info = Retriever.open(made.path).info()
    assert (info["bits"], info["precision"], info["dimensions"]) == (2, "float32", 16)


# --- add, update, delete, get ---


def test_documents_come_back_as_they_were(put: Put) -> None:
    odd = Document("ünï#code 東京", "a\r\n\tb \U0001f98a", "t", {"list": [1, {"x": None}], "half": 0.5, "yes": True})
    made = put([*FEW, odd])
    assert made.get(odd.id) == odd
    assert odd.id in made
    assert "other" not in made
    assert 5 not in made
    assert "\ud800" not in made
    with pytest.raises(UnknownDocument, match="'other'"):
        made.get("other")


def test_add_takes_generators_and_tells_progress(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retriever, "BATCH_DOCUMENTS", 3)
    made, told = put([]), []
    assert made.add((document for document in words(8)), progress=told.append) == 8
    assert told == [3, 6, 8]
    assert len(made) == 8
    assert made.add([]) == made.add(iter(())) == 0


def test_long_documents_make_small_batches(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retriever, "BATCH_CHARACTERS", 100)
    told: list[int] = []
    put([]).add([Document(f"{i}", "fox " * 20) for i in range(4)], progress=told.append)
    assert told == [2, 4]


def not_a_document() -> Any:
    return {"_id": "bad", "text": "a dict"}


def bad_document() -> Any:
    return Document("bad\n", "an id with a newline")


def unreadable_document() -> Any:
    return Path("/nowhere/at/all").read_text()


@pytest.mark.parametrize("bad", [not_a_document, bad_document, unreadable_document])
def test_a_batch_is_there_or_not(put: Put, monkeypatch: pytest.MonkeyPatch, bad: Callable[[], Any]) -> None:
    monkeypatch.setattr(retriever, "BATCH_DOCUMENTS", 2)
    made, given = put([]), words(6)

    def documents() -> Iterator[Document]:
        yield from given[:3]
        yield bad()
        yield from given[3:]

    with pytest.raises(DocumentError):
        made.add(documents())
    assert list(made) == given[:2]
    made.check()
    assert made.add(made.missing(given)) == 4
    assert list(made) == given


def test_an_error_of_the_generator_comes_through(put: Put) -> None:
    def documents() -> Iterator[Document]:
        yield FEW[0]
        raise RuntimeError("mine")

    made = put([])
    with pytest.raises(RuntimeError, match="mine"):
        made.add(documents())
    assert len(made) == 0


def test_an_existing_id_is_an_error(put: Put) -> None:
    made = put()
    with pytest.raises(DocumentError, match=r"'fox' already: pass update=True \(--update\)"):
        made.add([Document("new", "new"), Document("fox", "other")])
    assert list(made) == FEW


@pytest.mark.parametrize("update", [False, True])
def test_an_id_given_twice_is_an_error(put: Put, update: bool) -> None:
    made = put()
    with pytest.raises(DocumentError, match="'a' was given twice"):
        made.add([Document("a", "1"), Document("b", "2"), Document("a", "3")], update=update)
    assert list(made) == FEW


def test_update_replaces(put: Put) -> None:
    made = put()
    new = [Document("fox", "read and write a file", metadata={"year": 1}), Document("more", "more")]
    assert made.update(new) == 2
    assert list(made) == [*FEW[1:], *new]
    ranking = made.search("read and write a file", 1, filter={"year": 1})
    assert ranking[0].document == new[0]
    assert made.search("fox", filter={"year": 1999}).ids == []


def test_delete(put: Put) -> None:
    made = put()
    with pytest.raises(UnknownDocument, match="'no': nothing was deleted"):
        made.delete(["fox", "no"])
    assert len(made) == 4
    assert made.delete(["fox", "no", "fox"], missing_ok=True) == 1
    assert made.delete(id for id in ("light", "python")) == 2
    assert made.search("fox", 4).ids == ["empty"]
    assert made.delete([]) == 0
    made.add(FEW[:1])
    assert sorted(made.search("fox", 4).ids) == ["empty", "fox"]


def test_missing_goes_on_where_it_stopped(put: Put) -> None:
    made = put(FEW[:2])
    assert list(made.missing(FEW)) == FEW[2:]
    assert made.add(made.missing(FEW)) == 2
    assert list(made.missing(iter(FEW))) == []


def test_iterating_does_not_hold_the_index(put: Put) -> None:
    made = put()
    with closing(iter(made)) as documents:  # type: ignore[type-var]
        for document in documents:
            assert made.get(document.id) == document
            made.delete([document.id])
    assert len(made) == 0


# --- search ---


@pytest.mark.parametrize("method", METHODS)
def test_k_beyond_the_corpus_returns_all(few: Retriever, clustered: Retriever, method: Any) -> None:
    assert sorted(few.search("fox", 100, method=method).ids) == ["empty", "fox", "light", "python"]
    assert len(clustered.search("fox", 1000, method=method)) == len(clustered) == 190


def test_the_first_of_many_are_the_first_of_few(clustered: Retriever) -> None:
    assert clustered.search("quick fox", 5, method="exact").hits == clustered.search("quick fox", 9, method="exact")[:5]


@pytest.mark.parametrize("method", METHODS)
def test_an_empty_index_finds_nothing(put: Put, method: Any) -> None:
    made = put([])
    assert [len(ranking) for ranking in made.search_many(QUERIES, method=method)] == [0] * len(QUERIES)
    made.add(FEW)
    made.delete(document.id for document in FEW)
    for _ in range(2):
        assert (len(made), list(made), made.search("fox", method=method, filter={"year": 1}).hits) == (0, [], ())
        made.compact()
        made.check()
    made.add(FEW)
    assert len(made.search("fox", method=method)) == 4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"lang": "en"}, {"fox", "light"}),
        ({"year": {"$gte": 2001}}, {"light", "python"}),
        ({"year": {"$gte": 2001}, "lang": "de"}, {"python"}),
        ({"$or": [{"lang": "de"}, {"year": {"$exists": False}}]}, {"python", "empty"}),
        ({"lang": {"$nin": ["en"]}}, {"python", "empty"}),
        ({"lang": "fr"}, set()),
        ({}, {"fox", "light", "python", "empty"}),
    ],
)
def test_filters(few: Retriever, where: dict[str, Any], expected: set[str], method: Any) -> None:
    assert set(few.search("fox", 4, filter=where, method=method).ids) == expected


@pytest.mark.parametrize("method", METHODS)
def test_a_filter_leaves_k_results(clustered: Retriever, method: Any) -> None:
    where = {"n": {"$gte": 180}}
    found = clustered.search("quick fox", 20, filter=where, method=method)
    assert sorted(found.ids) == sorted(f"d{i}" for i in range(180, 200))
    assert len(clustered.search("quick fox", 7, filter=where, method=method)) == 7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("threads", [0, 1, 2])
def test_many_queries_as_one_by_one(clustered: Retriever, method: Any, threads: int) -> None:
    for where in (None, {"n": {"$lt": 100}}):
        many = clustered.search_many(QUERIES, 5, method=method, filter=where, threads=threads)
        assert many == [clustered.search(query, 5, method=method, filter=where) for query in QUERIES]


def test_no_queries(few: Retriever) -> None:
    assert few.search_many([]) == []


def test_method_goes_before_settings(few: Retriever) -> None:
    assert few.search("fox").method == "colbert"
    assert few.search("fox", settings=TokenSearch(method="xtr")).method == "xtr"
    assert few.search("fox", method="exact", settings=TokenSearch(method="xtr")).method == "exact"


# --- explain ---


def spans_are_right(explanation: Explanation) -> int:
    """Checks every place; returns how many there were."""
    document, places = explanation.document, 0
    for match in explanation.matches:
        if match.query_begin >= 0:
            asked = explanation.query[match.query_begin : match.query_end]
            assert asked.lower() == match.query_token.removeprefix("##")
        if match.begin >= 0:
            source = {"title": document.title, "text": document.text}[match.field]
            assert source[match.begin : match.end].lower() == match.token.removeprefix("##")
            places += 1
        else:
            assert (match.field, match.end) == ("", -1)
    return places


@pytest.mark.parametrize("method", ["exact", "colbert"])
def test_an_explanation_adds_up_to_the_score(clustered: Retriever, method: Any) -> None:
    assert clustered.info()["centroids"] > 1
    for query in QUERIES:
        for hit in clustered.search(query, 8, method=method):
            explanation = clustered.explain(query, hit.id, method=method)
            assert explanation.score == hit.score
            assert sum(match.similarity for match in explanation.matches) == pytest.approx(hit.score, rel=1e-5)
            assert explanation.imputed == 0
            assert spans_are_right(explanation) > 0


XTR = [
    TokenSearch(method="xtr", imputation=imputation, **few)  # type: ignore[arg-type]
    for imputation in ("kth", "cluster", "zero", "none")
    for few in ({}, {"probes": 4, "retrieved": 50, "cluster_tokens": 30})
]


@pytest.mark.parametrize("settings", XTR, ids=lambda one: f"{one.imputation}-{one.probes}")
def test_an_explanation_of_xtr_tells_what_was_imputed(clustered: Retriever, settings: TokenSearch) -> None:
    imputed = 0
    for query in QUERIES[:2]:
        for hit in clustered.search(query, 3, settings=settings):
            explanation = clustered.explain(query, hit.id, settings=settings)
            best = clustered.explain(query, hit.id, method="exact")
            found = [match for match in explanation.matches if not match.imputed]
            total = sum(match.similarity for match in found) + explanation.imputed
            if settings.imputation == "none":
                total *= len(explanation.matches) / len(found)
            assert explanation.score == pytest.approx(total, rel=1e-5)
            assert explanation.score == pytest.approx(hit.score, rel=1e-5)
            for match, exact in zip(explanation.matches, best.matches, strict=True):
                assert match.imputed or match.similarity <= exact.similarity
                assert not match.imputed or match.begin == -1
            if settings.imputation in ("zero", "none"):
                assert explanation.imputed == 0
            imputed += len(explanation.matches) - len(found)
            spans_are_right(explanation)
    assert imputed > 0 or not settings.probes


def test_an_explanation_of_xtr_has_the_score_to_the_bit(clustered: Retriever) -> None:
    for settings in XTR:
        for k, where in ((8, None), (8, {"n": {"$lt": 120}}), (150, None)):
            for hit in clustered.search(QUERIES[1], k, settings=settings, filter=where)[:8]:
                explanation = clustered.explain(QUERIES[1], hit.id, k=k, settings=settings, filter=where)
                assert explanation.score == hit.score


def test_explain_in_a_flat_index(few: Retriever) -> None:
    for method in METHODS:
        for hit in few.search("the speed of light", 4, method=method):  # type: ignore[arg-type]
            explanation = few.explain("the speed of light", hit.id, method=method)  # type: ignore[arg-type]
            assert (explanation.score, explanation.imputed) == (hit.score, 0)
    fields = {match.field for match in few.explain("the speed of light", "light").matches}
    assert {"title", "text"} & fields


def test_a_fixed_number_of_vectors(put: Put, tmp_path: Path) -> None:
    made = put(words(30), model=layouts.constbert(tmp_path / "constbert"))
    assert made.info()["vectors"] == 8 * 30
    ranking = made.search("fox", 30)
    assert len(ranking) == 30
    explanation = made.explain("fox", ranking.ids[0])
    assert explanation.score == ranking[0].score
    assert explanation.matches
    assert all((match.token, match.field, match.begin) == ("", "", -1) for match in explanation.matches)
    with Retriever.open(made.path) as opened:
        opened.update(FEW)
        assert opened.info()["vectors"] == 8 * 34


# --- compact, check, info ---


def test_compact_drops_the_dead_and_changes_no_answer(put: Put) -> None:
    made = put(words(40))
    made.add([Document("late", "late")])
    made.delete([f"d{i}" for i in range(15)])
    before = made.search_many(QUERIES, 30)
    assert made.info()["deleted"] == 15
    made.compact()
    info = made.info()
    assert (info["documents"], info["deleted"], info["segments"]) == (26, 0, 1)
    assert made.search_many(QUERIES, 30) == before
    made.check()


def test_info(put: Put) -> None:
    made = put()
    info = made.info()
    files = [file for file in made.path.rglob("*") if file.suffix in (".npy", ".sqlite")]
    assert info["bytes"] == sum(file.stat().st_size for file in files)
    assert (info["documents"], info["segments"], info["storage"]) == (4, 1, "floats, searched exactly")
    assert put([], "empty.ast").info()["dimensions"] == 16


def test_check_finds_damage(put: Put) -> None:
    made = put()
    made.check()
    made.close()
    file = next(made.path.rglob("codes.npy"))
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with Retriever.open(made.path) as opened, pytest.raises(DamagedIndex, match=r"codes\.npy"):
        opened.check()


def test_a_job_is_remembered_until_it_is_finished(put: Put) -> None:
    made = put()
    assert made.job() is None
    made.start_job({"bits": 4})
    with Retriever.open(made.path) as opened:
        assert opened.job() == {"bits": 4}
        opened.finish_job()
    assert made.job() is None


# --- two at a time ---


def test_a_reader_sees_what_another_wrote(put: Put) -> None:
    writer = put(FEW[:2])
    with Retriever.open(writer.path) as reader:
        assert sorted(reader.search("fox", 9).ids) == ["fox", "light"]
        writer.add(FEW[2:])
        assert len(reader.search("fox", 9)) == len(reader) == 4
        writer.delete(["fox"])
        writer.compact()
        assert sorted(reader.search("fox", 9).ids) == ["empty", "light", "python"]
        reader.delete(["light"])
        assert "light" not in writer


def test_a_second_writer_is_told_to_wait(put: Put) -> None:
    writer = put([])
    with Retriever.open(writer.path) as second:

        def documents() -> Iterator[Document]:
            yield FEW[0]
            for attempt in (
                lambda: second.add(FEW[1:]),
                lambda: second.delete([], missing_ok=True),
                second.compact,
                lambda: writer.add(FEW[1:]),
            ):
                with pytest.raises(IndexBusy, match="is being written"):
                    attempt()
            assert second.search("fox").ids == []
            with Retriever.open(writer.path) as third:
                assert len(third) == 0

        writer.add(documents())
        assert second.search("fox").ids == ["fox"]
        second.add(FEW[1:])


# --- wrong use ---

CLOSED: list[Callable[[Retriever], object]] = [
    lambda r: r.add(FEW),
    lambda r: r.update(FEW),
    lambda r: r.delete(["fox"]),
    lambda r: r.get("fox"),
    lambda r: r.search("fox"),
    lambda r: r.search_many(["fox"]),
    lambda r: r.explain("fox", "fox"),
    lambda r: r.compact(),
    lambda r: r.check(),
    lambda r: r.info(),
    len,
    lambda r: "fox" in r,
    list,
    lambda r: list(r.missing(FEW)),
    lambda r: r.job(),
]


def test_a_closed_retriever_says_so(put: Put) -> None:
    made = put()
    made.close()
    made.close()
    for call in CLOSED:
        with pytest.raises(IndexFolderError, match="was closed: open it again"):
            call(made)
    with Retriever.open(made.path) as opened:
        assert list(opened) == FEW


WRONG: list[tuple[Callable[[Any], object], type[AsterismError], str]] = [
    (lambda r: r.add(FEW[0]), DocumentError, "a Document was given, expected several"),
    (lambda r: r.add("text"), DocumentError, "a str was given"),
    (lambda r: r.add(None), DocumentError, "a NoneType was given"),
    (lambda r: r.add(["text"]), DocumentError, r"expected asterism\.Document"),
    (lambda r: r.add([], progress=3), InputError, "progress is 3"),
    (lambda r: list(r.missing(["text"])), DocumentError, "a str was given"),
    (lambda r: r.delete("fox"), InputError, "ids is 'fox', expected a list"),
    (lambda r: r.delete(None), InputError, "ids is None"),
    (lambda r: r.delete(["fox", 5]), InputError, "the id is 5"),
    (lambda r: r.delete(["\ud800"]), InputError, r"the id is '\\ud800'"),
    (lambda r: r.get(5), InputError, "the id is 5"),
    (lambda r: r.get(["fox"]), InputError, "the id is"),
    (lambda r: r.get("\ud800"), InputError, "whole characters"),
    (lambda r: r.search(5), TextError, "the query is a int"),
    (lambda r: r.search(""), TextError, "the query is empty"),
    (lambda r: r.search(" \n\t"), TextError, "the query is empty"),
    (lambda r: r.search("fox " * 2_500_000), TextError, "10,000,000 characters, expected at most 100,000"),
    (lambda r: r.search("fox \ud800"), TextError, "half a character"),
    (lambda r: r.search("fox", 0), SettingError, "k is 0"),
    (lambda r: r.search("fox", -1), SettingError, "k is -1"),
    (lambda r: r.search("fox", 2.0), SettingError, r"k is 2\.0"),
    (lambda r: r.search("fox", True), SettingError, "k is True"),
    (
        lambda r: r.search("fox", method="bm25"),
        SettingError,
        "method is 'bm25', expected one of 'colbert', 'xtr', 'exact'",
    ),
    (lambda r: r.search("fox", method=["xtr"]), SettingError, "method is"),
    (lambda r: r.search("fox", settings={"probes": 2}), InputError, r"expected TokenSearch"),
    (lambda r: r.search("fox", settings={}, method="xtr"), InputError, r"expected TokenSearch"),
    (lambda r: r.search("fox", filter=5), FilterError, "the filter is 5"),
    (lambda r: r.search("fox", filter={"year": {"$near": 1}}), FilterError, r"\$near"),
    (lambda r: r.search("fox", filter={"year": {"$in": 1}}), FilterError, "expected a list"),
    (lambda r: r.search("fox", filter={"\ud800": 1}), FilterError, "half a character"),
    (lambda r: r.search_many("fox"), TextError, "a str was given"),
    (lambda r: r.search_many(5), TextError, "a int was given"),
    (lambda r: r.search_many(["fox", None]), TextError, "NoneType"),
    (lambda r: r.search_many(["fox"], threads=-1), SettingError, "threads is -1"),
    (lambda r: r.search_many(["fox"], threads="2"), SettingError, "threads is '2'"),
    (lambda r: r.explain("fox", "no"), UnknownDocument, "'no'"),
    (lambda r: r.explain("fox", 5), InputError, "the id is 5"),
    (lambda r: r.explain("fox", ["fox"]), InputError, "the id is"),
    (lambda r: r.explain("", "fox"), TextError, "empty"),
    (lambda r: r.explain("fox", "fox", method="bm25"), SettingError, "bm25"),
    (lambda r: Retriever.open(5), InputError, "path is a int"),
    (lambda r: Retriever.open(r.path, 5), UnknownModel, "5 was given"),
    (lambda r: Retriever.create(None), InputError, "path is a NoneType"),
    (lambda r: Retriever.create("x.ast", build={"bits": 2}), InputError, "expected TokenBuild"),
    (lambda r: Retriever.create("x.ast", encoder="int8"), InputError, "expected EncoderSettings"),
]


@pytest.mark.parametrize(("call", "kind", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_wrong_use(
    few: Retriever,
    call: Callable[[Any], object],
    kind: type[AsterismError],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
        call(few)
    assert list(few) == FEW
    assert not list(tmp_path.iterdir())
