"""`asterism pull NAME`: fetch a named model before it is needed."""

from __future__ import annotations

from typing import Annotated

import typer

from .output import print_row
from .progress import waiting


def pull(name: Annotated[str, typer.Argument(help="A name that `asterism models` lists.")]) -> None:
    """Fetch a model into the cache, verified."""
    from ..models.registry import MODELS, find_or_fetch_model

    size = f" ({MODELS[name].megabytes} MB)" if name in MODELS else ""
    with waiting(f"fetching {name}{size}"):
        folder = find_or_fetch_model(name)
    print_row(folder)
