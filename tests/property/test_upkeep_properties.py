"""What is listed, exported, paged through, deleted by a filter, copied or changed equals what it should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from asterism import Document, Retriever, TermCounting, open_many, read_documents
from tests.property.filter_rules import filters, holds, metadata

QUIET = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # shrinking would take minutes
)
WORDS = ["fox", "dog", "light", "speed", "a\u2028b", "é", "\r", '"', "\\", "😀"]
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
contents = st.lists(st.tuples(texts, texts, metadata), min_size=1, max_size=12)
Contents = list[tuple[str, str, dict[str, Any]]]
QUERY = "fox light"


def to_documents(content: Contents) -> list[Document]:
    return [Document(f"d{i}", text, title, of) for i, (text, title, of) in enumerate(content)]


def make(folder: Path, documents: list[Document]) -> Retriever:
    made = Retriever.create(folder, views=["lexical"], counting=TermCounting(language="none"))
    made.add(documents)
    return made


def answer(retriever: Retriever, where: dict[str, Any] | None = None) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in retriever.search(QUERY, 50, filter=where)]


@QUIET
@given(content=contents, where=filters, ending=st.sampled_from(["jsonl", "jsonl.gz", "JSONL.GZ"]))
def test_an_export_is_read_back(
    content: Contents, where: dict[str, Any], ending: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, documents = tmp_path_factory.mktemp("x"), to_documents(content)
    with make(folder / "x.ast", documents) as made:
        assert made.export(folder / f"all.{ending}") == len(documents)
        assert list(read_documents(folder / f"all.{ending}")) == documents
        some = [document for document in documents if holds(where, dict(document.metadata))]
        assert made.export(folder / f"some.{ending}", filter=where) == len(some)
        assert list(read_documents(folder / f"some.{ending}")) == some
    with make(folder / "y.ast", list(read_documents(folder / f"all.{ending}"))) as again:
        assert again.list() == documents
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["x.ast", "y.ast", f"all.{ending}", f"some.{ending}"]
    )


@QUIET
@given(content=contents, where=filters, size=st.integers(1, 5))
def test_pages_are_the_whole(
    content: Contents, where: dict[str, Any], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with make(tmp_path_factory.mktemp("x") / "x.ast", to_documents(content)) as made:
        whole = made.list(filter=where)
        assert [document.id for document in whole] == [
            document.id for document in to_documents(content) if holds(where, dict(document.metadata))
        ]
        pages = [made.list(filter=where, offset=start, limit=size) for start in range(0, len(content), size)]
        assert [document for page in pages for document in page] == whole
        ranking = made.search(QUERY, 50, filter=where)
        found = [made.search(QUERY, size, offset=start, filter=where) for start in range(0, len(content), size)]
        assert [hit for page in found for hit in page] == list(ranking)
        assert made.search(QUERY, 5, offset=len(ranking), filter=where).ids == []


@QUIET
@given(content=contents, where=filters)
def test_deleted_by_a_filter_is_never_added(
    content: Contents, where: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, documents = tmp_path_factory.mktemp("x"), to_documents(content)
    rest = [document for document in documents if not holds(where, dict(document.metadata))]
    with make(folder / "x.ast", documents) as made, make(folder / "y.ast", rest) as other:
        assert made.delete(filter=where) == len(documents) - len(rest)
        assert made.list() == rest
        assert answer(made) == answer(other)
        made.compact()
        assert answer(made) == answer(other)
        made.check()


@QUIET
@given(content=contents, where=filters, values=metadata, replace=st.booleans())
def test_a_change_of_metadata_is_an_update_of_the_same_text(
    content: Contents,
    where: dict[str, Any],
    values: dict[str, Any],
    replace: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder, documents = tmp_path_factory.mktemp("x"), to_documents(content)
    with make(folder / "x.ast", documents) as made, make(folder / "y.ast", documents) as other:
        before = {document.id: document for document in documents}
        changed = made.set_metadata(values, filter=where, replace=replace)
        after = {document.id: document for document in made.list()}
        replaced = [document for document in made.list() if document != before[document.id]]
        assert changed >= len(replaced)  # 1 becomes 1.0, which Python finds equal
        assert all((one.text, one.title) == (before[one.id].text, before[one.id].title) for one in after.values())
        other.update(
            [after[document.id] for document in made.list() if holds(where, dict(before[document.id].metadata))]
        )
        for retriever in (made, other):
            retriever.compact()
            retriever.check()
        assert sorted(answer(made)) == sorted(answer(other))
        assert sorted(answer(made, where)) == sorted(answer(other, where))


@QUIET
@given(content=contents, where=filters)
def test_a_backup_gives_the_same_answers(
    content: Contents, where: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("x")
    with make(folder / "x.ast", to_documents(content)) as made:
        made.delete(["d0"])
        expected = answer(made), answer(made, where), made.list()
        assert made.backup(folder / "y.ast").documents == len(content) - 1
        made.delete(filter={})
        made.compact()
    with Retriever.open(folder / "y.ast") as copy:
        copy.check()
        assert (answer(copy), answer(copy, where), copy.list()) == expected
        copy.add([Document("new", "fox")])
        copy.check()


@QUIET
@given(content=contents, cut=st.integers(0, 12))
def test_several_indexes_of_words_are_searched_as_one(
    content: Contents, cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """BM25 takes its statistics from all of them."""
    folder, documents = tmp_path_factory.mktemp("x"), to_documents(content)
    make(folder / "a", documents[:cut]).close()
    make(folder / "b", documents[cut:]).close()
    with open_many([folder / "a", folder / "b"]) as many, make(folder / "all", documents) as one:
        assert sorted((hit.id, hit.score) for hit in many.search(QUERY, 50)) == sorted(answer(one))
        pages = [many.search(QUERY, 2, offset=start) for start in range(0, len(content), 2)]
        assert [hit for page in pages for hit in page] == list(many.search(QUERY, 50))
        assert len(many) == len(documents)
