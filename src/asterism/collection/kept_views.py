"""The views that a collection stores of its documents, and how."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, get_args

from ..errors import InputError
from ..settings import VIEWS, TermCounting, Terms, TokenBuild, View, check_whole_number

UNCHANGED = TermCounting("none")  # words as earlier versions counted them


@dataclass(frozen=True)
class Views:
    """multi: how token vectors are stored, None for no token vectors; dense: whether each document has a dense vector;
    lexical: the kind of terms, None for no terms.

    most_vectors: maximum token vectors of a document; similar vectors of longer ones are merged (0: no limit).
    counting: how words are counted; its language is "auto" until the first documents are added.
    """

    multi: TokenBuild | None = None
    dense: bool = False
    lexical: Terms | None = None
    most_vectors: int = 0
    counting: TermCounting = UNCHANGED

    def __post_init__(self) -> None:
        """Check most_vectors; the other settings check themselves."""
        object.__setattr__(self, "most_vectors", check_whole_number("most_vectors", self.most_vectors, 0))

    @cached_property
    def names(self) -> tuple[View, ...]:
        """The names of the stored views."""
        return tuple(name for name in VIEWS if getattr(self, name))

    @cached_property
    def counted(self) -> bool:
        """Whether terms have counts, which BM25 turns into weights, instead of a model's weights."""
        return self.lexical in ("tokens", "words")

    @property
    def undecided(self) -> bool:
        """Whether the language of the words is still to be found."""
        return self.counting.language == "auto"

    @property
    def language(self) -> str:
        """The language of the words; "none" as long as there are none."""
        return "none" if self.undecided else self.counting.language

    def to_json(self) -> dict[str, Any]:
        """The form for the catalog, without threads, which do not affect what is stored."""
        multi = None if self.multi is None else drop_threads(self.multi)
        stored = {"multi": multi, "dense": self.dense, "lexical": self.lexical, "most_vectors": self.most_vectors}
        return {**stored, "counting": asdict(self.counting)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Views:
        """From the catalog."""
        multi = None if stored["multi"] is None else TokenBuild.from_json(stored["multi"])
        dense, lexical = stored.get("dense", False), stored.get("lexical")
        if not isinstance(dense, bool) or lexical not in (None, *get_args(Terms)):
            raise InputError(f"views is {stored!r}, which no collection keeps")
        counting = TermCounting.from_json(stored["counting"]) if "counting" in stored else UNCHANGED
        return cls(multi, dense, lexical, stored.get("most_vectors", 0), counting)


def drop_threads(build: TokenBuild) -> dict[str, Any]:
    """The settings that affect what is stored."""
    return {name: value for name, value in asdict(build).items() if name != "threads"}
