"""Thresholds that decide when a collection is clustered, merged and verified."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..errors import SettingError
from ..settings import Settings

MAY_BE_ZERO = ("drifted", "verified_bytes", "verified_catalog")


@dataclass(frozen=True)
class Policy(Settings):
    """The defaults suit collections of any size; tests pass other values to reach every case with a few documents.

    batch_documents     maximum documents that are encoded and committed together
    batch_characters    approximate maximum of their characters
    flat_tokens         up to this many token vectors stay floats, searched exactly; then a codec is trained
    most_flat_tokens    the same limit during a long `add`: 4 GB of float16 at 128 dimensions
    most_segments       during a long `add`, segments are merged when there are this many
    outgrown            the codec is trained again at this multiple of the vectors it was trained on
    drifted             or when it leaves over this multiple of the energy that it left over at its training
    graph_documents     a dense segment of at least this many documents gets a graph
    chunk_tokens        approximate token vectors in memory while segments are merged
    chunk_postings      approximate postings of lexical lists in memory while segments are merged
    verified_bytes      up to this size, segments are verified before the first search: half a second
    verified_catalog    up to this size, the fields are verified before the first filter is used
    filters_kept        filters whose eligible documents are cached
    """

    batch_documents: int = 256
    batch_characters: int = 1 << 22
    flat_tokens: int = 20_000
    most_flat_tokens: int = 1 << 24
    most_segments: int = 64
    outgrown: float = 8
    drifted: float = 1.25
    graph_documents: int = 50_000
    chunk_tokens: int = 1 << 14
    chunk_postings: int = 1 << 21
    verified_bytes: int = 1 << 30
    verified_catalog: int = 1 << 22
    filters_kept: int = 16

    def __post_init__(self) -> None:
        """Check every value."""
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in MAY_BE_ZERO else 1
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
                raise SettingError(f"{field.name} is {value!r}, expected a number of at least {least}")
