"""Checking texts."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import TextError


def check_texts(texts: Sequence[str], first: int = 0, name: str = "text") -> None:
    """Refuse values that are not text; `first` is the number of the first one in messages."""
    for number, text in enumerate(texts, first):
        if not isinstance(text, str):
            raise TextError(f"{name} {number} is a {type(text).__name__}, expected a string")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise TextError(
                f"{name} {number} has half a character (a lone surrogate) at position {error.start}: read it as UTF-8, "
                "or replace it with text.encode('utf-8', 'replace').decode()"
            ) from None
