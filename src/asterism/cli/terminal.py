"""What commands share: progress on a terminal, input that is checked before anything changes, options."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DocumentError, FilterError, InputError

if TYPE_CHECKING:
    from ..corpus import Document
    from ..readers import Located

STDIN = "-"
CONTROLS = {code: 0x2400 + code for code in range(32) if code not in (9, 10)} | {127: 0x2421}
CONTROLS |= dict.fromkeys(range(128, 160), 0xFFFD)

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


def print_json(value: dict[str, Any]) -> None:
    """One line; what is not finite is null."""
    clean = {
        key: None if isinstance(item, float) and not abs(item) < float("inf") else item for key, item in value.items()
    }
    typer.echo(json.dumps(clean, ensure_ascii=False))


def visible(text: str) -> str:
    """Text of a document for a terminal, as long as before: control characters must not command it."""
    return text.translate(CONTROLS)


def parsed_filter(text: str | None) -> dict[str, Any] | None:
    """The value of --filter."""
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits, and brackets a thousand deep
        raise FilterError(f"--filter is no usable JSON ({error}): {text[:60]!r}") from error
    if not isinstance(found, dict):
        raise FilterError(f'--filter is {text[:60]!r}, expected an object such as {{"year": {{"$gte": 2020}}}}')
    return found


def stdin_text() -> str:
    """All of stdin, as UTF-8 whatever the locale."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"stdin is not UTF-8 (byte {error.start}), expected text") from error


@contextmanager
def progress_bar(label: str, total: int | None, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar with rate and time left on stderr, if that is a terminal; yields what is told how much is done."""
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """Documents a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f}/s" if speed else "", style="cyan")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done: progress.update(task, completed=done)


class CheckedInput:
    """Documents of several inputs, read once to find every error before anything is changed; can be read again."""

    def __init__(self, inputs: Sequence[str], folder: Path) -> None:
        """`folder` is for what comes from stdin, which can be read only once."""
        from ..readers import STDIN as STDIN_NAME
        from ..readers import located_documents, located_jsonl

        if list(inputs).count(STDIN) > 1:
            raise InputError("- was given twice, expected it once: stdin can be read only once")
        self._readers: list[Callable[[], Iterator[Located]]] = []
        for given in inputs:
            if given == STDIN:
                kept = folder / "stdin"
                with open(kept, "xb") as file:
                    shutil.copyfileobj(sys.stdin.buffer, file)
                self._readers.append(partial(located_jsonl, kept, STDIN_NAME))
            else:
                self._readers.append(partial(located_documents, given))
        seen: set[str] = set()
        for where, document in self.located():
            if document.id in seen:
                raise DocumentError(f"{where}: the id {document.id!r} came before, expected each once: nothing changed")
            seen.add(document.id)
        if not seen:
            raise DocumentError(f"{', '.join(inputs)}: no documents, expected at least one")
        self.ids = seen

    def __len__(self) -> int:
        """Documents."""
        return len(self.ids)

    def __iter__(self) -> Iterator[Document]:
        """All of them, in order."""
        return (document for _, document in self.located())

    def located(self) -> Iterator[Located]:
        """All of them, each with its FILE:LINE."""
        for reader in self._readers:
            yield from reader()


@contextmanager
def checked_input(inputs: Sequence[str], quiet: bool) -> Iterator[CheckedInput]:
    """Read and check the whole input."""
    from rich.console import Console

    with tempfile.TemporaryDirectory(prefix="asterism-") as folder:
        with Console(stderr=True, quiet=quiet or not sys.stderr.isatty()).status("reading the input"):
            found = CheckedInput(inputs, Path(folder))
        yield found


def summary(text: str, quiet: bool) -> None:
    """A last line for people, on stderr."""
    if not quiet:
        typer.echo(text, err=True)


def megabytes(size: int) -> str:
    """For people."""
    return f"{size / 1e6:,.1f} MB"
