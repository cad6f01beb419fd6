"""What commands read: documents, checked before anything changes; stdin; filters."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DocumentError, FilterError, InputError
from ..files.bounded_lines import LONGEST_LINE
from ..files.json_text import parse_json
from ..files.regular_files import BLOCK, read_pipe
from .output import print_note
from .progress import show_waiting

if TYPE_CHECKING:
    from ..documents.document import Document
    from ..documents.files.chunking import Chunking
    from ..documents.reading import Located

STDIN = "-"
MOST_STDIN = 1 << 26  # bytes of a query
BEIR_CORPUS, BEIR_OTHERS = {"corpus.jsonl", "corpus.jsonl.gz"}, {"queries.jsonl", "queries.jsonl.gz", "qrels"}


def parse_filter(text: str | None) -> dict[str, Any] | None:
    """The value of --filter."""
    return None if text is None else parse_object(text, "--filter", '{"year": {"$gte": 2020}}', FilterError)


def parse_object(text: str, name: str, example: str, error_class: type[InputError] = InputError) -> dict[str, Any]:
    """A JSON object of the command line; `name` and `example` are for messages."""
    try:
        found = parse_json(text, unique=True)
    except ValueError as error:
        raise error_class(f"{name} is not usable JSON ({error}): {text[:60]!r}") from error
    if not isinstance(found, dict):
        raise error_class(f"{name} is {text[:60]!r}, expected an object such as {example}")
    return found


def read_stdin() -> str:
    """All of stdin, as UTF-8 whatever the locale."""
    try:
        read = sys.stdin.buffer.read(MOST_STDIN + 1)
    except OSError as error:
        raise InputError(f"stdin cannot be read ({error.strerror}), expected text") from error
    if len(read) > MOST_STDIN:
        raise InputError(f"stdin has more than {MOST_STDIN:,} bytes, expected at most that")
    try:
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"stdin is not UTF-8 (byte {error.start}), expected text") from error


def split_inputs(inputs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Inputs of documents, and folders of ordinary files; a folder in BEIR's layout is one of documents."""
    folders = [given for given in inputs if os.path.isdir(given) and not _is_beir(given)]
    sources = [given for given in inputs if given not in folders]
    for file in list_files(sources):
        real = Path(os.path.realpath(file))
        if folder := next((one for one in folders if real.is_relative_to(os.path.realpath(one))), None):
            raise InputError(f"{file} lies in {folder}, which was given too, expected each file once: leave it out")
    return sources, folders


def list_files(sources: Sequence[str]) -> list[str]:
    """Those that are files on disk, and no pipes."""
    return [given for given in sources if not _is_stdin(given) and os.path.isfile(given)]


def _is_beir(folder: str) -> bool:
    """Whether it has a corpus and queries, judgements or nothing else: any folder may have a file called corpus."""
    names = set(_list_visible(folder))
    return bool(names & BEIR_CORPUS) and (bool(names & BEIR_OTHERS) or names <= BEIR_CORPUS)


def _tell_beir(folder: str, quiet: bool) -> None:
    """Say that other files of a folder in BEIR's layout are not read."""
    if others := set(_list_visible(folder)) - BEIR_CORPUS - BEIR_OTHERS:
        shown = ", ".join(sorted(others)[:3]) + (", …" if len(others) > 3 else "")
        print_note(f"{folder}: read as a BEIR folder, its corpus.jsonl alone; left out: {shown}", quiet)


def _list_visible(folder: str) -> list[str]:
    """The names in a folder that are not hidden; none if it cannot be read, which is told when it is."""
    try:
        return [name for name in os.listdir(folder) if not name.startswith(".")]
    except OSError:
        return []


class CheckedInputs:
    """Documents of several inputs, in two passes over their files.

    The first finds every error, before anything is written: a bad line a million documents on must not leave half of an
    index behind. The second, `__iter__`, hands out the documents. They are parsed again for it, because a corpus may be
    larger than memory.
    """

    def __init__(
        self,
        inputs: Sequence[str],
        folder: Path,
        existing: Container[str] = (),
        chunking: Chunking | None = None,
        owners: Sequence[str] = (),
    ) -> None:
        """The first pass. Ids in `existing` and those of passages of `owners`, folders of the index, are refused.

        `folder` is for copies of stdin and pipes.
        """
        from ..documents.folders.names import find_owner, split_passage_id
        from ..retriever.syncing.ownership import explain_owner

        if sum(map(_is_stdin, inputs)) > 1:
            raise InputError("- was given twice, expected it once: stdin can be read only once")
        self._chunking = chunking
        self.files: list[str] = []  # ordinary ones
        self.encodings: dict[str, str] = {}  # of ordinary files that are not UTF-8
        self.passages: dict[str, int] = {}  # how many an ordinary file has, by its name in the index
        self._readers = [self._choose_reader(given, folder / str(i)) for i, given in enumerate(inputs)]
        seen: set[str] = set()
        for where, document in self._read():
            if document.id in seen:
                raise DocumentError(f"{where}: the id {document.id!r} came before, expected each once: nothing changed")
            if (owner := find_owner(document.id, owners)) is not None:
                raise DocumentError(f"{where}: {explain_owner(document.id, owner)}")
            if document.id in existing:
                advice = "use --update to replace it, or --skip-existing"
                if split_passage_id(document.id)[0] in self.passages:
                    advice = "use --update if it is the same file; for another of this name, sync its folder"
                raise DocumentError(f"{where}: the index has the id {document.id!r} already: {advice}")
            seen.add(document.id)
        if inputs and not seen:
            raise DocumentError(f"{', '.join(inputs)}: no documents, expected at least one")
        self._count = len(seen)

    def __len__(self) -> int:
        """Documents."""
        return self._count

    def __iter__(self) -> Iterator[Document]:
        """All documents, in order."""
        return (document for _, document in self._read())

    def read_files(self) -> Iterator[Document]:
        """The passages of ordinary files."""
        return (document for given in self.files for _, document in self._read_file(given))

    def _read(self) -> Iterator[Located]:
        """All documents, each with its FILE:LINE."""
        for reader in self._readers:
            yield from reader()

    def _choose_reader(self, given: str, kept: Path) -> Callable[[], Iterator[Located]]:
        """A function that reads the input from its beginning, however often it is called."""
        from ..documents.reading import is_ordinary_file, read_located_documents, read_located_jsonl, read_located_tsv

        source, name = _copy_if_pipe(given, kept)
        if source is not kept and is_ordinary_file(given):
            self.files.append(given)
            return partial(self._read_file, given)
        if source is not kept:
            return partial(read_located_documents, given)
        reader = read_located_tsv if given.lower().removesuffix(".gz").endswith(".tsv") else read_located_jsonl
        return partial(reader, kept, name)

    def _read_file(self, given: str) -> Iterator[Located]:
        """The passages of an ordinary file."""
        from ..documents.single_files import read_single_file

        file = read_single_file(given, self._chunking)
        self.passages[file.name] = len(file.documents)
        if file.encoding is not None:
            self.encodings[given] = file.encoding
        yield from file.locate()


def read_ids(given: str) -> list[str]:
    """One id a line of a file, of stdin or of a pipe; blank lines are skipped."""
    from ..documents.lines import read_lines

    with tempfile.TemporaryDirectory(prefix="asterism-") as folder:
        source, name = _copy_if_pipe(given, Path(folder) / "0")
        return [line for _, line in read_lines(source, name)]


def _copy_if_pipe(given: str, kept: Path) -> tuple[Path, str]:
    """A file that can be read again, and its name in messages; stdin and pipes are copied to `kept`."""
    if not _is_stdin(given) and not _is_pipe(given):
        return Path(given), given
    from ..documents.reading import STDIN as STDIN_NAME

    name = STDIN_NAME if _is_stdin(given) else given
    with open(kept, "xb") as file:
        file.writelines(_read_blocks(given, name))
    return kept, name


def _read_blocks(given: str, name: str) -> Iterator[bytes]:
    """Blocks of stdin or a pipe; a line without end is refused before it fills the disk."""
    blocks = iter(partial(sys.stdin.buffer.read, BLOCK), b"") if _is_stdin(given) else read_pipe(Path(given))
    length = 0  # of the last line so far
    try:
        for block in blocks:
            end = block.rfind(b"\n") + 1
            length = len(block) - end if end else length + len(block)
            if length > LONGEST_LINE:
                raise InputError(f"{name} has a line of more than {LONGEST_LINE:,} bytes, expected at most that")
            yield block
    except OSError as error:
        raise InputError(f"{name} cannot be read ({error.strerror}), expected lines of text") from error


def _is_stdin(given: str) -> bool:
    return given in (STDIN, "/dev/stdin")  # which may be a file without a suffix, a terminal or a pipe


def _is_pipe(given: str) -> bool:
    """Whether the path leads to a fifo, such as a shell's `<(command)`."""
    try:
        return stat.S_ISFIFO(os.stat(given).st_mode)
    except OSError:
        return False


@contextmanager
def check_inputs(
    inputs: Sequence[str],
    quiet: bool,
    existing: Container[str] = (),
    chunking: Chunking | None = None,
    owners: Sequence[str] = (),
) -> Iterator[CheckedInputs]:
    """Read all inputs once, and refuse errors and ids that are taken, see CheckedInputs; yields the documents."""
    with tempfile.TemporaryDirectory(prefix="asterism-") as folder:
        with show_waiting("reading the input", quiet):
            found = CheckedInputs(inputs, Path(folder), existing, chunking, owners)
        for given in filter(os.path.isdir, inputs):
            _tell_beir(given, quiet)
        for file, encoding in found.encodings.items():
            print_note(f"{file}: read as {encoding}", quiet)
        yield found
