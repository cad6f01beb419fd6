"""A collection and the dict that it should equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from asterism import MetadataChange, TokenSearch, TokenVectors, Views
from asterism.collection.collection import Collection
from asterism.collection.policy import Policy
from asterism.documents.document import Document
from asterism.settings import TokenBuild
from tests.conftest import brute_force, make_query, make_vectors, tokens_only
from tests.property.filter_rules import holds

D = 16
ALL = 10**6
METHODS = ["exact", "colbert", "xtr"]
SMALL = Policy(flat_tokens=60, most_segments=4, outgrown=3)  # a few documents go through what large collections do
Stored = dict[str, tuple[Document, np.ndarray]]


def matrices(count: int, seed: int) -> list[np.ndarray]:
    vectors = make_vectors(count, D, longest=6, seed=seed)
    return [vectors[i] for i in range(count)]


def is_flat(collection: Collection) -> bool:
    codec = collection.snapshot().codec
    return codec is not None and codec.codec.is_flat


def patched(target: Any, patch: Any) -> Any:
    """The algorithm in RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = patched(result.get(name), value)
    return result


class Modelled:
    """A collection and the dict that it should equal."""

    def __init__(self, path: Path, build: TokenBuild) -> None:
        self.collection = Collection.create(path, Views(build), {}, SMALL)
        self.model: Stored = {}
        self.made = 0
        self.batches = 0

    def put(self, ids: list[str], of: list[dict[str, Any]], seed: int, update: bool) -> None:
        self.batches += 1
        vectors = matrices(len(ids), seed * 1000 + self.batches)  # so that no two documents have the same vectors
        documents = [Document(id, f"text {seed}", metadata=value) for id, value in zip(ids, of, strict=True)]
        with self.collection.writing() as writer:
            writer.add(documents, tokens_only(TokenVectors.from_documents(vectors)), update)
        for document, matrix in zip(documents, vectors, strict=True):
            self.model.pop(document.id, None)
            self.model[document.id] = (document, matrix)

    def do(self, name: str, *arguments: Any) -> None:
        if name == "reopen":
            self.collection.close()
            self.collection = Collection.open(self.collection.path, SMALL)
        elif name in ("settle", "compact"):
            with self.collection.writing() as writer:
                getattr(writer, name)()
        elif name == "delete":
            share, seed = arguments
            gone = [id for id in self.model if np.random.default_rng([seed, int(id)]).random() < share]
            with self.collection.writing() as writer:
                assert writer.delete(gone) == len(gone)
            for id in gone:
                del self.model[id]
        elif name == "change":
            self.change(*arguments)
        else:
            of, seed = arguments
            ids = [str(self.made + i) for i in range(len(of))]
            self.made += len(ids)
            known = list(self.model)
            if name == "update" and known:  # one is new, the others replace documents
                chosen = np.random.default_rng(seed).permutation(known)[: len(ids) - 1]
                ids[: len(chosen)] = chosen.tolist()
            self.put(ids, of, seed, name == "update")

    def change(self, where: dict[str, Any], values: dict[str, Any], replace: bool) -> None:
        """Documents whose metadata change have new numbers, so they are the last afterwards."""
        with self.collection.writing() as writer:
            moved = writer.change_metadata(self.collection.match(where), MetadataChange(values, replace))
        matching = [id for id, (document, _) in self.model.items() if holds(where, dict(document.metadata))]
        changed = 0
        for id in matching:
            document, matrix = self.model[id]
            after = values if replace else patched(document.metadata, values)
            if json.dumps(after, sort_keys=True) != json.dumps(document.metadata, sort_keys=True):
                del self.model[id]
                self.model[id] = (Document(id, document.text, metadata=after), matrix)
                changed += 1
        assert len(moved) == changed

    def check(self, where: dict[str, Any], k: int, seed: int) -> None:
        collection, model = self.collection, self.model
        collection.check()
        assert [document for document, _ in model.values()] == list(collection.documents())
        assert collection.get(list(model)) == [document for document, _ in model.values()]
        snapshot = collection.snapshot()
        assert snapshot.state.documents == len(model)
        query = make_query(D, 4, seed)
        matching = {id for id, (document, _) in model.items() if holds(where, dict(document.metadata))}
        for method in METHODS:
            search = TokenSearch(method=method)
            everything = collection.search(query, ALL, search, where).documents
            assert {document.id for document, _ in everything} == matching
            assert len(everything) == len(matching)
            assert all(document == model[document.id][0] for document, _ in everything)
            few = collection.search(query, k, search, where).documents
            assert len(few) == len({document.id for document, _ in few}) == min(k, len(matching))
            assert len(collection.search(query, k, search).documents) == min(k, len(model))
        self.check_exact(query)

    def check_exact(self, query: np.ndarray) -> None:
        exact = TokenSearch(method="exact")
        long = [id for id, (_, matrix) in self.model.items() if len(matrix)]
        for id in long[:3] + long[-3:]:
            best = self.collection.search(self.model[id][1], 1, exact).documents[0]
            assert best[0].id == id
        if self.model and is_flat(self.collection):
            stored = TokenVectors.from_documents([matrix.astype(np.float16) for _, matrix in self.model.values()])
            expected = dict(zip(self.model, brute_force(stored, query), strict=True))
            hits = self.collection.search(query, ALL, exact).documents
            scores = [score for _, score in hits]
            np.testing.assert_allclose(scores, [expected[document.id] for document, _ in hits], atol=1e-5)
            assert scores == sorted(scores, reverse=True)
