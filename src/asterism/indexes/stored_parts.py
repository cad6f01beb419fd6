"""The folders of a collection, opened: the codec of the token vectors, and segments with all views of some documents.

segment-000002/
  segment.json     the documents' count, and of each view its sizes, checksums and codec
  numbers.npy      (documents,) int64, rising: what the catalog calls them
  multi/           files of token_segment.py
  dense/           files of dense_segment.py
  lexical/         files of lexical_segment.py
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DamagedIndex
from ..settings import TokenBuild, cores
from .catalog import Numbers, Part
from .codec_files import open_codec
from .dense_segment import DenseFacts, OpenDense, open_dense
from .lexical_segment import LexicalFacts, OpenLexical, open_lexical
from .residual_codec import ResidualCodec
from .storage import REMEDY, FileFacts, map_array, read_manifest, verify_file
from .token_segment import OpenSegment, SegmentFacts, open_segment

SEGMENT_KIND, SEGMENT_FACTS, SEGMENT_VERSION = "asterism segment", "segment.json", 2
CODEC_KIND, CODEC_FACTS, CODEC_VERSION = "asterism codec", "codec.json", 1
NUMBERS = "numbers"


@dataclass(frozen=True)
class StoredCodec:
    """A codec, the settings of what it codes, how many vectors trained it and what share of them it left over."""

    part: Part
    codec: ResidualCodec
    settings: TokenBuild
    tokens: int
    left_over: float
    files: FileFacts

    @property
    def untrained(self) -> bool:
        """Floats under one centroid, as every collection begins."""
        return self.tokens == 0


@dataclass(frozen=True)
class StoredTokens:
    """Token vectors of a segment, and the share its codec left over."""

    segment: OpenSegment
    left_over: float


@dataclass(frozen=True)
class StoredSegment:
    """Those views that the collection keeps of some documents, whose numbers (documents,) rise.

    `files` by their path within the collection.
    """

    part: Part
    numbers: Numbers
    multi: StoredTokens | None
    dense: OpenDense | None
    lexical: OpenLexical | None
    files: FileFacts

    @property
    def tokens(self) -> int:
        """Token vectors."""
        return self.multi.segment.facts.tokens if self.multi is not None else 0

    @property
    def size(self) -> int:
        """What merging it costs, about."""
        return len(self.numbers) + self.tokens


def open_stored_codec(folder: Path, part: Part) -> StoredCodec:
    """Read whole and verified."""
    path = folder / part.name
    facts = read_manifest(path, CODEC_KIND, CODEC_VERSION, CODEC_FACTS, part.crc32)
    settings = TokenBuild.of(facts["settings"])
    codec = open_codec(path, facts["codec"], settings)
    files = _within(part.name, facts["codec"]["files"])
    return StoredCodec(part, codec, settings, facts["tokens"], facts["left_over"], files)


def open_stored_segment(folder: Path, part: Part, codec: StoredCodec | None) -> StoredSegment:
    """Mapped, with shapes that belong together."""
    inside = folder / part.name
    facts = read_manifest(inside, SEGMENT_KIND, SEGMENT_VERSION, SEGMENT_FACTS, part.crc32)
    if facts["version"] == 1:
        facts = _as_now(facts)
    views: dict[str, Any] = facts["views"]
    numbers = map_array(inside / f"{NUMBERS}.npy", facts["files"], np.int64, (facts["documents"],))
    multi = _open_tokens(folder, part, views["multi"], codec) if "multi" in views else None
    dense = open_dense(inside / "dense", DenseFacts(**views["dense"])) if "dense" in views else None
    lexical = open_lexical(inside / "lexical", LexicalFacts(**views["lexical"])) if "lexical" in views else None
    files: FileFacts = {f"{part.name}/{name}": file for name, file in facts["files"].items()}
    if multi is not None:
        files |= _within(multi.segment.facts.name, multi.segment.facts.files)
    for name, opened in (("dense", dense), ("lexical", lexical)):
        files |= _within(f"{part.name}/{name}", opened.facts.files) if opened is not None else {}
    opened_views = (None if multi is None else multi.segment, dense, lexical)
    if any(opened.facts.documents != facts["documents"] for opened in opened_views if opened is not None):
        raise DamagedIndex(f"{inside}: the views do not hold the same documents; {REMEDY}")
    return StoredSegment(part, numbers, multi, dense, lexical, files)


def _within(folder: str, files: FileFacts) -> FileFacts:
    return {f"{folder}/{name}": file for name, file in files.items()}


def _open_tokens(folder: Path, part: Part, stored: dict[str, Any], codec: StoredCodec | None) -> StoredTokens:
    if codec is None or stored["codec"] != codec.part.name:
        raise DamagedIndex(f"{folder / part.name} was made with {stored['codec']}, which is not there: {REMEDY}")
    opened = open_segment(folder, SegmentFacts(**stored["segment"]), codec.codec, codec.settings)
    return StoredTokens(opened, stored["left_over"])


def _as_now(facts: dict[str, Any]) -> dict[str, Any]:
    """The first format had token vectors alone, and their arrays beside the numbers."""
    segment = facts["segment"]
    numbers = {f"{NUMBERS}.npy": segment["files"].pop(f"{NUMBERS}.npy")}
    multi = {name: facts[name] for name in ("codec", "left_over", "segment")}
    return {"documents": segment["documents"], "files": numbers, "views": {"multi": multi}}


def verify_files(folder: Path, files: FileFacts) -> None:
    """Read every file and compare its checksum; they are read side by side."""
    with ThreadPoolExecutor(cores(0)) as team:
        for _ in team.map(lambda name: verify_file(folder / name, files[name]), files):
            pass
