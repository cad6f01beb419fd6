"""The frame around every command: its options, its errors and its exit code."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer

from ..errors import AsterismError, IndexExists, InputError, NewerFormat, NotAnIndex, OtherRun, QueryCut
from . import (
    INTERRUPTED,
    add,
    cross,
    delete,
    demo,
    documents,
    evaluate,
    export,
    export_model,
    index,
    maintenance,
    metadata,
    models,
    pull,
    search,
    sync,
    train,
    tune,
)
from .output import accept_every_character, print_error, print_note, print_row, print_trace

WRONG_USE = (InputError, IndexExists, NotAnIndex, NewerFormat, OtherRun)

app = typer.Typer(
    name="asterism", help="Search beyond the single vector.", no_args_is_help=True, pretty_exceptions_enable=False
)
for command in (
    index.index,
    sync.sync,
    add.add,
    delete.delete,
    metadata.set_metadata,
    documents.list_documents,
    documents.get,
    export.export,
    search.search,
    evaluate.evaluate,
    tune.tune,
    train.train,
    maintenance.info,
    maintenance.check,
    maintenance.compact,
    maintenance.repair,
    maintenance.backup,
    models.models,
    pull.pull,
    export_model.export_model,
    demo.demo,
):
    app.command("list" if command is documents.list_documents else None)(command)
app.add_typer(cross.app, name="cross")


def _print_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        print_row(__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Search beyond the single vector."""


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as one line for people, without its place in our code."""
    print_note(f"asterism: {message}")


def run() -> int:
    """Run the command line; returns the exit code."""
    accept_every_character()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("once", QueryCut)
            warnings.showwarning = _show_warning
            code = app(standalone_mode=False)
        sys.stdout.flush()
    except AsterismError as error:
        print_error(str(error))
        return 2 if isinstance(error, WRONG_USE) else 1
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except OSError as error:
        sys.stdout = None  # Python would try to write the rest again at exit
        print_error(f"{error.filename or 'the output'} cannot be written or read ({error.strerror})")
        return 1
    except MemoryError:
        print_error("there is not enough memory for this: give it less at once")
        return 1
    except Exception as error:
        message = getattr(error, "format_message", None)  # typer's usage errors have one, and no public name
        if message is None:
            print_trace()
            return 1
        if message():  # empty if help was shown instead
            print_error(f"{message()} (try asterism --help)")
        return 2
    if code == INTERRUPTED:  # typer's own exit code for Ctrl-C
        print_error("stopped")
        return INTERRUPTED
    return int(code or 0)
