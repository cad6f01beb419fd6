"""`asterism models`: the named models, and which of them are on this machine."""

from __future__ import annotations

import sys

from .options import Json
from .output import make_console, print_json, print_row


def models(as_json: Json = False) -> None:
    """List the named models."""
    from ..models.registry import DEFAULT, MODELS, find_copy

    found = {name: find_copy(model) for name, model in MODELS.items()}
    if as_json:
        for name, model in MODELS.items():
            line = {"name": name, "about": model.about, "megabytes": model.megabytes, "default": name == DEFAULT}
            print_json({**line, "folder": str(found[name]) if found[name] else None})
        return
    rows = [
        (
            f"{name} (default)" if name == DEFAULT else name,
            str(model.megabytes),
            "yes" if found[name] else "",
            model.about,
        )
        for name, model in MODELS.items()
    ]
    if not sys.stdout.isatty():
        for row in rows:
            print_row(*row)
        return
    from rich.table import Column, Table

    table = Table(Column("model", no_wrap=True), "MB", "here", "what it gives", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    make_console().print(table)
