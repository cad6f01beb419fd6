"""Copies a collection into another folder while others may write: one committed state, with all that it names.

Parts (codec and segments) never change, so they are copied without a lock, and the catalog afterwards, in one
transaction. If a writer has committed other parts meanwhile, those are copied too, until the catalog names only what is
there. A writer that is always faster is kept out for the last attempt.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from ..files.regular_files import create_file, read_regular
from ..storage.arrays import MappedFolder
from ..storage.copies import copy_file
from ..storage.faults import damaged, unreadable
from ..storage.folders import remove_part, sweep_parts
from ..storage.lock import keep_writers_out
from ..storage.manifest import MANIFEST, MOST_BYTES
from .catalog import Catalog
from .collection import CHECK_PATIENCE, Collection
from .snapshot import Snapshot
from .state import new_identity
from .stored_parts import CODEC_FACTS, SEGMENT_FACTS

ATTEMPTS = 20


def copy_collection(collection: Collection, target: Path) -> None:
    """Copy the newest state into an empty folder; the copy is an index of its own, with another identity."""
    complete: set[str] = set()  # the parts that are there
    for attempt in range(ATTEMPTS + 1):
        last = attempt == ATTEMPTS
        with keep_writers_out(collection.path, CHECK_PATIENCE) if last else nullcontext():
            snapshot = collection.snapshot()
            if _copy_parts(collection, snapshot, target, complete) and _copy_catalog(collection, target, complete):
                break
    _give_identity(target)


def _copy_parts(collection: Collection, snapshot: Snapshot, target: Path, complete: set[str]) -> bool:
    """Copy the parts of a state that are not complete; False if a writer has removed one."""
    for name, files in _list_files(snapshot):
        if name in complete:
            continue
        try:
            for file in files:
                copy_file(file, target / file.relative_to(collection.path))
        except FileNotFoundError as error:
            remove_part(target, name)
            if collection.snapshot() is snapshot:  # no writer did that
                raise damaged(error.filename, "is missing") from error
            return False
        complete.add(name)
    return True


def _list_files(snapshot: Snapshot) -> Iterator[tuple[str, list[Path]]]:
    """Each part, with all its files."""
    if snapshot.codec is not None:
        codec = snapshot.codec
        yield codec.part.name, [codec.path / CODEC_FACTS, *(codec.path / name for name in codec.files)]
    for stored in snapshot.segments:
        own = stored.folders[0]
        files = [path for folder in stored.folders for path in list_paths(folder)]
        yield stored.part.name, [own.path / SEGMENT_FACTS, *files]


def list_paths(folder: MappedFolder) -> list[Path]:
    """The files of a folder of arrays."""
    return [folder.path / name for name in folder.files]


def _copy_catalog(collection: Collection, target: Path, complete: set[str]) -> bool:
    """Copy the catalog and the manifest; False if the catalog names other parts by now."""
    with collection.reading() as reader:
        state = reader.state()
        if not state.folders <= complete:
            return False
        with _report_unreadable(collection.path / MANIFEST):
            manifest = read_regular(collection.path / MANIFEST, MOST_BYTES)
        reader.copy_to(target)
    with create_file(target / MANIFEST) as file:
        file.write(manifest)
    sweep_parts(target, state.folders)
    return True


@contextmanager
def _report_unreadable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unreadable(path, error) from error


def _give_identity(target: Path) -> None:
    """Let whoever has the original open notice if the copy takes its place; earlier formats have no identity."""
    catalog = Catalog(target)
    try:
        with catalog.reading() as reader:
            state = reader.state()
        if state.identity and state.tombstones is not None:
            with catalog.writing() as edit:
                edit.put_state(replace(state, identity=new_identity()))
    finally:
        catalog.close()
