"""One committed state of a collection, opened: segments mapped, the dead known."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DamagedIndex
from ..settings import TokenBuild, cores
from .catalog import CatalogView, Numbers, Part, State
from .codec_files import open_codec
from .filters import Compare, Condition, Either, Every
from .residual_codec import ResidualCodec
from .segment_merge import Living, Mask
from .storage import REMEDY, FileFacts, map_array, read_manifest, verify_file
from .token_searcher import TokenSearcher
from .token_segment import OpenSegment, SegmentFacts, open_segment

VERSION = 1
SEGMENT_KIND, SEGMENT_FACTS = "asterism segment", "segment.json"
CODEC_KIND, CODEC_FACTS = "asterism codec", "codec.json"
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
class StoredSegment:
    """A segment, the numbers of its documents (documents,) rising, and the share its codec left over."""

    part: Part
    segment: OpenSegment
    numbers: Numbers
    left_over: float

    @property
    def files(self) -> FileFacts:
        """Every that belong to it, but its facts."""
        return self.segment.facts.files


@dataclass(frozen=True)
class Snapshot:
    """What a search sees. `numbers` (documents,) of all segments, rising; `alive` the same length."""

    state: State
    codec: StoredCodec | None
    segments: tuple[StoredSegment, ...]
    searcher: TokenSearcher | None
    numbers: Numbers
    alive: Mask

    @classmethod
    def open(cls, folder: Path, view: CatalogView, previous: Snapshot | None) -> Snapshot:
        """The state of a transaction; what `previous` has open already is used again."""
        state = view.state()
        known_segments = {stored.part: stored for stored in previous.segments} if previous else {}
        codec = None
        if state.codec is not None:
            same = previous is not None and previous.codec is not None and previous.codec.part == state.codec
            codec = previous.codec if same and previous else open_stored_codec(folder, state.codec)
        segments = tuple(known_segments.get(part) or _segment(folder, part, codec) for part in state.segments)
        numbers = np.concatenate([np.empty(0, np.int64), *(stored.numbers for stored in segments)])
        if (np.diff(numbers) <= 0).any():
            raise DamagedIndex(f"{folder}: the documents' numbers are not in order; {REMEDY}")
        alive = np.ones(len(numbers), bool)
        alive[positions(numbers, view.tombstones())] = False
        if int(alive.sum()) != state.documents:
            raise DamagedIndex(f"{folder}: segments and catalog do not hold the same documents; {REMEDY}")
        searcher = TokenSearcher(folder, codec.codec, [stored.segment for stored in segments]) if codec else None
        return cls(state, codec, segments, searcher, numbers, alive)

    def living(self, stored: StoredSegment) -> Living:
        """A segment with its living documents."""
        return Living(stored.segment, self.alive[positions(self.numbers, stored.numbers)])

    def matching(self, condition: Condition, view: CatalogView) -> Mask:
        """(documents,) which fulfil a condition, dead ones perhaps included."""
        if isinstance(condition, Compare):
            mask = np.zeros(len(self.numbers), bool)
            mask[positions(self.numbers, view.matching(condition))] = True
            return mask
        if isinstance(condition, Every | Either):
            combine: Any = np.logical_and if isinstance(condition, Every) else np.logical_or
            masks = [self.matching(part, view) for part in condition.parts]
            start = np.full(len(self.numbers), isinstance(condition, Every))
            return np.asarray(combine.reduce([start, *masks]), bool)
        return ~self.matching(condition.part, view)


def positions(numbers: Numbers, wanted: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Where in `numbers` (rising) the wanted ones stand; those that are not there are left out."""
    asked = np.asarray(wanted, np.int64)
    found = np.searchsorted(numbers, asked)
    there = found < len(numbers)
    there[there] = numbers[found[there]] == asked[there]
    return found[there]


def open_stored_codec(folder: Path, part: Part) -> StoredCodec:
    """Read whole and verified."""
    path = folder / part.name
    facts = read_manifest(path, CODEC_KIND, VERSION, CODEC_FACTS, part.crc32)
    settings = TokenBuild.of(facts["settings"])
    codec = open_codec(path, facts["codec"], settings)
    return StoredCodec(part, codec, settings, facts["tokens"], facts["left_over"], facts["codec"]["files"])


def _segment(folder: Path, part: Part, codec: StoredCodec | None) -> StoredSegment:
    facts = read_manifest(folder / part.name, SEGMENT_KIND, VERSION, SEGMENT_FACTS, part.crc32)
    if codec is None or facts["codec"] != codec.part.name:
        raise DamagedIndex(f"{folder / part.name} was made with {facts['codec']}, which is not there: {REMEDY}")
    segment = SegmentFacts(**facts["segment"])
    opened = open_segment(folder, segment, codec.codec, codec.settings)
    numbers = map_array(folder / part.name / f"{NUMBERS}.npy", segment.files, np.int64, (segment.documents,))
    return StoredSegment(part, opened, numbers, facts["left_over"])


def verify_part(folder: Path, part: Part, files: FileFacts) -> None:
    """Read every file of a codec or segment and compare its checksum; they are read side by side."""
    with ThreadPoolExecutor(cores(0)) as team:
        for _ in team.map(lambda name: verify_file(folder / part.name / name, files[name]), files):
            pass
