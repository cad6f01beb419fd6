"""An index measures itself: which documents, which scores, when, and what happens if it cannot."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Document, HybridSearch, LexicalWeights, Representations, Retriever, TokenVectors
from asterism.errors import DamagedIndex, EncodingError
from asterism.retriever import profiling
from asterism.retriever.profiling import (
    choose_documents,
    compare_token_vectors,
    measure_profile,
    spread_terms,
)
from asterism.search.asked import Asked
from asterism.search.profile import UNMEASURED, Pairs
from asterism.settings import K1, TokenSearch, View
from asterism.terms.counting import count_query_words, count_words
from tests import layouts
from tests.unit.retriever.all_views import PutWith

METHODS = {"dense": "dense", "lexical": "lexical", "multi": "exact"}


def write_documents(count: int, first: int = 0) -> list[Document]:
    """Three sentences each, of different words."""
    made = []
    for number in range(first, first + count):
        rng = np.random.default_rng(number)
        sentences = [" ".join(rng.choice(layouts.WORDS, 8)) for _ in range(3)]
        made.append(Document(f"d{number}", ". ".join(sentences) + ".", "the title" if number % 3 else ""))
    return made


@pytest.fixture(scope="module", params=["weights", "BM25"])
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    """Thirty documents, with a model that has all views, and with counted words; not to be changed."""
    folder = tmp_path_factory.mktemp("measured")
    terms: Any = "model" if request.param == "weights" else "words"
    with Retriever.create(folder / "x.ast", layouts.bge_m3(folder / "m3"), terms=terms) as made:
        made.add(write_documents(30))
        yield made


# --- what is measured ---


def test_the_profile_is_that_of_sentences_and_rests(measured: Retriever, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once more, from the encoder's representations: the mean of the largest similarities, cosines, and terms."""
    taken: list[Any] = []
    keep = profiling.take_out_sentences
    monkeypatch.setattr(profiling, "take_out_sentences", lambda found: taken.append(keep(found)) or taken[-1])
    found = measured.measure()
    pairs = [(one.sentence, one.rest) for one in taken[0]]
    assert len(pairs) == 16
    documents = {document.id: document for document in measured}
    for sentence, rest in pairs:
        (whole,) = [one for one in documents.values() if sentence in one.text and (one.title or "") in rest]
        assert set(f"{whole.title} {whole.text}".split()) == set(sentence.split()) | set(rest.split())
    sentences, texts = [sentence for sentence, _ in pairs], [rest for _, rest in pairs]
    asked, rests = measured.encoder.encode_query(sentences), measured.encoder.encode_document(texts)
    scores: dict[View, np.ndarray] = {
        "dense": np.array([[q @ d for d in rests.dense] for q in asked.dense]),
        "multi": np.array(
            [
                [(rests.multi[j] @ asked.multi[i].T).max(axis=0).mean() for j in range(len(pairs))]
                for i in range(len(pairs))
            ]
        ),
        "lexical": weigh_terms(measured, sentences, texts, asked, rests),
    }
    readable = measured.encoder.measure_readable(texts).mean()
    compared = Pairs(scores)
    owners = [next(one.id for one in documents.values() if sentence in one.text) for sentence, _ in pairs]
    rivals = find_rivals(measured, sentences, owners)
    expected = compared.measure(rivals, readable)
    assert (found.documents, found.pairs, found.readable) == (30, 16, pytest.approx(readable))
    assert found.slope == pytest.approx(expected.slope, rel=1e-4)
    assert found.midpoint == pytest.approx(expected.midpoint, abs=1e-4)
    for view, one in expected.views.items():
        assert found.views[view].worth == one.worth
        assert found.views[view].gap == pytest.approx(one.gap, rel=1e-4, abs=1e-7)
        assert found.views[view].background == pytest.approx(one.background, rel=1e-4, abs=1e-6)


def find_rivals(made: Retriever, sentences: list[str], owners: list[str]) -> dict[View, np.ndarray]:
    """(sentences,) by view: the best score of another document; token vectors as the index has them."""
    asked, texts = made.encoder.encode_query(sentences), [document.full_text for document in made]
    whole = made.encoder.encode_document(texts)
    rankings = made.search_many(sentences, 2, method="colbert")
    best = [
        next(hit.score for hit in ranking if hit.id != owner) for ranking, owner in zip(rankings, owners, strict=True)
    ]
    others = np.array([[document.id != owner for document in made] for owner in owners])
    return {
        "dense": np.where(others, asked.dense @ whole.dense.T, -np.inf).max(axis=1),
        "lexical": np.where(others, weigh_terms(made, sentences, texts, asked, whole), -np.inf).max(axis=1),
        "multi": np.array(best) / np.diff(asked.multi.offsets),
    }


def weigh_terms(
    made: Retriever, sentences: list[str], rests: list[str], asked: Representations, content: Representations
) -> np.ndarray:
    """(sentences, rests): products of a model's weights; or BM25 as in the index, by the root of what is possible."""

    def weights(entries: LexicalWeights, row: int) -> dict[int, float]:
        part = slice(entries.offsets[row], entries.offsets[row + 1])
        return dict(zip(entries.terms[part].tolist(), entries.weights[part].tolist(), strict=True))

    if made.info()["terms"] == "model":
        queries = [weights(asked.lexical, i) for i in range(len(sentences))]
        found = [weights(content.lexical, i) for i in range(len(rests))]
        return np.array([[sum(w * d.get(t, 0.0) for t, w in q.items()) for d in found] for q in queries])
    language = made.info()["language"]
    corpus = count_words([document.full_text for document in made], language)
    texts = [weights(corpus, i) for i in range(len(made))]
    mean = sum(sum(text.values()) for text in texts) / len(texts)
    counted = [count_query_words(sentences, language), count_words(rests, language)]
    scores = np.zeros((len(sentences), len(rests)))
    for i in range(len(sentences)):
        query = weights(counted[0], i)
        frequency = {term: sum(term in text for text in texts) for term in query}
        rarity = {t: math.log(1 + (len(texts) - df + 0.5) / (df + 0.5)) for t, df in frequency.items()}
        possible = (K1 + 1) * sum(count * rarity[term] for term, count in query.items())
        for j in range(len(rests)):
            rest = weights(counted[1], j)
            share = 0.25 + 0.75 * sum(rest.values()) / mean
            parts = [
                n * rarity[t] * (K1 + 1) * rest.get(t, 0) / (rest.get(t, 0) + K1 * share) for t, n in query.items()
            ]
            scores[i, j] = sum(parts) / math.sqrt(possible)
    return scores


def test_terms_score_as_in_the_index(measured: Retriever) -> None:
    """The rest of a document, if nothing was taken out of it, has the score of the document."""
    counted = measured.info()["terms"] == "words"
    queries = ["the quick fox", "vector of light, the the", "speed"]
    texts = [document.full_text for document in measured]
    content = measured.encoder.encode_document(texts, views=["lexical"])
    asked = measured.encoder.encode_query(queries, views=["lexical"])
    if counted:
        asked, content = (
            Representations(3, lexical=count_words(queries)),
            Representations(30, lexical=count_words(texts)),
        )
    snapshot = measured.collection.snapshot()
    assert snapshot.lexical is not None
    assert content.lexical is not None
    found = profiling.compare_terms(Asked(snapshot, asked, ["lexical"], TokenSearch(), None, 1), content.lexical)
    prepared = snapshot.lexical.prepare(asked)
    for i in range(3):
        scores = snapshot.lexical.scores(prepared[i], np.arange(30))
        possible = (K1 + 1) * prepared[i][1].sum() if counted else 1.0
        np.testing.assert_allclose(
            found[i], scores / math.sqrt(possible), rtol=1e-3 if not counted else 1e-5, atol=1e-7
        )


def test_a_query_without_words_scores_nothing(measured: Retriever) -> None:
    snapshot = measured.collection.snapshot()
    none = LexicalWeights([0, 0, 2, 2], [3, 5], [1.0, 1.0])
    some = LexicalWeights([0, 2, 2], [3, 5], [1.0, 2.0])
    assert snapshot.lexical is not None
    queries = Representations(3, lexical=none)
    found = profiling.compare_terms(Asked(snapshot, queries, ["lexical"], TokenSearch(), None, 1), some)
    assert found.shape == (3, 2)
    assert (found[[0, 2]] == 0).all()
    assert (found[:, 1] == 0).all()
    assert found[1, 0] > 0


def test_spread_terms() -> None:
    entries = LexicalWeights([0, 2, 2, 5], [4, 9, 1, 4, 12], [1.0, 2.0, 3.0, 4.0, 5.0])
    assert spread_terms(entries, np.array([1, 4, 10])).tolist() == [[0, 1, 0], [0, 0, 0], [3, 4, 0]]
    assert spread_terms(entries, np.array([], np.int64)).shape == (3, 0)
    assert spread_terms(entries, np.array([12])).tolist() == [[0], [0], [5]]
    assert spread_terms(LexicalWeights([0], [], []), np.array([1, 2])).shape == (0, 2)


@pytest.mark.parametrize("seed", range(3))
def test_compare_token_vectors(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "AT_ONCE", seed + 1)
    rng = np.random.default_rng(seed)

    def make(shortest: int) -> TokenVectors:
        rows = [rng.normal(size=(int(rng.integers(shortest, 5)), 6)).astype(np.float32) for _ in range(7)]
        return TokenVectors.from_documents([*rows, rows[0][:shortest]])

    queries, documents = make(1), make(0)
    expected = [
        [np.mean([max((float(v @ q) for v in documents[j]), default=-1.0) for q in queries[i]]) for j in range(8)]
        for i in range(8)
    ]
    np.testing.assert_allclose(compare_token_vectors(queries, documents), expected, rtol=1e-5, atol=1e-6)
    assert (compare_token_vectors(queries, documents)[:, 7] == -1).all()  # it has no vectors


# --- which documents ---


@pytest.mark.parametrize(
    ("documents", "expected"),
    [(0, 16), (20, 16), (33, 16), (240, 120), (256, 128), (8_000, 128), (27_413, 428), (40_000, 512), (10**7, 512)],
)
def test_how_many_documents_are_compared(documents: int, expected: int) -> None:
    assert profiling.count_documents(documents) == expected


def test_neither_order_nor_batches_change_the_choice(put_with: PutWith, tokens: Path) -> None:
    documents = write_documents(24)
    once = put_with(tokens, documents, views=["lexical"])
    turned = put_with(tokens, documents[::-1], views=["lexical"])
    several = put_with(tokens, [], views=["lexical"])
    several.add([Document("gone", "This one is not there any more. It was deleted."), Document("d3", "to be replaced")])
    for start in range(0, 24, 5):
        several.update(documents[start : start + 5])
    several.delete(["gone"])
    chosen = [
        [document.id for document in choose_documents(one.collection, 6).values()] for one in (once, turned, several)
    ]
    assert chosen[0] == chosen[1] == chosen[2]
    assert len(set(chosen[0])) == 6
    assert once.measure() == turned.measure()


def test_a_larger_choice_begins_with_the_smaller_one(put_with: PutWith, tokens: Path) -> None:
    made = put_with(tokens, write_documents(24), views=["lexical"])
    ids = [document.id for document in choose_documents(made.collection, 100).values()]
    assert set(ids) == {f"d{i}" for i in range(24)}
    for count in (0, 1, 5, 24):
        assert [document.id for document in choose_documents(made.collection, count).values()] == ids[:count]


def test_documents_without_text_are_not_chosen(put_with: PutWith, tokens: Path) -> None:
    empty = [Document(f"e{i}", " \n" if i % 2 else "", "a title") for i in range(8)]
    made = put_with(tokens, [*write_documents(8), *empty], views=["lexical"])
    assert {document.id for document in choose_documents(made.collection, 16).values()} == {f"d{i}" for i in range(8)}


def test_ids_of_any_script_are_chosen(put_with: PutWith, tokens: Path) -> None:
    made = put_with(tokens, [Document("月球 🦊", "some text"), Document("ü", "another text")], views=["lexical"])
    assert len(choose_documents(made.collection, 4)) == 2


# --- when ---


def test_measured_again_when_doubled_and_not_before(put_with: PutWith, tokens: Path) -> None:
    made = put_with(tokens, write_documents(20))
    first = made.profile
    assert (first.documents, first.pairs) == (20, 16)
    made.add(write_documents(9, 20))
    made.update(write_documents(10))
    made.delete(["d0"])
    made.compact()
    assert made.profile == first
    made.add(write_documents(2, 39))
    assert (made.profile.documents, made.profile.added, made.profile != first) == (30, 41, True)
    with Retriever.open(made.path) as opened:
        assert opened.profile == made.profile
        opened.check()
        assert opened.measure() == made.profile  # at any time, with the same result


def test_measured_again_when_all_were_replaced(put_with: PutWith, tokens: Path) -> None:
    made = put_with(tokens, write_documents(20))
    first = made.profile
    made.update([Document(one.id, other.text) for one, other in zip(made, write_documents(20, 500), strict=True)])
    assert (made.profile.documents, made.profile.added) == (20, 40)
    assert made.profile.views != first.views


def test_a_profile_of_an_earlier_version(put_with: PutWith, tokens: Path) -> None:
    """It does not know how many documents had been added: measured when the index has doubled."""
    made = put_with(tokens, write_documents(20))
    stored = made.profile.to_json()
    del stored["added"]
    made.collection.put_fact("profile", stored)
    made.update(write_documents(20))
    assert made.profile.added == 0
    made.add(write_documents(20, 20))
    assert (made.profile.documents, made.profile.added) == (40, 60)


def test_batches_of_one_add_are_measured_once(put_with: PutWith, tokens: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    keep = profiling.choose_documents
    monkeypatch.setattr(profiling, "choose_documents", lambda *given: calls.append(given[1]) or keep(*given))
    made = put_with(tokens, write_documents(300), views=["lexical"])  # more than a batch
    assert calls == [128]
    made.update(write_documents(40))
    made.add([])
    assert calls == [128]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_tiny_index_has_usual_scales(put_with: PutWith, m3: Path, count: int) -> None:
    made = put_with(m3, write_documents(count))
    assert made.profile == replace(UNMEASURED, documents=count, added=count)
    assert made.measure().pairs == 0
    assert made.info()["readable"] is None
    assert len(made.search("the quick fox")) == count
    made.add(write_documents(8, 100))
    assert made.profile.documents == count + 8


def test_empty_and_short_texts_tell_nothing(put_with: PutWith, m3: Path) -> None:
    texts = ["", " ", "fox", "the fox.", "a\nb", "?!"] * 4
    made = put_with(m3, [Document(f"{i}", text) for i, text in enumerate(texts)])
    assert made.profile == replace(UNMEASURED, documents=24, added=24)
    assert len(made.search("fox", 50)) == 24


def test_equal_documents_tell_nothing(put_with: PutWith, m3: Path) -> None:
    text = write_documents(1)[0].text
    made = put_with(m3, [Document(f"{i}", text) for i in range(8)])
    assert np.isfinite([hit.score for hit in made.search("the quick fox")]).all()
    made.check()


@pytest.mark.parametrize("view", ["dense", "lexical", "multi"])
def test_an_index_of_one_view(put_with: PutWith, m3: Path, view: View) -> None:
    made = put_with(m3, write_documents(12), views=[view])
    assert set(made.profile.views) == {view}
    assert made.profile.views[view].worth == 1
    assert made.search("the quick fox").method == {"multi": "colbert"}.get(view, view)


def test_all_are_deleted(put_with: PutWith, m3: Path) -> None:
    made = put_with(m3, write_documents(12))
    assert made.profile.pairs
    made.delete([f"d{i}" for i in range(12)])
    before = made.profile
    assert made.measure() == replace(UNMEASURED, added=12)
    assert made.profile == replace(before, documents=0)  # what was measured stays
    assert made.search("the quick fox").ids == []
    made.compact()
    assert made.measure() == replace(UNMEASURED, added=12)
    made.check()
    made.add(write_documents(30, 50))
    assert made.profile.documents == 30


def test_a_lexical_index_is_measured_without_the_model(
    put_with: PutWith, tokens: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = put_with(tokens, write_documents(12), views=["lexical"])
    profile = measure_profile(made.collection, made.collection.views(), lambda: pytest.fail("it was loaded"))
    assert profile == made.profile
    assert profile is not None
    assert profile.readable == 1


# --- what can go wrong ---


@pytest.mark.parametrize("error", [KeyboardInterrupt, EncodingError("out of memory"), MemoryError], ids=repr)
def test_documents_are_committed_before_they_are_measured(
    put_with: PutWith, m3: Path, monkeypatch: pytest.MonkeyPatch, error: Any
) -> None:
    made = put_with(m3, [])

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(profiling, "encode_views", fail)
        with pytest.raises(error if isinstance(error, type) else type(error)):
            made.add(write_documents(12))
    assert len(made) == 12
    made.check()
    assert made.profile == UNMEASURED
    assert len(made.search("the quick fox")) == 10
    with Retriever.open(made.path) as opened:
        assert len(opened) == 12
        opened.add(write_documents(1, 50))  # the lock is free, and what was missed is made up for
        assert opened.profile.documents == 13
        assert opened.info()["unfinished"] is False


def test_a_forged_profile_is_damage(put_with: PutWith, m3: Path) -> None:
    made = put_with(m3, write_documents(12))
    made.collection.put_fact(profiling.FACT, made.profile.to_json() | {"slope": "steep"})
    with pytest.raises(DamagedIndex, match=r"its profile has 'steep' as 'slope'"):
        made.search("fox")
    for method in METHODS.values():
        assert made.search(write_documents(1)[0].text, method=method).ids
    made.add(write_documents(1, 40))


@pytest.mark.parametrize("fact", [{"fusion": "magic"}, {"weights": "many"}, {"colour": 1}], ids=repr)
def test_forged_settings_of_hybrid_search_are_damage(put_with: PutWith, m3: Path, fact: dict[str, Any]) -> None:
    made = put_with(m3, write_documents(12))
    made.collection.put_fact("fusion", fact)
    for use in (lambda: made.search("fox"), made.check, lambda: made.weights):
        with pytest.raises(DamagedIndex, match="fusion"):
            use()


def test_a_repair_forgets_what_cannot_be_read(put_with: PutWith, m3: Path) -> None:
    made = put_with(m3, write_documents(12))
    before = made.profile
    made.collection.put_fact("profile", {"documents": 12})
    made.collection.put_fact("fusion", {"fusion": "magic"})
    with pytest.raises(DamagedIndex):
        made.check()
    done = Retriever.repair(made.path)
    assert (done.forgotten, done.dropped, done.represented, done.catalog) == (("profile", "fusion"), (), 0, False)
    assert Retriever.repair(made.path).forgotten == ()
    with Retriever.open(made.path) as opened:
        opened.check()
        assert opened.search("fox")
        opened.add([])
        assert opened.profile == before


def test_fusion_uses_the_profile(put_with: PutWith, m3: Path) -> None:
    made = put_with(m3, write_documents(24))
    assert made.weights == tuple(made.profile.weigh(view) for view in ("dense", "lexical", "multi"))
    made.fusion = HybridSearch(weights=(1, 2, 3))
    assert made.weights == (1, 2, 3)
    found = made.search("the quick fox", settings=HybridSearch(calibrated=True))
    plain = made.search("the quick fox", settings=HybridSearch())
    assert found.ids == plain.ids
    expected = made.profile.calibrate(np.array([hit.score for hit in plain], np.float32))
    np.testing.assert_allclose([hit.score for hit in found], expected, atol=1e-6)


def test_a_sentence_with_too_many_vectors_for_a_query_is_left_out(
    put_with: PutWith, m3: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [replace(one, text=one.text.replace(". ", " ", 1)) for one in write_documents(40)]
    whole = put_with(m3, documents).profile
    monkeypatch.setattr(profiling, "LONGEST_QUERY", 12)  # of the sentences, some have 8 words, others 16
    assert 4 <= put_with(m3, documents).profile.pairs < whole.pairs
    monkeypatch.setattr(profiling, "LONGEST_QUERY", 1)
    assert put_with(m3, documents).profile.pairs == 0


def test_a_long_document_does_not_displace_short_ones(
    put_with: PutWith, m3: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    books = [Document(f"book{i}", "the quick fox reads a file. " * 500) for i in range(40)]
    mixed = put_with(m3, [*write_documents(60), *books], views=["lexical"], terms="words")
    long = put_with(m3, books, views=["lexical"], terms="words")
    most = sum(len(one.text) for one in write_documents(60))
    assert len(books[0].text) > most
    monkeypatch.setattr(profiling, "MOST_CHARACTERS", most)
    chosen = choose_documents(mixed.collection, 40)
    assert len(chosen) == 40
    assert sum(len(one.text) for one in chosen.values()) <= most
    monkeypatch.setattr(profiling, "MOST_CHARACTERS", 100)
    assert len(choose_documents(long.collection, 40)) == profiling.FEWEST  # all are long
