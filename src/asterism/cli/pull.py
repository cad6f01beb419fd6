"""`asterism pull NAME`: fetch a named model before it is needed."""

from __future__ import annotations

from typing import Annotated

import typer


def pull(name: Annotated[str, typer.Argument(help="A name that `asterism models` lists.")]) -> None:
    """Fetch a model into the cache, verified."""
    from rich.console import Console

    from ..encoders.registry import MODELS, model_folder

    size = f" ({MODELS[name].megabytes} MB)" if name in MODELS else ""
    with Console(stderr=True).status(f"fetching {name}{size}"):
        folder = model_folder(name)
    typer.echo(str(folder))
