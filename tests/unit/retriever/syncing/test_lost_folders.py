"""A folder that is gone, empty, unreadable or not wanted any more: nothing leaves the index by mistake."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from asterism import Document, Retriever
from asterism.errors import InputError

from .contents import content_of, counts


def test_a_folder_inside_another_is_refused(retriever: Retriever, notes: Path) -> None:
    retriever.sync([notes])
    for folder in (notes / "deep", notes.parent):
        with pytest.raises(InputError, match="lies in"):
            retriever.sync([folder])


def test_a_folder_that_is_gone_or_empty_is_no_mass_deletion(retriever: Retriever, notes: Path) -> None:
    retriever.sync([notes])
    away = notes.rename(notes.parent / "away")
    for given in ([notes], []):
        with pytest.raises(InputError, match=r"does not exist.*--remove"):
            retriever.sync(given)
    notes.mkdir()
    with pytest.raises(InputError, match=r"is empty, but the index has files.*--remove"):
        retriever.sync([notes])
    assert len(retriever) == 3
    notes.rmdir()
    away.rename(notes)
    assert counts(retriever.sync([notes])) == (0, 0, 3, 0)
    shutil.rmtree(notes)
    assert retriever.forget([notes]).removed == 3
    assert len(retriever) == 0
    with pytest.raises(InputError, match="has no folders yet"):
        retriever.sync()


@pytest.mark.parametrize("include", [["nope*"], ["*.jpg", "/none/"]])
def test_globs_that_match_nothing_are_no_mass_deletion(retriever: Retriever, notes: Path, include: list[str]) -> None:
    retriever.sync([notes])
    for dry_run in (True, False):
        with pytest.raises(InputError, match=r"no file that is wanted \(3 excluded\), but the index has files of it"):
            retriever.sync(include=include, dry_run=dry_run)
    assert counts(retriever.sync()) == (0, 0, 3, 0)


def test_a_gitignore_that_names_all_is_no_mass_deletion(retriever: Retriever, notes: Path) -> None:
    retriever.sync([notes])
    (notes / ".gitignore").write_text("*\n")
    with pytest.raises(InputError, match=r"no file that is wanted .* nothing was changed; change its \.gitignore, or"):
        retriever.sync()
    assert len(retriever) == 3


def test_a_folder_with_hidden_files_alone_is_empty(retriever: Retriever, notes: Path) -> None:
    retriever.sync([notes])
    shutil.rmtree(notes)
    notes.mkdir()
    (notes / ".DS_Store").write_bytes(b"\0")
    with pytest.raises(InputError, match=r"\(1 hidden\).*--remove"):
        retriever.sync()
    assert len(retriever) == 3


def test_forget_takes_a_path_or_a_name(retriever: Retriever, notes: Path) -> None:
    retriever.add([Document("own", "my own document")])
    retriever.sync([notes])
    with pytest.raises(InputError, match="has no folder 'none', expected one of"):
        retriever.forget(["none"])
    assert retriever.forget(["notes"]).removed == 3
    assert set(content_of(retriever)) == {"own"}


CLOSED = """
import sys
from asterism import Retriever
with Retriever.open(sys.argv[1]) as retriever:
    report = retriever.sync()
    print(report.removed, report.replaced, len(retriever), *sorted(report.reasons))
"""


def test_what_may_not_be_read_is_not_taken_for_deleted(retriever: Retriever, notes: Path) -> None:
    retriever.sync([notes])
    (notes / "deep").chmod(0)
    (notes / "a.md").chmod(0)
    command = [sys.executable, "-c", CLOSED, str(retriever.path)]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may read everything")
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    finally:
        (notes / "deep").chmod(0o755)
    assert (done.stdout, done.stderr) == ("0 0 3 no permission unreadable folder\n", "")
    (notes / "a.md").chmod(0o644)
    assert counts(retriever.sync()) == (0, 0, 3, 0)
