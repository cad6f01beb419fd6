"""Folders that are not where they were: alone, together with the index, behind a link, or gone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from asterism import Retriever
from asterism.errors import InputError

from .contents import content_of
from .test_memory import forge


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with an index and the folder of its files."""
    (tmp_path / "P" / "docs").mkdir(parents=True)
    (tmp_path / "P" / "docs" / "k.md").write_text("kiwi old")
    (tmp_path / "P" / "docs" / "l.md").write_text("lemon")
    with Retriever.create(tmp_path / "P" / "d.ast", views=["lexical"]) as made:
        made.sync([tmp_path / "P" / "docs"])
    return tmp_path / "P"


@contextmanager
def opened(project: Path) -> Iterator[Retriever]:
    with Retriever.open(project / "d.ast") as retriever:
        yield retriever


def texts(retriever: Retriever) -> dict[str, str]:
    return {id: text for id, (_, text, _) in content_of(retriever).items()}


def link_to_another(project: Path, retriever: Retriever) -> None:
    """Replace the folder by a link to another one of the index."""
    other = shutil.copytree(project / "docs", project / "other")
    retriever.sync([other])
    shutil.rmtree(project / "docs")
    (project / "docs").symlink_to(other)


NEW = {"docs/k.md#1": "kiwi new", "docs/l.md#1": "lemon"}


@pytest.mark.parametrize("is_given", [True, False])
def test_a_project_that_was_moved(project: Path, is_given: bool) -> None:
    there = project.rename(project.with_name("P2"))
    (there / "docs" / "k.md").write_text("kiwi new")
    with opened(there) as retriever:
        for dry_run in (True, False):
            report = retriever.sync([there / "docs"] if is_given else [], dry_run=dry_run)
            assert report.moved == ((str(project / "docs"), str(there / "docs")),)
            assert (report.read, report.replaced, report.unchanged) == (0, 1, 1)
        assert texts(retriever) == NEW
        assert retriever.sync().moved == ()


def test_a_folder_that_was_moved_alone(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    there = (project / "docs").rename(tmp_path / "elsewhere" / "docs")
    (there / "k.md").write_text("kiwi new")
    with opened(project) as retriever:
        report = retriever.sync([there])
        assert (report.moved, report.missing) == (((str(project / "docs"), str(there)),), ())
        assert texts(retriever) == NEW


def test_a_project_of_an_earlier_version_that_was_moved(project: Path) -> None:
    """Its facts do not say where the folder is, as seen from the index."""
    with opened(project) as retriever:
        fact = dict(retriever.collection.facts("folder:docs"))
        del fact["from_index"]
        forge(retriever, "folder:docs", fact)
    there = project.rename(project.with_name("P2"))
    (there / "docs" / "k.md").write_text("kiwi new")
    with opened(there) as retriever:
        with pytest.raises(InputError, match="P/docs does not exist"):
            retriever.sync()
        retriever.sync([there / "docs"])
        assert texts(retriever) == NEW


def test_another_folder_of_the_same_name_is_another(project: Path, tmp_path: Path) -> None:
    """The first may be on a disk that is not mounted: what the index has of it stays, and every report names it."""
    (tmp_path / "other" / "docs").mkdir(parents=True)
    (tmp_path / "other" / "docs" / "m.md").write_text("mango")
    (project / "docs").rename(tmp_path / "away")
    with opened(project) as retriever:
        for _ in range(2):
            report = retriever.sync([tmp_path / "other" / "docs"])
            assert (report.moved, report.missing) == ((), (str(project / "docs"),))
        assert set(texts(retriever)) == {"docs/k.md#1", "docs/l.md#1", "other/docs/m.md#1"}


@pytest.mark.parametrize("given", ["link", "place", "nothing"])
def test_a_folder_replaced_by_a_link_to_its_new_place(project: Path, tmp_path: Path, given: str) -> None:
    there = (project / "docs").rename(tmp_path / "large-disk")
    (project / "docs").symlink_to(there)
    (there / "k.md").write_text("kiwi new")
    with opened(project) as retriever:
        retriever.sync({"link": [project / "docs"], "place": [there], "nothing": []}[given])
        assert texts(retriever) == NEW
        assert retriever.sync().unchanged == 2


def test_a_folder_replaced_by_a_link_to_another_one_of_the_index(project: Path) -> None:
    with opened(project) as retriever:
        link_to_another(project, retriever)
        with pytest.raises(InputError, match="is two folders of the index"):
            retriever.sync()
        assert retriever.forget([project / "docs"]).removed == 2
        assert retriever.sync().unchanged == 2


def test_a_copied_project_has_its_own_folder(project: Path) -> None:
    there = shutil.copytree(project, project.with_name("P2"))
    (there / "docs" / "k.md").write_text("kiwi new")
    with opened(there) as retriever:
        report = retriever.sync()
        assert report.moved == ((str(project / "docs"), str(there / "docs")),)
        assert texts(retriever) == NEW
        assert retriever.sync().moved == ()
    with opened(project) as retriever:
        assert retriever.sync().folders == (str(project / "docs"),)


def test_a_copied_index_keeps_its_folder(project: Path, tmp_path: Path) -> None:
    """Also where another folder lies beside it that has the name of its own."""
    (tmp_path / "P2" / "docs").mkdir(parents=True)
    (tmp_path / "P2" / "docs" / "m.md").write_text("mango")
    shutil.copytree(project / "d.ast", tmp_path / "P2" / "d.ast")
    with opened(tmp_path / "P2") as retriever:
        assert retriever.sync().folders == (str(project / "docs"),)
        assert set(texts(retriever)) == {"docs/k.md#1", "docs/l.md#1"}


def test_an_index_moved_alone_takes_no_other_folder(project: Path, tmp_path: Path) -> None:
    """Its own may be on a disk that is not mounted."""
    (tmp_path / "P2" / "docs").mkdir(parents=True)
    (tmp_path / "P2" / "docs" / "m.md").write_text("mango")
    (project / "docs").rename(tmp_path / "away")
    (project / "d.ast").rename(tmp_path / "P2" / "d.ast")
    with opened(tmp_path / "P2") as retriever:
        with pytest.raises(InputError, match="P/docs does not exist"):
            retriever.sync()
        assert set(texts(retriever)) == {"docs/k.md#1", "docs/l.md#1"}


def test_forget_matches_names_only_if_no_path_does(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other" / "docs").mkdir(parents=True)
    (tmp_path / "other" / "docs" / "m.md").write_text("mango")
    with opened(project) as retriever:
        retriever.sync([tmp_path / "other" / "docs"])
        monkeypatch.chdir(tmp_path / "other")
        assert retriever.forget(["docs"]).folders == (str(tmp_path / "other" / "docs"),)
        assert set(texts(retriever)) == {"docs/k.md#1", "docs/l.md#1"}
        with pytest.raises(InputError, match=r"has no folder 'docs/', expected one of: '.*/P/docs'"):
            retriever.forget(["docs/"])
        monkeypatch.chdir(tmp_path)
        assert retriever.forget(["docs/"]).folders == (str(project / "docs"),)


def test_forget_a_folder_that_is_a_link_to_another(project: Path) -> None:
    with opened(project) as retriever:
        link_to_another(project, retriever)
        assert retriever.forget([project / "docs"]).folders == (str(project / "docs"),)
        assert set(texts(retriever)) == {"other/k.md#1", "other/l.md#1"}


def test_advice_for_what_is_no_folder(project: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "single.md").write_text("a fox")
    cases = {
        project / "docs" / "k.md": r"is a file of the folder 'docs', expected a folder.*`asterism sync DIR` reads",
        tmp_path / "single.md": r"is a file, expected a folder.*`asterism add DIR FILE`",
        tmp_path / "fifo": "is not a folder, expected one",
        tmp_path / "nowhere": "does not exist, expected a folder: nothing was changed; check its path$",
    }
    with opened(project) as retriever:
        for path, message in cases.items():
            with pytest.raises(InputError, match=message):
                retriever.sync([path])


@pytest.mark.parametrize("is_given", [True, False])
@pytest.mark.parametrize("inside", ["", "docs"])
def test_a_link_that_leads_elsewhere_than_before(
    retriever: Retriever, tmp_path: Path, inside: str, is_given: bool
) -> None:
    """Such as `current`, the release of today; that of yesterday is still there."""
    for release, word in (("r1", "old"), ("r2", "new")):
        (tmp_path / release / inside).mkdir(parents=True)
        (tmp_path / release / inside / "k.md").write_text(f"kiwi {word}")
    current, folder = tmp_path / "current", tmp_path / "current" / inside
    current.symlink_to("r1")
    name = folder.name
    assert retriever.sync([folder]).folders == (str(folder),)
    assert texts(retriever) == {f"{name}/k.md#1": "kiwi old"}
    assert retriever.sync([tmp_path / "r1" / inside]).unchanged == 1  # the same folder
    current.unlink()
    current.symlink_to("r2")
    report = retriever.sync([folder] if is_given else [])
    assert (report.folders, report.replaced, report.moved) == ((str(folder),), 1, ())
    assert texts(retriever) == {f"{name}/k.md#1": "kiwi new"}
    current.unlink()  # what it led to is known
    report = retriever.sync([tmp_path / "r2" / inside] if is_given else [])
    assert (report.unchanged, report.moved) == (1, ((str(folder), str(tmp_path / "r2" / inside).rstrip("/")),))


def test_the_index_is_no_folder_of_files(retriever: Retriever, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(retriever.path)
    for path in (retriever.path, tmp_path / "link", retriever.path / "segments"):
        path.mkdir(exist_ok=True)
        with pytest.raises(InputError, match="is the index itself, expected a folder of files"):
            retriever.sync([path])
