"""What an `add` did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AddCounts:
    """Documents that are new, and those that replaced one with their id; counted while nobody else could write."""

    added: int = 0
    replaced: int = 0

    @property
    def total(self) -> int:
        """Both."""
        return self.added + self.replaced

    def __add__(self, other: AddCounts) -> AddCounts:
        """The sums."""
        return AddCounts(self.added + other.added, self.replaced + other.replaced)
