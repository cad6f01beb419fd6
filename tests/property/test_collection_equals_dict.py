"""A collection equals a plain dict after any sequence of operations."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from asterism import TokenSearch, TokenVectors
from asterism.documents.document import Document
from asterism.errors import DocumentError, UnknownDocument
from asterism.settings import TokenBuild
from tests.conftest import make_query, make_vectors, tokens_only
from tests.property.filter_rules import filters, holds, metadata
from tests.property.modelled import ALL, SMALL, D, Modelled, is_flat

QUIET = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
operations = st.one_of(
    st.tuples(st.just("add"), st.lists(metadata, min_size=1, max_size=8), st.integers(0, 10**6)),
    st.tuples(st.just("update"), st.lists(metadata, min_size=1, max_size=4), st.integers(0, 10**6)),
    st.tuples(st.just("change"), filters, metadata, st.booleans()),
    st.tuples(st.just("delete"), st.floats(0, 1), st.integers(0, 10**6)),
    st.tuples(st.sampled_from(["settle", "compact", "reopen"])),
)


@settings(QUIET, max_examples=18, phases=[Phase.explicit, Phase.generate])  # shrinking would take minutes
@given(
    steps=st.lists(operations, min_size=3, max_size=12),
    where=st.lists(filters, min_size=12, max_size=12),
    k=st.integers(1, 9),
)
def test_a_collection_equals_a_dict(
    steps: list[tuple[Any, ...]],
    where: list[dict[str, Any]],
    k: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    modelled = Modelled(tmp_path_factory.mktemp("c") / "x", TokenBuild(threads=1))
    for seed, (step, asked) in enumerate(zip(steps, where, strict=False)):
        modelled.do(*step)
        modelled.check(asked, k, seed)


def test_a_collection_grows_from_flat_to_trained_to_retrained_and_merged(tmp_path: Path) -> None:
    modelled = Modelled(tmp_path / "x", TokenBuild(threads=1))
    codecs, sizes = [], []
    for seed in range(30):
        modelled.do("add", [{"n": seed}] * 5, seed)
        modelled.do("settle")
        if seed % 5 == 4:
            modelled.do("delete", 0.3, seed)
        if seed % 7 == 6:
            modelled.do("reopen")
        modelled.check({"n": {"$lt": seed}}, 7, seed)
        state = modelled.collection.snapshot().state
        codecs.append(state.codec.name)
        sizes.append(len(state.segments))
    assert len(set(codecs)) >= 3
    assert max(sizes) > 1
    assert any(after < before for before, after in itertools.pairwise(sizes))
    modelled.do("compact")
    modelled.check({}, 7, 0)
    assert len(modelled.collection.snapshot().segments) == 1


@QUIET
@given(where=st.lists(filters, min_size=40, max_size=40), of=st.lists(metadata, min_size=25, max_size=25))
def test_filters_hold_for_exactly_those_documents(
    where: list[dict[str, Any]], of: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    modelled = Modelled(tmp_path_factory.mktemp("c") / "x", TokenBuild(threads=1))
    modelled.do("add", of, 1)
    query = make_query(D, 2, 1)
    for asked in where:
        found = modelled.collection.search(query, ALL, TokenSearch(), asked).documents
        assert {document.id for document, _ in found} == {str(i) for i, value in enumerate(of) if holds(asked, value)}


def test_a_refused_batch_changes_nothing(tmp_path: Path) -> None:
    modelled = Modelled(tmp_path / "x", TokenBuild(threads=1))
    modelled.do("add", [{}, {}], 1)
    state = modelled.collection.snapshot().state
    with modelled.collection.writing() as writer:
        with pytest.raises(DocumentError, match="already"):
            writer.add([Document("9", ""), Document("1", "")], tokens_only(make_vectors(2, D)))
        with pytest.raises(DocumentError, match="twice"):
            writer.add([Document("9", ""), Document("9", "")], tokens_only(make_vectors(2, D)))
        with pytest.raises(UnknownDocument, match="nothing was deleted"):
            writer.delete(["1", "9"])
        assert writer.delete([], missing_ok=True) == 0
    with pytest.raises(UnknownDocument, match="'9'"):
        modelled.collection.get(["1", "9"])
    modelled.check({}, 2, 1)
    assert modelled.collection.snapshot().state.segments == state.segments


def test_documents_without_vectors_survive_training_again(tmp_path: Path) -> None:
    """Also if they are alone in a segment."""
    modelled = Modelled(tmp_path / "x", TokenBuild(threads=1))
    modelled.put([str(i) for i in range(40)], [{}] * 40, 1, False)
    modelled.do("settle")
    assert not is_flat(modelled.collection)
    modelled.collection.policy = replace(SMALL, outgrown=1)
    with modelled.collection.writing() as writer:
        writer.add([Document("empty", "")], tokens_only(TokenVectors(np.zeros((0, D), np.float32), [0, 0])))
        writer.compact()
    modelled.model["empty"] = (Document("empty", ""), np.zeros((0, D), np.float32))
    modelled.check({}, 30, 1)


def test_a_drifted_collection_whose_vectors_are_all_gone_can_be_compacted(tmp_path: Path) -> None:
    modelled = Modelled(tmp_path / "x", TokenBuild(threads=1))
    modelled.put([str(i) for i in range(40)], [{}] * 40, 1, False)
    modelled.do("settle")
    assert not is_flat(modelled.collection)
    modelled.collection.policy = replace(SMALL, drifted=0)
    with modelled.collection.writing() as writer:
        writer.add([Document("empty", "")], tokens_only(TokenVectors(np.zeros((0, D), np.float32), [0, 0])))
        writer.delete([str(i) for i in range(40)])
        writer.compact()
    modelled.model = {"empty": (Document("empty", ""), np.zeros((0, D), np.float32))}
    modelled.check({}, 30, 1)
