"""A small collection with all views, for tests that damage it, and all operations on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from asterism import Collection, Document, MetadataChange, Representations, TokenBuild, TokenSearch, Views
from asterism.collection.base import Base
from asterism.collection.policy import Policy
from asterism.collection.repair.repair import Repair, repair_collection
from asterism.errors import AsterismError
from asterism.search.examine import examine
from asterism.search.plan import SearchPlan
from asterism.settings import HybridSearch
from asterism.terms.counting import count_words
from tests.faults.driver import views_of

SEGMENTS = 3
DOCUMENTS = 30  # in each
LEXICAL_QUERY = "text 2 4"

Texts = dict[str, str]


def text_of(part: int, number: int) -> str:
    """Some fill a page of the catalog, some several."""
    return f"text {part} {number} " * (500 if number == 7 else 40 if number % 7 == 0 else 1)


def make_index(path: Path, coded: bool, build: TokenBuild | None = None) -> Texts:
    """Documents in three segments, some deleted; flat, or with codes, centroids and graphs."""
    policy = Policy(flat_tokens=100, graph_documents=20) if coded else None
    texts: Texts = {}
    views = Views(build or TokenBuild(threads=1), True, "words")
    collection = Collection.create(path, views, {"name": "none", "files": [], "settings": {}}, policy)
    try:
        for part in range(SEGMENTS):
            new = {f"d{part}-{i}": text_of(part, i) for i in range(DOCUMENTS)}
            metadata = [{"n": i, "tags": ["a", str(i)], "part": part} for i in range(DOCUMENTS)]
            documents = [Document(id, text, metadata=m) for (id, text), m in zip(new.items(), metadata, strict=True)]
            with collection.writing() as writer:
                writer.add(documents, views_of(list(new.values())))
                if part == 0:
                    writer.settle()
            texts |= new
        gone = [f"d1-{i}" for i in range(5)]
        with collection.writing() as writer:
            writer.delete(gone)
    finally:
        collection.close()
    return {id: text for id, text in texts.items() if id not in gone}


def words_of(texts: list[str]) -> Representations:
    """Counted words alone."""
    return Representations(len(texts), lexical=count_words(texts))


def represent(documents: list[Document], views: Views, model: dict[str, Any]) -> Representations:
    return views_of([document.text for document in documents])


def repaired(path: Path) -> Repair:
    return repair_collection(path, represent)


def checked(path: Path) -> None:
    collection = Collection.open(path)
    try:
        collection.check()
    finally:
        collection.close()


def stored_texts(path: Path) -> Texts:
    collection = Collection.open(path)
    try:
        return {document.id: document.text for document in collection.documents()}
    finally:
        collection.close()


def searches(path: Path) -> list[list[tuple[str, float]]]:
    """Every method, with a filter and without, and an explanation of each."""
    collection = Collection.open(path)
    content = views_of([LEXICAL_QUERY])
    token_settings = [TokenSearch(method="exact"), TokenSearch(probes=2), TokenSearch(candidates=5, refine=3)]
    token_settings += [TokenSearch(method="xtr", imputation=kind) for kind in ("kth", "cluster", "zero", "none")]
    plans = [("colbert", settings) for settings in token_settings]
    plans += [("dense", None), ("lexical", None), ("hybrid", HybridSearch()), ("hybrid", HybridSearch("rrf"))]
    found = []
    try:
        for method, settings in plans:
            chosen = settings.method if isinstance(settings, TokenSearch) else method
            plan = SearchPlan.from_request(chosen, settings, ("multi", "dense", "lexical"), HybridSearch)
            for where in (None, {"n": {"$lt": 9}}, {"tags": {"$in": ["3", "4"]}}):
                rows = collection.find(
                    lambda state, eligible, plan=plan: plan.search(state, content, 8, eligible, 1), where
                )
                found.append([(document.id, score) for document, score in rows[0].documents])
            if found[-3]:
                collection.look_at(
                    found[-3][0][0],
                    lambda state, at, eligible, plan=plan: examine(plan.ask(state, content, eligible, 1), at, plan, 8),
                )
    finally:
        collection.close()
    return found


def add(path: Path) -> None:
    _write(path, lambda writer: writer.add([Document("new", "a new text")], views_of(["a new text"]), update=True))


def delete(path: Path) -> None:
    _write(path, lambda writer: writer.delete(["d0-3", "d2-3"], missing_ok=True))


def change_metadata(path: Path, where: dict[str, Any] | None = None) -> None:
    """Of two documents by default; texts stay."""
    chosen = where or {"$and": [{"n": 6}, {"part": {"$in": [0, 2]}}]}
    collection = Collection.open(path)
    try:
        with collection.writing() as writer:
            writer.change_metadata(collection.match(chosen), MetadataChange({"changed": True}))
    finally:
        collection.close()


def settle(path: Path) -> None:
    _write(path, lambda writer: writer.settle())


def compact(path: Path) -> None:
    _write(path, lambda writer: writer.compact())


def info(path: Path) -> None:
    collection = Collection.open(path)
    try:
        collection.bytes()
        Base.from_snapshot(collection.snapshot()).drift()
        collection.facts("fusion")
        collection.known(["d0-1", "x"])
        list(collection.documents())
    finally:
        collection.close()


def _write(path: Path, work: Callable[[Any], object]) -> None:
    collection = Collection.open(path)
    try:
        with collection.writing() as writer:
            work(writer)
    finally:
        collection.close()


OPERATIONS: dict[str, Callable[[Path], object]] = {
    "check": checked,
    "search": searches,
    "info": info,
    "add": add,
    "delete": delete,
    "settle": settle,
    "compact": compact,
    "check again": checked,
    "repair": repaired,
    "check at last": checked,
    "search at last": searches,
}


def do_everything(path: Path) -> dict[str, str]:
    """Operation -> our error that it raised; any other error propagates."""
    np.seterr(all="ignore")
    errors = {}
    for name, operation in OPERATIONS.items():
        try:
            operation(path)
        except AsterismError as error:
            errors[name] = f"{type(error).__name__}: {error}"
    return errors
