"""Single files of an index, given by their names: none is a file of its folders, and none takes the place of another.

A folder that is synced later takes over its files that were added singly.

file:a.md          the real path of the file that has this name in the index
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ...collection.catalog_reader import CatalogReader
from ...collection.collection import Collection
from ...documents.folders.names import escape_path, make_passage_id, make_stem, unescape_name
from ...documents.reading import is_ordinary_file
from ...documents.single_files import name_single_file
from ...errors import InputError
from ...representations import Representations
from .folders import ChosenFolder
from .memory import FILE, SingleFile, list_files, read_folders
from .ownership import sort_ids
from .places import find_place, is_inside


def check_single_files(collection: Collection, files: Sequence[str]) -> None:
    """Refuse files of the index's folders, and other files of the same name as one that the index has."""
    if not files:
        return
    with collection.reading() as reader:
        files_of = partial(list_files, reader)
        places = {folder.name: find_place(folder, collection.path, files_of) for folder in read_folders(reader)}
        for file in files:
            name = next((name for name, place in places.items() if place is not None and is_inside(file, place)), None)
            if name is not None:
                advice = "`asterism sync DIR` reads what is new in it"
                raise InputError(f"{file} lies in the folder {name!r} of the index, expected other files: {advice}")
            if is_ordinary_file(file) and (other := _find_namesake(reader, file)) is not None:
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


def find_single_files(reader: CatalogReader, chosen: ChosenFolder) -> dict[str, SingleFile]:
    """The single files of the index that lie in a folder, by the stems that they have there."""
    found = {}
    for name in [name.removeprefix(FILE) for name in reader.iterate_fact_names(FILE) if "/" not in name]:
        path = reader.fact(FILE + name).get("path")
        if isinstance(path, str) and (real := Path(unescape_name(path))).is_relative_to(chosen.path):
            stem = make_stem(f"{chosen.folder.name}/{escape_path(real.relative_to(chosen.path))}")
            held, _ = sort_ids(reader, reader.iterate_ids(f"{make_stem(name)}#"), {})
            places = held.get(make_stem(name), ())
            found[stem] = SingleFile(name, [make_passage_id(name, place) for place in places])
    return found


def remember_single_files(collection: Collection, files: Sequence[str], wait: float | None = None) -> None:
    """Store where the files are."""
    facts = {FILE + name_single_file(file): {"path": escape_path(os.path.realpath(file))} for file in files}
    new = {name: fact for name, fact in facts.items() if collection.facts(name) != fact}
    if new:
        with collection.writing(wait) as writer:
            writer.exchange([], [], Representations(0), new)
