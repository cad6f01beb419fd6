"""An index in step with folders: nothing stale, nothing double, nothing read twice."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from asterism import Chunking, Document, Policy, Retriever
from asterism.errors import BadFiles, IndexBusy, InputError, SettingError

from .contents import content_afresh, content_of, counts
from .opened_files import watch_opens


def files_in(retriever: Retriever) -> set[str]:
    return {document.metadata["file"] for document in retriever}


def found_by(retriever: Retriever, query: str) -> list[str]:
    return retriever.search(query, 50, method="lexical").ids


def test_new_changed_and_removed_files(retriever: Retriever, notes: Path, tmp_path: Path) -> None:
    assert counts(retriever.sync([notes])) == (3, 0, 0, 0)
    assert files_in(retriever) == {"notes/a.md", "notes/b.txt", "notes/deep/c.rst"}
    (notes / "a.md").write_text("# Hens\n\nA brown hen.\n")
    (notes / "b.txt").unlink()
    (notes / "deep" / "c.rst").rename(notes / "moved.rst")
    (notes / "new.txt").write_text("A new file.")
    assert counts(retriever.sync([notes])) == (2, 1, 0, 2)
    assert content_of(retriever) == content_afresh(tmp_path / "y.ast", notes)
    assert found_by(retriever, "fox dog") == []
    assert found_by(retriever, "hen") == ["notes/a.md#1"]


def test_what_add_with_update_left_behind(retriever: Retriever, notes: Path, tmp_path: Path) -> None:
    """The file shrinks from several passages to one, and another one goes."""
    (notes / "a.md").write_text(
        "\n\n".join(f"## Part {i}\n\nThe fox number{i} jumps over many dogs." for i in range(60))
    )
    retriever.sync([notes])
    before = sum(id.startswith("notes/a.md#") for id in content_of(retriever))
    assert before > 1
    (notes / "a.md").write_text("The hen.")
    (notes / "b.txt").unlink()
    retriever.sync([notes])
    assert found_by(retriever, "fox dog number7 lazy") == []
    assert content_of(retriever) == content_afresh(tmp_path / "y.ast", notes)


def test_unchanged_files_are_not_opened(retriever: Retriever, notes: Path, settled: None) -> None:
    (notes / "picture.png").write_bytes(b"\x89PNG\0\0\0")
    (notes / "empty.txt").touch()
    retriever.sync([notes])
    with watch_opens(notes) as opened:
        report = retriever.sync([notes])
    assert opened == []
    assert counts(report) == (0, 0, 3, 0)
    assert report.reasons == {"binary": 1, "empty": 1}
    with watch_opens(notes) as opened:
        os.utime(notes / "a.md")
        retriever.sync([notes])
    assert opened == [str(notes / "a.md")]


def test_a_touched_file_is_read_but_not_replaced(retriever: Retriever, notes: Path, settled: None) -> None:
    retriever.sync([notes])
    before = retriever.collection.snapshot().state
    os.utime(notes / "a.md", (1, 1))
    assert counts(retriever.sync([notes])) == (0, 0, 3, 0)
    assert retriever.collection.snapshot().state == before
    with watch_opens(notes) as opened:
        retriever.sync([notes])
    assert opened == []


def test_a_change_within_the_same_tick_is_noticed(retriever: Retriever, notes: Path) -> None:
    retriever.sync([notes])
    status = os.stat(notes / "a.md")
    (notes / "a.md").write_text("# Boars\n\nThe quick brown ape.\n"[: status.st_size].ljust(status.st_size))
    os.utime(notes / "a.md", ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert counts(retriever.sync([notes])) == (0, 1, 2, 0)


def test_folders_of_the_same_name_do_not_collide(retriever: Retriever, tmp_path: Path) -> None:
    for name in ("pa", "pb", "one/pa", "two/pa"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "README.md").write_text(f"about {name.replace('/', ' ')}")
    retriever.sync([tmp_path / "pa", tmp_path / "pb"])
    assert files_in(retriever) == {"pa/README.md", "pb/README.md"}
    retriever.sync([tmp_path / "one" / "pa"])
    retriever.sync([tmp_path / "two" / "pa"])
    assert files_in(retriever) == {"pa/README.md", "pb/README.md", "one/pa/README.md", "two/pa/README.md"}
    (tmp_path / "one" / "pa" / "README.md").write_text("changed")
    assert counts(retriever.sync()) == (0, 1, 3, 0)


def test_other_folders_are_not_touched(retriever: Retriever, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(notes, other)
    retriever.add([Document("notes/mine", "my own document"), Document("own", "text", metadata={"file": "notes/a.md"})])
    retriever.sync([notes, other])
    shutil.rmtree(other / "deep")
    (notes / "a.md").unlink()
    assert counts(retriever.sync([other])) == (0, 0, 2, 1)
    assert "notes/a.md#1" in retriever
    assert {"notes/mine", "own"} <= set(content_of(retriever))
    retriever.sync()
    assert {"notes/mine", "own"} <= set(content_of(retriever))
    assert "notes/a.md#1" not in retriever


def test_passages_are_counted(retriever: Retriever, notes: Path) -> None:
    (notes / "a.md").write_text("\n\n".join(f"## Part {i}\n\n" + "The fox jumps over dogs. " * 30 for i in range(5)))
    retriever.sync([notes])
    size = len(retriever)
    (notes / "a.md").write_text("The hen.")
    (notes / "b.txt").unlink()
    for dry_run in (True, False):
        report = retriever.sync(dry_run=dry_run)
        assert (report.passages, report.passages_replaced, report.passages_removed) == (1, 1, size - 2)
    assert retriever.forget([notes]).passages_removed == 2


def test_bad_files_do_not_stop_the_rest(retriever: Retriever, notes: Path) -> None:
    """A broken link, Latin-1, UTF-16 and a picture: one run."""
    (notes / "broken.md").symlink_to("nowhere")
    (notes / "latin.txt").write_bytes("Ein früher Käfer läuft über die Straße.".encode("latin-1"))
    (notes / "wide.txt").write_bytes("The wide text.".encode("utf-16"))
    (notes / "picture.png").write_bytes(b"\x89PNG\0\0\0")
    (notes / "README").write_text("No extension.")
    (notes / "code.py").write_text("def jump():\n    return 1\n")
    report = retriever.sync([notes])
    assert report.read == 7
    assert report.reasons == {"binary": 1, "broken link": 1}
    assert dict(report.encodings) == {"notes/latin.txt": "latin-1", "notes/wide.txt": "utf-16"}
    assert found_by(retriever, "Käfer") == ["notes/latin.txt#1"]
    assert [one.file for one in report.bad] == ["notes/broken.md"]


def test_a_file_that_becomes_bad_leaves(retriever: Retriever, notes: Path) -> None:
    retriever.sync([notes])
    (notes / "a.md").write_bytes(b"\0\1\2\0")
    (notes / "b.txt").unlink()
    os.mkfifo(notes / "b.txt")
    report = retriever.sync([notes])
    assert counts(report) == (0, 0, 1, 2)
    assert report.reasons == {"binary": 1, "special file": 1}
    assert files_in(retriever) == {"notes/deep/c.rst"}


def test_strict_writes_nothing_and_names_all(retriever: Retriever, notes: Path) -> None:
    (notes / "x.md").symlink_to("nowhere")
    os.mkfifo(notes / "y.md")
    (notes / "picture.png").write_bytes(b"\x89PNG\0\0\0")
    with pytest.raises(BadFiles, match=r"notes/x\.md: a link to nothing, and 1 more") as caught:
        retriever.sync([notes], strict=True)
    assert caught.value.files == (("notes/x.md", "a link to nothing"), ("notes/y.md", "it is a fifo"))
    assert len(retriever) == 0
    with pytest.raises(InputError, match="has no folders yet"):
        retriever.sync()
    (notes / "x.md").unlink()
    (notes / "y.md").unlink()
    assert retriever.sync([notes], strict=True).read == 3


def test_a_dry_run_writes_nothing(retriever: Retriever, notes: Path) -> None:
    assert counts(retriever.sync([notes], dry_run=True)) == (3, 0, 0, 0)
    assert len(retriever) == 0
    retriever.sync([notes])
    (notes / "a.md").write_text("changed")
    (notes / "b.txt").unlink()
    state = retriever.collection.snapshot().state
    report = retriever.sync([notes], dry_run=True)
    assert (counts(report), report.dry_run, report.passages) == ((0, 1, 1, 1), True, 1)
    assert retriever.collection.snapshot().state == state
    assert counts(retriever.sync([notes])) == (0, 1, 1, 1)


def test_options_are_as_at_the_last_sync(retriever: Retriever, notes: Path, tmp_path: Path, settled: None) -> None:
    (notes / "long.txt").write_text("A sentence of some words about a fox. " * 40)
    small = Chunking(tokens=50)
    retriever.sync([notes], include=["*.txt"], chunking=small)
    assert files_in(retriever) == {"notes/b.txt", "notes/long.txt"}
    assert counts(retriever.sync([notes])) == (0, 0, 2, 0)
    assert content_of(retriever) == content_afresh(tmp_path / "y.ast", notes, include=["*.txt"], chunking=small)
    assert counts(retriever.sync([notes], include=["*"], exclude=["b.txt"])) == (2, 0, 1, 1)
    assert files_in(retriever) == {"notes/a.md", "notes/deep/c.rst", "notes/long.txt"}
    assert counts(retriever.sync([notes], chunking=Chunking())) == (0, 3, 0, 0)
    assert counts(retriever.sync([notes], exclude=[])) == (1, 0, 3, 0)
    assert content_of(retriever) == content_afresh(tmp_path / "z.ast", notes)


def test_a_large_file_is_several_commits(notes: Path, tmp_path: Path) -> None:
    with Retriever.create(tmp_path / "x.ast", views=["lexical"], policy=Policy(batch_documents=4)) as retriever:
        (notes / "big.txt").write_text("\n\n".join(f"Number {i} is a paragraph. " * 30 for i in range(20)))
        retriever.sync([notes])
        assert sum(id.startswith("notes/big.txt#") for id in content_of(retriever)) > 8
        (notes / "big.txt").write_text("\n\n".join(f"Other {i} is a paragraph. " * 30 for i in range(11)))
        assert counts(retriever.sync([notes])) == (0, 1, 2 + 1, 0)
        assert content_of(retriever) == content_afresh(tmp_path / "y.ast", notes)
        assert found_by(retriever, "number") == []


def test_metadata_say_where_a_passage_is(retriever: Retriever, notes: Path) -> None:
    retriever.sync([notes])
    found = retriever.get("notes/b.txt#1").metadata
    assert found == {"file": "notes/b.txt", "place": 1, "format": "text", "lines": [1, 1]}
    (hit,) = retriever.search("lazy", method="lexical", filter={"file": "notes/b.txt"})
    assert hit.source == "notes/b.txt:1"


def test_odd_names(retriever: Retriever, notes: Path) -> None:
    odd = [b"caf\xe9.md", b"new\nline.md", "früh.md".encode(), b"x" * 200 + b".md", b" a.md", b"a#1.md", b"a.md#1"]
    for name in odd:
        (notes / os.fsdecode(name)).write_text("strange name")
    long = notes.joinpath(*["y" * 200] * 4)
    long.mkdir(parents=True)
    (long / "z.md").write_text("strange name")
    assert retriever.sync([notes]).read == 3 + len(odd) + 1
    assert len(found_by(retriever, "strange")) == len(odd) + 1
    assert counts(retriever.sync()) == (0, 0, 3 + len(odd) + 1, 0)
    shutil.rmtree(notes / ("y" * 200))
    for name in odd:
        (notes / os.fsdecode(name)).unlink()
    assert counts(retriever.sync()) == (0, 0, 3, len(odd) + 1)
    assert found_by(retriever, "strange") == []


def test_an_odd_name_of_the_folder_itself(retriever: Retriever, notes: Path) -> None:
    odd = notes.rename(notes.parent / os.fsdecode(b" caf\xe9\n"))
    retriever.sync([odd])
    assert files_in(retriever) == {rf"\x20caf\xe9\x0a/{name}" for name in ("a.md", "b.txt", "deep/c.rst")}
    assert counts(retriever.sync()) == (0, 0, 3, 0)
    assert retriever.forget([odd]).removed == 3


def test_the_index_may_lie_in_the_folder(notes: Path) -> None:
    with Retriever.create(notes / "x.ast", views=["lexical"]) as retriever:
        assert counts(retriever.sync([notes])) == (3, 0, 0, 0)
        report = retriever.sync([notes])
        assert (counts(report), report.reasons) == ((0, 0, 3, 0), {"index": 1})


def test_a_link_to_the_folder_is_the_folder(retriever: Retriever, notes: Path) -> None:
    (notes.parent / "link").symlink_to(notes)
    retriever.sync([notes.parent / "link"])
    assert counts(retriever.sync([notes])) == (0, 0, 3, 0)


def test_two_writers(retriever: Retriever, notes: Path) -> None:
    with Retriever.open(retriever.path) as other, other.collection.writing(), pytest.raises(IndexBusy):
        retriever.sync([notes], wait=0.05)
    assert retriever.sync([notes]).read == 3


def test_a_passage_that_was_deleted_comes_back(retriever: Retriever, notes: Path) -> None:
    retriever.sync([notes])
    retriever.delete(["notes/a.md#1"])
    assert counts(retriever.sync()) == (1, 0, 2, 0)


def test_progress_and_report(retriever: Retriever, notes: Path) -> None:
    calls: list[tuple[int, int]] = []
    report = retriever.sync([notes], progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]
    assert repr(report) == (
        f"SyncReport(folders=('{notes}',), read=3, replaced=0, unchanged=0, removed=0, passages=3, "
        "passages_replaced=0, passages_removed=0, dry_run=False)"
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"folders": "notes"}, InputError),
        ({"folders": [1]}, InputError),
        ({"folders": ["notes"], "include": "*.md"}, SettingError),
        ({"folders": ["notes"], "chunking": 200}, InputError),
        ({"folders": ["notes"], "progress": 1}, InputError),
        ({"folders": ["nowhere"]}, InputError),
        ({"folders": [""]}, InputError),
        ({"folders": ["nul\0"]}, InputError),
        ({"folders": ["\ud800"]}, InputError),
    ],
)
def test_wrong_use(
    retriever: Retriever, notes: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, object], error: type
) -> None:
    monkeypatch.chdir(notes.parent)
    with pytest.raises(error):
        retriever.sync(**arguments)
    assert len(retriever) == 0
