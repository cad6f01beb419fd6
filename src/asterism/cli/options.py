"""Arguments and options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The index.", show_default=False)]
Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT",
        help="jsonl[.gz] in BEIR form, tsv, a folder of .txt and .md files, a BEIR folder, or - for jsonl on stdin.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line on stdout, and nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]
Model = Annotated[
    str | None,
    typer.Option("--model", help="Where the index's model is now: a folder or a name.", show_default=False),
]
