"""Which documents are passages of a file, and which somebody gave such an id."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism import Document, Retriever
from asterism.errors import DocumentError

from .contents import content_afresh, content_of, counts


def change_and_remove(notes: Path) -> None:
    (notes / "a.md").write_text("# Hens\n\nA brown hen.\n")
    (notes / "b.txt").unlink()


@pytest.mark.parametrize("change", [{"tag": 1}, {}])
def test_replaced_metadata_do_not_hide_whose_a_passage_is(
    retriever: Retriever, notes: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    retriever.sync([notes])
    before = retriever.get("notes/a.md#1").metadata
    retriever.set_metadata(change, ["notes/a.md#1", "notes/b.txt#1"], replace=True)
    assert retriever.get("notes/a.md#1").metadata == {**before, **change}
    change_and_remove(notes)
    assert counts(retriever.sync()) == (0, 1, 1, 1)
    assert content_of(retriever) == content_afresh(tmp_path / "y.ast", notes)


@pytest.mark.parametrize("metadata", [{}, {"file": "x"}, {"file": "notes/b.txt", "place": 1}])
@pytest.mark.parametrize("id", ["notes/b.txt#1", "notes/b.txt#2", "notes/new.md#1"])
def test_ids_of_passages_are_refused(retriever: Retriever, notes: Path, id: str, metadata: dict[str, object]) -> None:
    """They may come from an export of another index; with `update` they would replace what a file says."""
    retriever.sync([notes])
    before = content_of(retriever)
    for update in (False, True):
        with pytest.raises(DocumentError, match=f"the id '{id}' is kept for a passage of the folder 'notes'"):
            retriever.add([Document("mine", "a fox"), Document(id, "stale fox", metadata=metadata)], update=update)
    assert content_of(retriever) == before
    retriever.add([Document("notes/b.txt", "no passage"), Document("note/b.txt#1", "of no folder")])


def test_a_document_with_the_id_of_a_passage_stops_that_file_alone(retriever: Retriever, notes: Path) -> None:
    retriever.add([Document("notes/a.md#1", "my own document")])
    for dry_run in (True, False):
        report = retriever.sync([notes], dry_run=dry_run)
        assert (counts(report), report.reasons) == ((2, 0, 0, 0), {"id taken": 1})
        assert "another document has the id 'notes/a.md#1'" in report.bad[0].explanation
    assert retriever.get("notes/a.md#1").text == "my own document"
    retriever.delete(["notes/a.md#1"])
    assert counts(retriever.sync([notes])) == (1, 0, 2, 0)


def test_a_file_that_grows_into_the_id_of_another_document(retriever: Retriever, notes: Path, settled: None) -> None:
    """Its old passages leave, because they are stale; the other document stays."""
    retriever.add([Document("notes/b.txt#2", "my own document")])
    retriever.sync([notes])
    assert counts(retriever.sync()) == (0, 0, 3, 0)
    (notes / "b.txt").write_text("\n\n".join("A lazy dog sleeps here all day long. " * 15 for _ in range(4)))
    report = retriever.sync()
    assert (counts(report), report.reasons) == ((0, 0, 2, 1), {"id taken": 1})
    assert [id for id in content_of(retriever) if "b.txt" in id] == ["notes/b.txt#2"]
