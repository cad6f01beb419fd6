"""JSON from unknown sources: every error is a ValueError."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn


def parse_json(text: str | bytes, *, unique: bool = False) -> Any:
    """Like json.loads, but NaN, Infinity and text that is nested too deeply are ValueErrors too.

    With `unique`, a repeated key in an object is also a ValueError: another parser may use the other value.
    """
    hook = _refuse_repeated if unique else None
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=hook)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"it has the key {name!r} twice")
    return found
