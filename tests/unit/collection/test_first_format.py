"""An index of the first format, which had only token vectors: opened, searched, written to, and read again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from asterism import Collection, Document, EncoderSettings, Retriever
from asterism.errors import SettingError
from asterism.retriever.model import describe_model, load_model
from tests import layouts
from tests.golden.index_files import HERE
from tests.unit.cli.running import run

METHODS = ("exact", "colbert", "xtr")
SETTINGS = EncoderSettings(precision="float32")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The golden index. Its vectors come from no model, so it is given one with as many dimensions."""
    copy = shutil.copytree(HERE / "index-1", tmp_path / "old.ast")
    model = layouts.colbert(tmp_path / "model")
    collection = Collection.open(copy)
    collection.put_fact("model", describe_model(model, load_model(model, SETTINGS), SETTINGS))
    collection.close()
    return copy


def test_it_is_searched_as_an_index_of_token_vectors(folder: Path) -> None:
    with Retriever.open(folder) as opened:
        assert (opened.views, len(opened)) == (("multi",), 28)
        assert opened.search("the quick fox").method == "colbert"
        for method in METHODS:
            hits = opened.search("the quick fox", 5, method=method)
            assert len(hits) == 5
            for hit in hits:
                assert opened.explain("the quick fox", hit.id, k=5, method=method).score == hit.score
        for method in ("dense", "lexical", "hybrid", "hybrid:rrf"):
            with pytest.raises(SettingError, match="the index has multi: build it with --views"):
                opened.search("fox", method=method)
        info = opened.info()
        assert (info["views"], info["terms"], info["documents"], info["deleted"]) == (["multi"], None, 28, 2)
        opened.check()


@pytest.mark.parametrize("merged", [False, True], ids=["added", "compacted"])
def test_it_is_written_to_and_read_again(folder: Path, merged: bool) -> None:
    with Retriever.open(folder) as opened:
        before = [{hit.id: hit.score for hit in opened.search("the fox", 50, method=method)} for method in METHODS[:2]]
        opened.add([Document("new", "the quick brown fox", "title", {"n": 99})])
        opened.update([Document("é5", "another text", metadata={"n": 5})])
        opened.delete(["é6"])
        if merged:
            opened.compact()
    with Retriever.open(folder) as again:
        again.check()
        assert (len(again), again.views) == (28, ("multi",))
        assert (again.get("new").title, "é6" in again) == ("title", False)
        for method, scores in zip(METHODS[:2], before, strict=True):
            found = {hit.id: hit.score for hit in again.search("the fox", 50, method=method)}
            assert len(found) == 28
            assert set(found) == set(scores) - {"é6"} | {"new"}
            for id in set(found) - {"new", "é5"}:
                assert found[id] == pytest.approx(scores[id], abs=1e-5)
        assert again.search("the fox", filter={"n": 99}).ids == ["new"]
        assert again.info()["segments"] == (1 if merged else 3)
        again.add([Document("later", "read a file")])
    if merged:  # the first format had these at the top of a segment
        assert not list(folder.glob("segment-*/codes.npy"))


def test_on_the_command_line(folder: Path) -> None:
    assert run("check", folder, "-q").code == 0
    assert run("search", folder, "fox", "-k", 3, "--json").out.count("\n") == 3
    assert run("search", folder, "fox", "--method", "hybrid").code == 2
    assert run("add", folder, "-", "-q", stdin=b'{"_id": "new", "text": "fox"}').code == 0
    assert run("compact", folder, "--json").lines()[0]["views"] == ["multi"]
    assert run("info", folder, "--json").lines()[0]["documents"] == 29
