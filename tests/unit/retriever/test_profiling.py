"""How an index measures itself: which documents are compared, and which scores they have."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Document, LexicalWeights, Representations, Retriever, TokenVectors
from asterism.retriever import profiling
from asterism.retriever.profiling import choose_documents, compare_token_vectors, spread_terms
from asterism.search.asked import Asked
from asterism.search.profile import Pairs
from asterism.settings import K1, TokenSearch, View
from asterism.terms.counting import count_query_words, count_words
from tests import layouts
from tests.unit.retriever.all_views import PutWith
from tests.unit.retriever.documents import write_documents


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
