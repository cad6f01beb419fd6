"""What a command shows while it works, on stderr and only if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from .output import make_console, make_one_line


class Show(Protocol):
    """Shows how far a command is."""

    def __call__(self, done: int, total: int | None = ...) -> None:
        """`done` of `total`."""


@contextmanager
def show_waiting(text: str, quiet: bool = False) -> Iterator[None]:
    """A text with a spinner until the block ends."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.text import Text

    with make_console(stderr=True).status(Text(make_one_line(text))):  # a plain string would be read as markup
        yield


@contextmanager
def show_progress(label: str, total: int | None, quiet: bool) -> Iterator[Show]:
    """A bar with rate and time left; yields a callback that receives the count so far, and perhaps the new total."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total=None: None
        return
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

    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=make_console(stderr=True)) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done, total=total: progress.update(task, completed=done, total=total)
