"""What `index`, `add` and `sync` share: which files of a folder are read, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from ..errors import BadFiles
from .options import describe_option
from .output import print_note
from .progress import show_progress

if TYPE_CHECKING:
    from ..retriever import Retriever, SyncReport
    from ..retriever.syncing.folders import Wishes

SHOWN = 20  # files of which a line is printed

Include = Annotated[
    list[str] | None,
    describe_option("--include", metavar="GLOB", help="Only files that match, as in a .gitignore; may be repeated."),
]
Exclude = Annotated[
    list[str] | None,
    describe_option("--exclude", metavar="GLOB", help="Leave out files and folders that match; may be repeated."),
]
ChunkTokens = Annotated[
    int | None, describe_option("--chunk-tokens", help="The most tokens of a file's passage.", default="200")
]
Overlap = Annotated[
    int | None, describe_option("--overlap", help="The most tokens that a passage repeats of the last.", default="0")
]
Strict = Annotated[
    bool, describe_option("--strict", help="A file that cannot be read is an error, before anything is written.")
]


def make_wishes(
    include: Sequence[str] | None, exclude: Sequence[str] | None, chunk_tokens: int | None, overlap: int | None
) -> Wishes:
    """What was asked for of the files of a folder."""
    from ..documents.files.chunking import Chunking
    from ..retriever.syncing.folders import Wishes

    given = {"tokens": chunk_tokens, "overlap": overlap}
    chosen = {name: value for name, value in given.items() if value is not None}
    return Wishes(Chunking(**chosen) if chosen else None, include or None, exclude or None)


def sync_folders(
    retriever: Retriever,
    folders: Sequence[str],
    wishes: Wishes,
    quiet: bool,
    strict: bool = False,
    wait: float | None = None,
    dry_run: bool = False,
) -> SyncReport:
    """Bring the index in step with folders, and show how far it is."""
    with explain_bad_files(), show_progress("reading files", None, quiet) as show:
        return retriever.sync(
            folders,
            chunking=wishes.chunking,
            include=wishes.include,
            exclude=wishes.exclude,
            strict=strict,
            dry_run=dry_run,
            progress=show,
            wait=wait,
        )


@contextmanager
def explain_bad_files() -> Iterator[None]:
    """Print all bad files before the error that counts them."""
    try:
        yield
    except BadFiles as error:
        for file, why in error.files:
            print_note(f"{file}: {why}")
        raise


def print_files(report: SyncReport, quiet: bool) -> None:
    """The summary for people: the counts, the files that should be looked at, and encodings that were guessed."""
    counts = {name: getattr(report, name) for name in ("read", "replaced", "unchanged", "removed")}
    done = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in report.reasons.items())
    skipped = f", {len(report.skipped):,} skipped ({reasons})" if reasons else ""
    print_note(f"{'would be: ' if report.dry_run else ''}files: {done}{skipped}", quiet)
    for before, now in report.moved:
        print_note(f"  {before} was moved to {now}", quiet)
    for path in report.missing:
        print_note(f"  {path}: gone; what the index has of it stays until it is there, or --remove", quiet)
    lines = [f"{one.file}: {one.reason}: {one.explanation}" for one in report.bad]
    _print_some(lines, quiet)
    _print_some([f"{file}: read as {encoding}" for file, encoding in report.encodings], quiet)


def _print_some(lines: Sequence[str], quiet: bool) -> None:
    for line in lines[:SHOWN]:
        print_note(f"  {line}", quiet)
    if len(lines) > SHOWN:
        print_note(f"  … and {len(lines) - SHOWN:,} more: --json lists all", quiet)
