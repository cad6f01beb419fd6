"""Arguments and options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def describe_option(*names: str, help: str, metavar: str | None = None, default: str | bool = False) -> Any:
    """A typer option; `default` is what its help says of the default: words, True for the value, False for nothing."""
    return typer.Option(*names, help=help, metavar=metavar, show_default=default)


def describe_argument(metavar: str, help: str) -> Any:
    """A typer argument, known by its metavar."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


Folder = Annotated[Path, describe_argument("DIR", "The index.")]
Inputs = Annotated[
    list[str],
    describe_argument(
        "INPUT",
        "jsonl[.gz] in BEIR form, tsv, any other file, a folder of files, a BEIR folder, or - for jsonl on stdin.",
    ),
]
Json = Annotated[bool, describe_option("--json", help="Print one JSON object a line on stdout, and nothing else.")]
Quiet = Annotated[bool, describe_option("--quiet", "-q", help="No progress, no summary.")]
Model = Annotated[
    str | None,
    describe_option("--model", help="Where the index's model is now, if it was moved: a folder or a name."),
]
Data = Annotated[
    Path,
    describe_option("--data", metavar="BEIR_DIR", help="A folder with queries.jsonl[.gz] and qrels/, as in BEIR."),
]
Split = Annotated[
    str, describe_option("--split", help="Which judgements: qrels/SPLIT.tsv, in BEIR's or TREC's form.", default=True)
]
Filter = Annotated[
    str | None,
    describe_option("--filter", metavar="JSON", help='Only documents with this metadata: {"year": {"$gte": 2020}}.'),
]
Ids = Annotated[list[str] | None, describe_argument("ID", "The documents' ids.")]
From = Annotated[str | None, describe_option("--from", metavar="FILE", help="A file with one id a line; - for stdin.")]
Offset = Annotated[int, describe_option("--offset", help="How many to leave out at the beginning.", default=True)]
Wait = Annotated[
    float | None,
    describe_option("--wait", metavar="SECONDS", help="Wait that long for another writer to end.", default="1"),
]
