"""Wrong use raises one clear error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asterism import Retriever, read_documents
from asterism.errors import (
    AsterismError,
    DocumentError,
    FilterError,
    IndexFolderError,
    InputError,
    SettingError,
    TextError,
    UnknownDocument,
    UnknownModel,
)
from tests.unit.retriever.documents import FEW, Put

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
    (lambda r: r.delete(None), InputError, "neither ids nor a filter was given"),
    (lambda r: r.delete(["fox", 5]), InputError, "the id is 5"),
    (lambda r: r.delete(["\ud800"]), InputError, r"the id is '\\ud800'"),
    (lambda r: r.get(5), InputError, "the id is 5"),
    (lambda r: r.get(["fox"]), InputError, "the id is"),
    (lambda r: r.get("\ud800"), InputError, "valid Unicode"),
    (lambda r: r.search(5), TextError, "the query is a int"),
    (lambda r: r.search(""), TextError, "the query is empty"),
    (lambda r: r.search(" \n\t"), TextError, "the query is empty"),
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
    (lambda r: r.search("fox", filter={"\ud800": 1}), FilterError, "half a surrogate pair"),
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


@pytest.mark.parametrize("path", ["", "x\0y", "\ud800", 3, None, b"x"])
def test_what_is_no_path(put: Put, path: Any) -> None:
    retriever = put(FEW)
    calls: list[Callable[[Any], object]] = [Retriever.create, Retriever.open, retriever.backup, retriever.export]
    for call in calls:
        with pytest.raises(InputError, match="path is"):
            call(path)
    with pytest.raises(DocumentError, match=r"path is|exist|cannot be read|is a folder"):
        list(read_documents(path))
