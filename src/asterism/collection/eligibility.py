"""Which documents a filter admits, cached for the newest state."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

from ..views.eligible import Mask
from .catalog_reader import CatalogReader
from .filter_parsing import parse_filter, to_canonical_text
from .policy import Policy
from .snapshot import Snapshot


class Eligibility:
    """The cached masks of one collection; safe to use from several threads."""

    def __init__(self, policy: Policy) -> None:
        """The cache is empty."""
        self._policy = policy
        self._known: dict[tuple[int, str], Mask] = {}
        self._verified = False
        self._guard = threading.Lock()

    def find(self, snapshot: Snapshot, reader: CatalogReader, filter: Mapping[str, Any] | None) -> Mask | None:
        """(documents,) which are not deleted and match the filter; None for all."""
        if filter is None:
            return None if snapshot.state.documents == len(snapshot.numbers) else snapshot.kept
        condition = parse_filter(filter)
        key = (snapshot.state.generation, to_canonical_text(filter))
        found = self._known.get(key)
        if found is None:
            self._verify_fields(reader)
            found = snapshot.match(condition, reader) & snapshot.kept
            found.setflags(write=False)
            with self._guard:
                self._known[key] = found
                while len(self._known) > self._policy.filters_kept:
                    del self._known[next(iter(self._known))]
        return found

    def forget(self) -> None:
        """Clear the cache, because a new state has other documents."""
        with self._guard:
            self._known.clear()

    def _verify_fields(self, reader: CatalogReader) -> None:
        """Before the first filter on a small index, check that the stored fields are complete."""
        if not self._verified and os.stat(reader.path).st_size <= self._policy.verified_catalog:
            reader.check()
        self._verified = True
