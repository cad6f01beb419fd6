"""The views that a collection stores of its documents, and how."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, get_args

from ..errors import InputError, SettingError
from ..settings import FIRST_COUNTING, VIEWS, TermCounting, Terms, TokenBuild, View, check_whole_number

COUNTED: tuple[Terms, ...] = ("tokens", "words")


@dataclass(frozen=True)
class Views:
    """multi: how token vectors are stored, None for no token vectors; dense: whether each document has a dense vector;
    lexical: the kind of terms, None for no terms.

    most_vectors: maximum token vectors of a document; similar vectors of longer ones are merged (0: no limit).
    counting: how terms are counted and weighted; for counted terms, None stands for no language. Its language is
    "auto" until there are documents that tell it.
    """

    multi: TokenBuild | None = None
    dense: bool = False
    lexical: Terms | None = None
    most_vectors: int = 0
    counting: TermCounting | None = None

    def __post_init__(self) -> None:
        """Check most_vectors and whether terms are counted; the other settings check themselves."""
        object.__setattr__(self, "most_vectors", check_whole_number("most_vectors", self.most_vectors, 0))
        if not isinstance(self.counting, TermCounting | None):
            raise SettingError(f"counting is a {type(self.counting).__name__}, expected TermCounting(...) or None")
        if self.lexical in COUNTED:
            object.__setattr__(self, "counting", self.counting or TermCounting(language="none"))
        elif self.counting is not None:
            there = "no lexical view" if self.lexical is None else "a lexical view of the model's own weights"
            raise SettingError(f"counting is {self.counting}, expected None: there is {there}")

    @cached_property
    def names(self) -> tuple[View, ...]:
        """The names of the stored views."""
        return tuple(name for name in VIEWS if getattr(self, name))

    @property
    def counted(self) -> bool:
        """Whether terms have counts, which BM25 turns into weights, instead of a model's weights."""
        return self.counting is not None

    @property
    def undecided(self) -> bool:
        """Whether the language of the words is still to be found."""
        return self.counting is not None and self.counting.language == "auto"

    @property
    def language(self) -> str:
        """The language of the words; "none" as long as it is not clear."""
        return "none" if self.counting is None or self.undecided else self.counting.language

    @property
    def effective_counting(self) -> TermCounting | None:
        """How terms are counted now."""
        return None if self.counting is None else replace(self.counting, language=self.language)

    def to_json(self) -> dict[str, Any]:
        """The form for the catalog, without threads, which do not affect what is stored."""
        multi = None if self.multi is None else drop_threads(self.multi)
        counting = None if self.counting is None else asdict(self.counting)
        kept = {"multi": multi, "dense": self.dense, "lexical": self.lexical}
        return {**kept, "most_vectors": self.most_vectors, "counting": counting}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Views:
        """From the catalog."""
        multi = None if stored["multi"] is None else TokenBuild.from_json(stored["multi"])
        dense, lexical = stored.get("dense", False), stored.get("lexical")
        if not isinstance(dense, bool) or lexical not in (None, *get_args(Terms)):
            raise InputError(f"views is {stored!r}, which no collection keeps")
        first = FIRST_COUNTING if lexical in COUNTED else None  # earlier formats do not store it
        counting = TermCounting.from_json(stored["counting"]) if stored.get("counting") is not None else first
        return cls(multi, dense, lexical, stored.get("most_vectors", 0), counting)


def drop_threads(build: TokenBuild) -> dict[str, Any]:
    """The settings that affect what is stored."""
    return {name: value for name, value in asdict(build).items() if name != "threads"}
