"""The command's frame: what is common to all of them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..errors import AsterismError, InputError
from . import models, pull

app = typer.Typer(
    name="asterism", help="Search beyond the single vector.", no_args_is_help=True, pretty_exceptions_enable=False
)
app.command()(models.models)
app.command()(pull.pull)


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and stop.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Search beyond the single vector."""


def main() -> None:
    """0: done; 2: wrong usage or input, in one clear line; 1: anything else."""
    try:
        app()
    except AsterismError as error:
        typer.echo(f"asterism: {error}", err=True)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except KeyboardInterrupt:
        typer.echo("asterism: stopped", err=True)
        sys.exit(1)
