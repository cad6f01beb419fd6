"""Opens the folders of a collection: the codec of the token vectors, and segments with all views of some documents.

segment-000002/
  segment.json     the number of documents, and the sizes, checksums and codec of each view
  numbers.npy      (documents,) int64, ascending: the documents' numbers in the catalog
  multi/           see views/tokens/segment.py
  dense/           see views/dense/segment.py
  lexical/         see views/lexical/segment.py
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..settings import VIEWS, TokenBuild, View
from ..storage.arrays import MappedFolder, read_array, verify_file
from ..storage.facts import Facts, FileFacts
from ..storage.faults import damaged
from ..storage.manifest import read_manifest
from ..views.dense.segment import DenseFacts, OpenDense, open_dense
from ..views.lexical.segment import LexicalFacts, OpenLexical, open_lexical
from ..views.tokens.codec_files import list_codec_files, open_codec
from ..views.tokens.residual_codec import ResidualCodec
from ..views.tokens.segment import MOST_DOCUMENTS, OpenTokens, TokenFacts, open_tokens
from .state import Numbers, Part

SEGMENT_KIND, SEGMENT_FACTS, SEGMENT_VERSION = "asterism segment", "segment.json", 4
CODEC_KIND, CODEC_FACTS, CODEC_VERSION = "asterism codec", "codec.json", 2
NUMBERS = "numbers"


@dataclass(frozen=True)
class StoredCodec:
    """A codec, its build settings, the number of vectors that trained it, and the share that it left over of them."""

    part: Part
    path: Path
    codec: ResidualCodec
    settings: TokenBuild
    tokens: int
    left_over: float
    files: FileFacts

    @property
    def untrained(self) -> bool:
        """Whether vectors are floats with a single centroid, as in every new collection."""
        return self.tokens == 0

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(facts["bytes"] for facts in self.files.values())

    def verify(self) -> None:
        """Read all files and compare their checksums."""
        for name, facts in self.files.items():
            verify_file(self.path / name, facts)


@dataclass(frozen=True)
class StoredTokens:
    """Token vectors of a segment, and the share that the codec left over."""

    segment: OpenTokens
    left_over: float


@dataclass(frozen=True)
class StoredSegment:
    """All views of some documents; numbers (documents,) ascending."""

    part: Part
    numbers: Numbers
    multi: StoredTokens | None
    dense: OpenDense | None
    lexical: OpenLexical | None
    folders: tuple[MappedFolder, ...]

    @property
    def views(self) -> tuple[View, ...]:
        """The views that the segment has."""
        return tuple(name for name in VIEWS if getattr(self, name) is not None)

    @property
    def tokens(self) -> int:
        """Number of token vectors."""
        return self.multi.segment.facts.tokens if self.multi is not None else 0

    @property
    def size(self) -> int:
        """Approximate cost of merging it."""
        return len(self.numbers) + self.tokens

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(folder.bytes for folder in self.folders)


def open_stored_codec(folder: Path, part: Part) -> StoredCodec:
    """Read and verify a codec completely."""
    path = folder / part.name
    facts = read_manifest(path, CODEC_KIND, CODEC_VERSION, CODEC_FACTS, part.crc32)
    settings = facts.read("settings", TokenBuild.from_json)
    codec = open_codec(path, facts.part("codec"), settings)
    files = list_codec_files(facts.part("codec"))
    return StoredCodec(part, path, codec, settings, facts.whole("tokens"), facts.number("left_over", 1e9), files)


def read_numbers(folder: Path, part: Part) -> Numbers:
    """The numbers of a segment's documents; works even if its views are damaged."""
    facts = read_manifest(folder / part.name, SEGMENT_KIND, SEGMENT_VERSION, SEGMENT_FACTS, part.crc32)
    if facts.whole("version") == 1:
        facts = _upgrade_facts(facts)
    return read_array(
        folder / part.name / f"{NUMBERS}.npy", facts.files([f"{NUMBERS}.npy"])[f"{NUMBERS}.npy"], np.int64, 1
    )


def open_stored_segment(folder: Path, part: Part, codec: StoredCodec | None) -> StoredSegment:
    """Map a segment and check its shapes."""
    inside = folder / part.name
    facts = read_manifest(inside, SEGMENT_KIND, SEGMENT_VERSION, SEGMENT_FACTS, part.crc32)
    first_format = facts.whole("version") == 1
    if first_format:
        facts = _upgrade_facts(facts)
    documents, views = facts.whole("documents", most=MOST_DOCUMENTS), facts.part("views")
    own = MappedFolder(inside, facts.files([f"{NUMBERS}.npy"]))
    numbers = own.array(NUMBERS, np.int64, (documents,))
    multi = dense = lexical = None
    if views.has("multi"):
        name = part.name if first_format else f"{part.name}/multi"
        multi = _open_tokens(folder, name, views.part("multi"), codec)
    if views.has("dense"):
        dense = open_dense(inside / "dense", DenseFacts.from_facts(views.part("dense")))
    if views.has("lexical"):
        lexical = open_lexical(inside / "lexical", LexicalFacts.from_facts(views.part("lexical")))
    opened = [one for one in (None if multi is None else multi.segment, dense, lexical) if one is not None]
    if any(one.facts.documents != documents for one in opened):
        raise damaged(inside, "has views that do not hold the same documents")
    return StoredSegment(part, numbers, multi, dense, lexical, (own, *(one.folder for one in opened)))


def _open_tokens(folder: Path, name: str, stored: Facts, codec: StoredCodec | None) -> StoredTokens:
    if codec is None or stored.text("codec") != codec.part.name:
        raise damaged(folder / name, f"was made with {stored.text('codec')[:60]!r}, which does not exist")
    facts = TokenFacts.from_facts(stored.part("segment"), name, codec.codec.bits, codec.settings)
    opened = open_tokens(folder, facts, codec.codec, codec.settings)
    return StoredTokens(opened, stored.number("left_over", 1e9))


def _upgrade_facts(facts: Facts) -> Facts:
    """Facts of the first format, which had only token vectors, with their arrays beside the numbers."""
    segment = facts.part("segment")
    listed = segment.part("files").content
    tokens: dict[str, Any] = {name: file for name, file in listed.items() if name != f"{NUMBERS}.npy"}
    numbers = {name: file for name, file in listed.items() if name == f"{NUMBERS}.npy"}
    multi = {name: facts.content.get(name) for name in ("codec", "left_over")}
    multi["segment"] = {**segment.content, "files": tokens}
    now = {"documents": segment.whole("documents"), "files": numbers, "views": {"multi": multi}}
    return Facts(now, facts.where)
