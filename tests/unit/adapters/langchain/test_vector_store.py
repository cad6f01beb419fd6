"""The vector store inside LangChain itself, beyond LangChain's own suite."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Document, HybridSearch, Retriever
from asterism.errors import DocumentError, FilterError, IndexExists, InputError, SettingError
from asterism.retriever.diverse_search import search_diverse

pytest.importorskip("langchain_core", reason="langchain-core is not installed")
pytestmark = pytest.mark.reference

from langchain_core.documents import Document as LangChainDocument  # noqa: E402
from langchain_core.embeddings import DeterministicFakeEmbedding  # noqa: E402
from langchain_core.indexing import InMemoryRecordManager, aindex, index  # noqa: E402
from langchain_core.vectorstores.utils import maximal_marginal_relevance  # noqa: E402

from asterism.adapters.langchain import AsterismVectorStore  # noqa: E402

QUERY = "who measured the speed of light?"
TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "Who first measured the speed of light?",
    "Who first measured the speed of light, again?",
    "Run a function every few seconds.",
    "the speed of the dog",
]
YEARS = [1999, 1676, 1849, 2020, 2021]


@pytest.fixture
def store(all_views: Retriever) -> AsterismVectorStore:
    made = AsterismVectorStore(all_views)
    made.add_texts(TEXTS, [{"year": year} for year in YEARS], ids=[f"d{i}" for i in range(len(TEXTS))])
    return made


def ids_of(found: list[LangChainDocument]) -> list[str | None]:
    return [document.id for document in found]


def test_searches_are_those_of_the_index(store: AsterismVectorStore) -> None:
    for method in (None, "dense", "lexical", "colbert"):
        expected = store.index.search(QUERY, 3, method=method)
        assert ids_of(store.similarity_search(QUERY, 3, method=method)) == expected.ids
        scored = store.similarity_search_with_score(QUERY, 3, method=method)
        assert [(document.id, score) for document, score in scored] == [(hit.id, hit.score) for hit in expected]
        assert asyncio.run(store.asimilarity_search_with_score(QUERY, 3, method=method)) == scored
        assert AsterismVectorStore(store.index, method=method).similarity_search(QUERY, 3) == [one for one, _ in scored]


def test_filter(store: AsterismVectorStore) -> None:
    assert set(ids_of(store.similarity_search(QUERY, filter={"year": {"$gte": 1999}}))) == {"d0", "d3", "d4"}
    diverse = store.max_marginal_relevance_search(QUERY, filter={"year": {"$lt": 1900}})
    assert set(ids_of(diverse)) == {"d1", "d2"}
    with pytest.raises(FilterError, match=r"did you mean \$gte"):
        store.similarity_search(QUERY, filter={"year": {">=": 1999}})


def test_relevance_scores_are_calibrated(store: AsterismVectorStore) -> None:
    expected = store.index.search(QUERY, 5, settings=HybridSearch(calibrated=True))
    found = store.similarity_search_with_relevance_scores(QUERY, 5)
    assert [(document.id, score) for document, score in found] == [(hit.id, hit.score) for hit in expected]
    assert all(0 <= score <= 1 for _, score in found)
    assert asyncio.run(store.asimilarity_search_with_relevance_scores(QUERY, 5)) == found
    threshold = found[1][1]
    some = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": threshold, "k": 5}
    )
    assert ids_of(some.invoke(QUERY)) == [document.id for document, score in found if score >= threshold]
    with pytest.raises(SettingError, match="those of hybrid search over several views, but method is 'dense'"):
        store.similarity_search_with_relevance_scores(QUERY, method="dense")


def test_relevance_scores_need_several_views(tmp_path: Path) -> None:
    store = AsterismVectorStore.from_texts(TEXTS, path=tmp_path / "x.ast", views=["lexical"])
    with pytest.raises(SettingError, match="but the index has lexical alone"):
        store.similarity_search_with_relevance_scores(QUERY)
    with pytest.raises(SettingError, match="need the view 'dense'"):
        store.max_marginal_relevance_search(QUERY)


@pytest.mark.parametrize("balance", [0.0, 0.3, 0.5, 1.0])
def test_diverse_documents_are_langchains_own(store: AsterismVectorStore, balance: float) -> None:
    """The same choice as LangChain's function makes, on the vectors that the index has."""
    candidates = store.index.search(QUERY, 4)
    snapshot = store.index.collection.snapshot()
    assert snapshot.dense is not None
    places = np.array([int(id[1:]) for id in candidates.ids])
    vectors = snapshot.dense.read_vectors(places)
    runner = store.index.runner
    (vector,) = runner.encode([QUERY], runner.plan("dense", None)).dense
    expected = maximal_marginal_relevance(vector, vectors.tolist(), balance, 3)
    found = store.max_marginal_relevance_search(QUERY, 3, 4, balance)
    assert ids_of(found) == [candidates.ids[place] for place in expected]
    assert asyncio.run(store.amax_marginal_relevance_search(QUERY, 3, 4, balance)) == found
    retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 3, "fetch_k": 4, "lambda_mult": balance})
    assert retriever.invoke(QUERY) == found
    assert search_diverse(store.index, QUERY, 3, candidates=4, balance=balance).ids == ids_of(found)


def test_ids_replace_and_new_ones_are_made(store: AsterismVectorStore) -> None:
    assert store.add_documents([LangChainDocument(id="d0", page_content="a new text")]) == ["d0"]
    assert len(store.index) == len(TEXTS)
    assert store.get_by_ids(["nothing", "d0"]) == [LangChainDocument(id="d0", page_content="a new text")]
    (made,) = asyncio.run(store.aadd_texts(["one more"]))
    assert store.index.get(made).text == "one more"


def test_delete(store: AsterismVectorStore) -> None:
    assert store.delete(["d0", "nothing"]) is True
    assert "d0" not in store.index
    assert asyncio.run(store.adelete()) is True  # LangChain: all, if no ids are given
    assert len(store.index) == 0


@pytest.mark.parametrize("asynchronous", [False, True])
def test_langchains_indexing(store: AsterismVectorStore, asynchronous: bool) -> None:
    """It writes what changed, and removes what is gone."""
    records = InMemoryRecordManager("x")
    records.create_schema()

    def run(texts: list[str]) -> tuple[int, int, int]:
        documents = [LangChainDocument(page_content=text, metadata={"source": "s"}) for text in texts]
        asked = {"cleanup": "full", "source_id_key": "source", "key_encoder": "sha256"}
        if asynchronous:
            done = asyncio.run(aindex(documents, records, store, **asked))
        else:
            done = index(documents, records, store, **asked)
        return done["num_added"], done["num_skipped"], done["num_deleted"]

    assert run(["a fox", "a dog"]) == (2, 0, 0)
    assert run(["a fox", "the dog"]) == (1, 1, 1)
    texts = {document.text for document in store.index}
    assert texts == {"a fox", "the dog", *TEXTS}


def test_writers_take_turns(store: AsterismVectorStore) -> None:
    async def write() -> None:
        adding = (store.aadd_texts([f"text {i}"], ids=[f"w{i}"]) for i in range(12))
        await asyncio.gather(*adding, store.adelete(["d0"]), store.adelete(["d1"]))

    asyncio.run(write())
    assert len(store.index) == len(TEXTS) + 12 - 2


def test_a_new_index(minilm: Path, tmp_path: Path) -> None:
    documents = [LangChainDocument(id="a", page_content="a fox", metadata={"title": "mine"})]
    store = AsterismVectorStore.from_documents(documents, None, path=tmp_path / "x.ast", model=minilm, views=["dense"])
    assert store.index.views == ("dense",)
    assert store.similarity_search("fox") == documents
    assert store.embeddings is None
    with pytest.raises(IndexExists):
        AsterismVectorStore.from_texts(["b"], path=tmp_path / "x.ast")
    other = asyncio.run(AsterismVectorStore.afrom_texts(["b"], None, path=tmp_path / "y.ast", views=["lexical"]))
    assert len(other.index) == 1
    assert AsterismVectorStore(tmp_path / "x.ast").similarity_search("fox") == documents


def test_documents_of_another_origin(few: Retriever) -> None:
    (found,) = AsterismVectorStore(few).get_by_ids(["fox"])
    assert found.metadata == {"title": "Animals", "year": 1999, "tags": ["a", "b"]}


def test_a_bad_document_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(DocumentError):
        AsterismVectorStore.from_texts(["a"], metadatas=[{"x": object()}], path=tmp_path / "x.ast")
    assert not (tmp_path / "x.ast").exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda store: store.similarity_search(QUERY, fliter={}), "similarity_search has no argument 'fliter'"),
        (lambda store: store.similarity_search_with_score(QUERY, fetch=3), "has no argument 'fetch'"),
        (lambda store: store.similarity_search_with_relevance_scores(QUERY, treshold=1), "no argument 'treshold'"),
        (lambda store: store.max_marginal_relevance_search(QUERY, lambda_mul=1), "did you mean 'lambda_mult'"),
        (lambda store: store.add_texts(["a"], batchsize=3), "add_texts has no argument 'batchsize'"),
        (lambda store: store.add_documents([], id=[]), "did you mean 'ids'"),
        (lambda store: store.delete(id=["a"]), "did you mean 'ids'"),
        (lambda store: store.as_retriever(serch_kwargs={}), "did you mean 'search_kwargs'"),
        (lambda store: store.as_retriever(search_kwargs={"top_k": 3}).invoke(QUERY), "no argument 'top_k'"),
        (lambda store: asyncio.run(store.asimilarity_search(QUERY, fliter={})), "did you mean 'filter'"),
        (lambda store: store.from_texts(["a"], path="x", modle="y"), "create has no argument 'modle'"),
        (
            lambda store: store.from_texts(["a"], DeterministicFakeEmbedding(size=3), path="x"),
            "expected None: an",
        ),
        (lambda store: store.similarity_search_by_vector([1.0]), "expected a text"),
        (lambda store: asyncio.run(store.amax_marginal_relevance_search_by_vector([1.0])), "expected a text"),
    ],
)
def test_what_is_unknown_is_refused(store: AsterismVectorStore, call: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        call(store)
    assert len(store.index) == len(TEXTS)


def test_wrong_lengths(store: AsterismVectorStore) -> None:
    with pytest.raises(InputError, match="2 texts and 1 ids were given"):
        store.add_texts(["a", "b"], ids=["a"])
    with pytest.raises(InputError, match="2 texts and 1 metadatas were given"):
        store.add_texts(["a", "b"], [{}])
    with pytest.raises(InputError, match="texts is a str"):
        store.add_texts("ab")
    with pytest.raises(DocumentError, match="twice"):
        store.add_texts(["a", "b"], ids=["a", "a"])


def test_the_index_may_hold_what_langchain_does_not_know(store: AsterismVectorStore) -> None:
    store.index.add([Document("empty", ""), Document("dates", "light", metadata={"a": {"b": [1, None]}})])
    assert store.get_by_ids(["dates"])[0].metadata == {"a": {"b": [1, None]}}
    assert "empty" not in ids_of(store.max_marginal_relevance_search(QUERY, 10))
