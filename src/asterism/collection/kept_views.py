"""Which views a collection keeps of its documents, and how each is stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, get_args

from ..errors import InputError
from ..settings import VIEWS, Terms, TokenBuild, View, check_whole_number


@dataclass(frozen=True)
class Views:
    """multi: how its vectors are stored, None without them; dense: whether there is a vector for each document;
    lexical: what its terms are, None without them.

    most_vectors: token vectors of a document at most; of longer ones similar vectors become one (0: any number).
    """

    multi: TokenBuild | None = None
    dense: bool = False
    lexical: Terms | None = None
    most_vectors: int = 0

    def __post_init__(self) -> None:
        """Check what is not a setting of its own."""
        object.__setattr__(self, "most_vectors", check_whole_number("most_vectors", self.most_vectors, 0))

    @cached_property
    def names(self) -> tuple[View, ...]:
        """Those that there are."""
        return tuple(name for name in VIEWS if getattr(self, name))

    @cached_property
    def counted(self) -> bool:
        """Whether terms have counts, which BM25 weighs, instead of a model's weights."""
        return self.lexical in ("tokens", "words")

    def to_json(self) -> dict[str, Any]:
        """For the catalog; threads are no property of what is stored."""
        multi = None if self.multi is None else drop_threads(self.multi)
        return {"multi": multi, "dense": self.dense, "lexical": self.lexical, "most_vectors": self.most_vectors}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Views:
        """From the catalog."""
        multi = None if stored["multi"] is None else TokenBuild.from_json(stored["multi"])
        dense, lexical = stored.get("dense", False), stored.get("lexical")
        if not isinstance(dense, bool) or lexical not in (None, *get_args(Terms)):
            raise InputError(f"views is {stored!r}, which no collection keeps")
        return cls(multi, dense, lexical, stored.get("most_vectors", 0))


def drop_threads(build: TokenBuild) -> dict[str, Any]:
    """The settings that say what is stored."""
    return {name: value for name, value in asdict(build).items() if name != "threads"}
