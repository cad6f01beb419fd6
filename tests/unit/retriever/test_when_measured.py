"""When an index measures itself, and what happens if it cannot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Document, Retriever
from asterism.errors import DamagedIndex, EncodingError
from asterism.retriever import profiling
from asterism.retriever.profiling import measure_profile
from asterism.search.profile import UNMEASURED
from asterism.settings import View
from tests.unit.retriever.all_views import PutWith
from tests.unit.retriever.documents import write_documents


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
    assert len(made.search("fox", 50)) == 16  # those with words


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
    for method in ("dense", "lexical", "exact"):
        assert made.search(write_documents(1)[0].text, method=method).ids
    made.add(write_documents(1, 40))


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
