"""`asterism pull NAME`: download a named model before it is needed."""

from __future__ import annotations

from typing import Annotated

from .options import describe_argument
from .output import print_row
from .progress import show_waiting


def pull(name: Annotated[str, describe_argument("NAME", "A name listed by `asterism models`.")]) -> None:
    """Download a model into the cache, and verify it."""
    from ..models.registry import MODELS, find_or_fetch_model

    size = f" ({MODELS[name].megabytes} MB)" if name in MODELS else ""
    with show_waiting(f"fetching {name}{size}"):
        folder = find_or_fetch_model(name)
    print_row(folder)
