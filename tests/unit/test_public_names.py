"""What a user can reach from `import asterism`: every type that comes back, and a short text for every object."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import asterism
from asterism import Document, LexicalWeights, Retriever, TokenIndex, TokenVectors, load_encoder, load_pair_scorer
from tests import layouts
from tests.conftest import make_vectors

# Of the engine: their own parts are not for users.
INNER = ("CatalogReader", "CollectionWriter", "SearchRunner", "Snapshot")
CLASSES = [value for name in asterism.__all__ if inspect.isclass(value := getattr(asterism, name))]
FUNCTIONS = [value for name in asterism.__all__ if inspect.isfunction(value := getattr(asterism, name))]


def list_returned() -> set[str]:
    """Names of classes in the annotations of what public functions, methods, properties and fields give."""
    given = [function.__annotations__.get("return", "") for function in FUNCTIONS]
    for kind in CLASSES:
        if kind.__name__ in INNER:
            continue
        given += [text for name, text in vars(kind).get("__annotations__", {}).items() if not name.startswith("_")]
        for name, member in inspect.getmembers_static(kind):
            inner = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
            if not name.startswith("_") and inspect.isfunction(inner):
                given.append(inner.__annotations__.get("return", ""))
    return {name for text in given for name in re.findall(r"\b[A-Z]\w+", str(text))}


def test_every_type_that_comes_back_is_exported() -> None:
    ours = {
        name: value
        for module in list(sys.modules)
        if module.startswith("asterism.")
        for name, value in vars(import_module(module)).items()
        if inspect.isclass(value) and value.__module__.startswith("asterism.")
    }
    assert list_returned() & ours.keys() - set(asterism.__all__) == set()


def test_errors_can_be_reached_without_another_import() -> None:
    code = "import asterism; print(issubclass(asterism.errors.IndexBusy, asterism.AsterismError))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_every_public_class_shows_what_it_is(tmp_path: Path) -> None:
    vectors = make_vectors(5, 8)
    tokens = TokenIndex.build(tmp_path / "x.tokens", vectors)
    assert repr(tokens) == f"<TokenIndex '{tmp_path}/x.tokens', 5 documents, {len(vectors.flat)} vectors>"
    assert repr(TokenVectors(np.ones((3, 4)), [0, 3])) == "<TokenVectors 1 documents, 3 vectors, 4 dimensions>"
    assert repr(LexicalWeights([0, 2], [1, 5], [1.0, 2.0])) == "<LexicalWeights 1 texts, 2 terms>"
    made = Retriever.create(tmp_path / "x.ast", views=["lexical"])
    made.add([Document("a", "fox")])
    assert repr(made) == f"<Retriever '{tmp_path}/x.ast', 1 documents>"
    assert repr(made.collection) == f"<Collection '{tmp_path}/x.ast', 1 documents>"
    made.close()
    assert repr(made) == f"<Retriever '{tmp_path}/x.ast', closed>"
    folder = layouts.colbert(tmp_path / "model")
    assert repr(load_encoder(folder)) == f"<Encoder colbert '{folder}', multi>"
    folder = layouts.cross_encoder(tmp_path / "pairs")
    assert repr(load_pair_scorer(folder)).startswith(f"<PairScorer '{folder}', ")


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_no_public_class_has_the_text_of_object(kind: type) -> None:
    never_printed = {"Scorer", "CrossSearcher", *INNER}
    assert kind.__repr__ is not object.__repr__ or kind.__name__ in never_printed
