"""Names of folders in an index."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.retriever.syncing.naming import name_folder


@pytest.mark.parametrize(
    ("path", "taken", "name"),
    [
        ("/a/docs", [], "docs"),
        ("/b/docs", ["docs"], "b/docs"),
        ("/x/b/docs", ["docs", "b/docs"], "x/b/docs"),
        ("/y/b", ["b/docs"], "y/b"),  # b/docs/x could be a file of both
        ("/", [], "root"),
        ("/docs", ["docs"], "docs~2"),
        ("/" + "x" * 255, [], "x" * 75 + "~2"),
        ("/docs", ["docs", "docs~2"], "docs~3"),
    ],
)
def test_the_shortest_name_that_is_free(path: str, taken: list[str], name: str) -> None:
    assert name_folder(Path(path), taken) == name


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=4), min_size=2, max_size=8))
def test_no_file_has_the_name_of_another_folders_file(paths: list[list[str]]) -> None:
    names: list[str] = []
    for path in paths:
        names.append(name_folder(Path("/", *path), names))
    for i, name in enumerate(names):
        assert not any(other != name and f"{other}/".startswith(f"{name}/") for other in names)
        assert names.index(name) == i
