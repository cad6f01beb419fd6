"""Which documents a change is about: those with some ids, or those that match a filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..collection.collection import Collection
from ..collection.filter_parsing import parse_filter
from ..collection.state import Numbers
from ..errors import InputError, UnknownDocument
from .checks import check_ids


@dataclass(frozen=True)
class Choice:
    """Ids or a filter; the other is None."""

    ids: tuple[str, ...] | None
    filter: Mapping[str, Any] | None

    @classmethod
    def from_request(cls, ids: Iterable[str] | None, filter: Mapping[str, Any] | None) -> Choice:
        """Check the arguments: exactly one of them."""
        if (ids is None) == (filter is None):
            given = "neither ids nor a filter" if ids is None else "both ids and a filter"
            raise InputError(f"{given} was given, expected one of them; {{}} is the filter that all documents match")
        if filter is not None:
            parse_filter(filter)
            return cls(None, filter)
        return cls(tuple(dict.fromkeys(check_ids(ids))), None)

    def find(self, collection: Collection, missing_ok: bool, done: str) -> Numbers:
        """(n,) the documents' numbers, ascending; UnknownDocument, saying that nothing was `done`, for a missing id."""
        if self.filter is not None:
            for _ in collection.documents(self.filter):
                pass  # reading compares each document with the filter: damaged fields must not choose others
            return collection.match(self.filter)
        with collection.reading() as reader:
            known = reader.find_numbers(self.ids or ())
        missing = next((id for id in self.ids or () if id not in known), None)
        if missing is not None and not missing_ok:
            raise UnknownDocument(f"there is no document with the id {missing!r}: nothing was {done}")
        return np.sort(np.array(list(known.values()), np.int64))
