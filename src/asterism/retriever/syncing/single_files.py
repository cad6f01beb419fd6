"""Single files of an index, given by their names: none is a file of its folders, and none takes the place of another.

file:a.md          the real path of the file that has this name in the index
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...collection.catalog import CatalogReader
from ...collection.collection import Collection
from ...documents.folders.names import escape_path, make_passage_id, unescape_name
from ...documents.single_files import name_single_file
from ...errors import InputError
from ...representations import Representations
from .memory import FILE, read_folders
from .places import find_place, is_inside


def check_single_files(collection: Collection, files: Sequence[str]) -> None:
    """Refuse files of the index's folders, and other files of the same name."""
    if not files:
        return
    with collection.reading() as reader:
        places = {folder.name: find_place(folder, collection.path) for folder in read_folders(reader)}
        for file in files:
            name = next((name for name, place in places.items() if place is not None and is_inside(file, place)), None)
            if name is not None:
                advice = "`asterism sync DIR` reads what is new in it"
                raise InputError(f"{file} lies in the folder {name!r} of the index, expected other files: {advice}")
            if (other := _find_namesake(reader, file)) is not None:
                advice = "give their folders instead (asterism sync DIR FOLDER…), or rename one"
                raise InputError(f"{file}: the index has {other}, expected one file of a name: {advice}")


def _find_namesake(reader: CatalogReader, file: str) -> str | None:
    """The path of another file that has this name in the index; if that is gone, the file was moved."""
    name = name_single_file(file)
    before = reader.fact(FILE + name).get("path")
    if not isinstance(before, str) or before == escape_path(os.path.realpath(file)):
        return None
    is_there = os.path.isfile(unescape_name(before)) and reader.find_numbers([make_passage_id(name, 1)])
    return before if is_there else None


def remember_single_files(collection: Collection, files: Sequence[str], wait: float | None = None) -> None:
    """Store where the files are."""
    facts = {FILE + name_single_file(file): {"path": escape_path(os.path.realpath(file))} for file in files}
    new = {name: fact for name, fact in facts.items() if collection.facts(name) != fact}
    if new:
        with collection.writing(wait) as writer:
            writer.exchange([], [], Representations(0), new)
