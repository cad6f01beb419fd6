"""Arguments that an adapter does not know: frameworks pass them on, or drop them, without a word."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import SettingError
from ..settings import suggest_name


def refuse_unknown(called: Callable[..., Any], given: Iterable[str]) -> None:
    """Raise an error if a function has no arguments of these names."""
    parameters = inspect.signature(called).parameters.values()
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    known = [one.name for one in parameters if one.kind not in open_ended and one.name != "self"]
    refuse_names(called.__name__, given, known)


def refuse_names(owner: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise an error for the first name that is not among the known ones."""
    for name in given:
        if name not in known:
            raise SettingError(f"{owner} has no argument {name!r}: {suggest_name(name, known)}")
