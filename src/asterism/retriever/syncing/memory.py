"""What an index remembers of folders and files, as facts of its catalog.

folder:NAME        the folder's path, where it and the index were, and how its files are chosen and cut
file:NAME/a.md     size, times and hash of a file, and how many passages it has, or why it was left out

A fact that is lost, or not as expected, costs time and nothing else: the file is read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from typing import Any

from ...collection.catalog_reader import CatalogReader
from ...documents.files.chunking import Chunking
from ...documents.folders.names import make_stem, unescape_name
from ...documents.folders.selecting import Selection
from ...documents.folders.skipping import REASONS
from ...documents.folders.walking import Stamp
from ...errors import SettingError
from .ownership import sort_ids

FOLDER, FILE = "folder:", "file:"  # begin the names of facts; a repair knows them
HASH = 64  # hexadecimal digits


@dataclass(frozen=True)
class KnownFolder:
    """A folder of the index: the name that its files' names begin with, its path, and what is wanted of it.

    path: as it was given, absolute; a link in it may lead elsewhere tomorrow · index: the real path of the index at the
    last sync · from_index: the folder's real path then, relative to the index. All three are escaped.
    """

    name: str
    path: str
    chunking: Chunking = field(default_factory=Chunking)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    index: str = ""
    from_index: str = ""

    def to_fact(self) -> dict[str, Any]:
        """As it is stored under FOLDER and its name."""
        globs = {"include": list(self.include), "exclude": list(self.exclude)}
        places = {"path": self.path, "index": self.index, "from_index": self.from_index}
        return {**places, "chunking": asdict(self.chunking), **globs}

    @classmethod
    def from_fact(cls, name: str, fact: Mapping[str, Any]) -> KnownFolder | None:
        """None if it is not as expected."""
        path, chunking = fact.get("path"), fact.get("chunking")
        index, from_index = fact.get("index", ""), fact.get("from_index", "")  # not there in earlier versions
        if not (isinstance(path, str) and isinstance(index, str) and isinstance(from_index, str)):
            return None
        if not isinstance(chunking, dict) or "\0" in unescape_name(path + index + from_index):
            return None
        try:
            chosen = Selection(fact.get("include", ()), fact.get("exclude", ()))
            return cls(name, path, Chunking.from_json(chunking), chosen.include, chosen.exclude, index, from_index)
        except (SettingError, TypeError):
            return None


@dataclass(frozen=True)
class KnownFile:
    """A file as it was read last.

    stamp: None if the file had changed a moment before · passages: how many it has · reason, detail: why it has none.
    """

    stamp: Stamp | None
    sha256: str
    chunking: Chunking
    passages: int
    reason: str = ""
    detail: str = ""

    def to_fact(self) -> dict[str, Any]:
        """As it is stored under FILE and its name."""
        stamp = None if self.stamp is None else [self.stamp.size, self.stamp.mtime_ns, self.stamp.ctime_ns]
        cut = [self.chunking.tokens, self.chunking.overlap]
        fact: dict[str, Any] = {"stamp": stamp, "sha256": self.sha256, "chunking": cut, "passages": self.passages}
        return fact | ({"reason": self.reason, "detail": self.detail} if self.reason else {})

    @classmethod
    def from_fact(cls, fact: Mapping[str, Any]) -> KnownFile | None:
        """None if it is not as expected."""
        stamp, sha256, passages = fact.get("stamp"), fact.get("sha256"), fact.get("passages")
        reason, detail = fact.get("reason", ""), fact.get("detail", "")
        if not isinstance(sha256, str) or len(sha256) != HASH or type(passages) is not int:
            return None
        if reason not in ("", *REASONS) or not isinstance(detail, str) or (passages == 0) != bool(reason):
            return None
        try:
            cut = Chunking(*fact.get("chunking", ()))
            return cls(None if stamp is None else Stamp(*stamp), sha256, cut, passages, reason, detail)
        except (SettingError, TypeError):
            return None


@dataclass(frozen=True)
class SingleFile:
    """A file of a folder that was added by its own name, before the folder was: that name, and its passages' ids."""

    name: str
    ids: Sequence[str]


@dataclass(frozen=True)
class FolderMemory:
    """What the index has of one folder.

    files: by full name, None for a fact that is not as expected · held: stem -> places of the passages in the index.
    foreign: ids that begin like those of the folder, of documents that are no passages of its files.
    singles: stem -> what the index has of the file besides.
    """

    files: Mapping[str, KnownFile | None] = field(default_factory=dict)
    held: Mapping[str, Sequence[int]] = field(default_factory=dict)
    foreign: AbstractSet[str] = frozenset()
    singles: Mapping[str, SingleFile] = field(default_factory=dict)

    @classmethod
    def read(cls, reader: CatalogReader, name: str, singles: Mapping[str, SingleFile]) -> FolderMemory:
        """Of the folder with this name."""
        facts = reader.iterate_facts(f"{FILE}{name}/")
        files = {found.removeprefix(FILE): KnownFile.from_fact(fact) for found, fact in facts}
        passages = {make_stem(file): known.passages for file, known in files.items() if known is not None}
        return cls(files, *sort_ids(reader, reader.iterate_ids(f"{name}/"), passages), singles)

    def find_ids(self, stem: str) -> list[str]:
        """The ids of the passages that the index has of a file."""
        single = self.singles.get(stem)
        return [f"{stem}#{place}" for place in self.held.get(stem, ())] + list(single.ids if single else ())

    def recall(self, file: str, chunking: Chunking) -> KnownFile | None:
        """What is known of a file, if the index has exactly its passages, cut in this way."""
        known, stem = self.files.get(file), make_stem(file)
        if known is None or known.chunking != chunking or stem in self.singles:
            return None
        return known if len(self.held.get(stem, ())) == known.passages else None


def list_files(reader: CatalogReader, folder: KnownFolder) -> list[str]:
    """The full names of the files that the index remembers of a folder."""
    return [name.removeprefix(FILE) for name in reader.iterate_fact_names(f"{FILE}{folder.name}/")]


def read_folders(reader: CatalogReader) -> list[KnownFolder]:
    """All folders of an index, by name."""
    facts = reader.iterate_facts(FOLDER)
    found = (KnownFolder.from_fact(name.removeprefix(FOLDER), fact) for name, fact in facts)
    return [folder for folder in found if folder is not None]
