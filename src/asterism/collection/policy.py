"""When a collection is clustered, merged, verified: figures that trade time for space, in one value that is passed."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..errors import SettingError
from ..settings import Settings

MAY_BE_ZERO = ("drifted", "verified_bytes", "verified_catalog")


@dataclass(frozen=True)
class Policy(Settings):
    """The defaults suit collections of any size; tests pass others to reach every case with a few documents.

    batch_documents     that are encoded and committed together, at most
    batch_characters    of their texts, about
    flat_tokens         token vectors stay floats, searched exactly, up to so many; then a codec is trained
    most_flat_tokens    the same in the middle of a long `add`: 4 GB of float16 at 128 dimensions
    most_segments       of which so many are merged, in the middle of a long `add`
    outgrown            the codec is trained again at so many times the vectors it was trained on
    drifted             or when it leaves over so many times the energy that it left over at its training
    graph_documents     a dense segment of so many documents gets a graph
    chunk_tokens        token vectors that are in memory at once while segments are merged, about
    chunk_postings      entries of lexical lists, likewise
    verified_bytes      up to this size, what a first search reads is verified before: half a second
    verified_catalog    up to this size, the fields are verified before the first filter is used
    filters_kept        filters whose eligible documents are remembered
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
