"""Documents to files that can be read again: JSON lines in BEIR form, plain or gzip, and Parquet."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType

from ..errors import DocumentError, InputError, MissingPackage
from ..files.bounded_lines import LONGEST_LINE
from ..files.whole_files import check_target, name_failures, open_whole_file, stream_whole_file
from .document import Document

GZIP = 31  # zlib's number for its largest window in a gzip file, which then has no name and no time
ROWS = 1024  # documents of a group in a Parquet file

Write = Callable[[Path, Iterable[Document]], int]


def choose_writer(path: Path) -> Write:
    """The function that writes documents to a file with this name; refused here if nothing can be written there."""
    name = path.name.lower()
    check_target(path)
    if name.endswith((".jsonl", ".jsonl.gz")):
        return write_jsonl
    if name.endswith(".parquet"):
        _load_pyarrow()
        return write_parquet
    raise InputError(f"{path} has another ending, expected .jsonl, .jsonl.gz or .parquet")


def write_jsonl(path: Path, documents: Iterable[Document]) -> int:
    """One object per line: `_id`, `title`, `text`, `metadata`; zipped if the name ends with .gz. Returns how many."""
    counted = _Counted(documents)
    with stream_whole_file(path) as write:
        lines = (_to_line(document) for document in counted)
        write(_zip(lines) if path.name.lower().endswith(".gz") else lines)
    return counted.count


def write_parquet(path: Path, documents: Iterable[Document]) -> int:
    """The same four columns; `metadata` is JSON, because every document may have other keys. Returns how many."""
    arrow = _load_pyarrow()
    schema = arrow.schema([(name, arrow.string()) for name in ("_id", "title", "text", "metadata")])
    counted = _Counted(documents)
    with (
        open_whole_file(path) as file,
        name_failures(path),
        arrow.parquet.ParquetWriter(file, schema) as writer,
    ):
        for rows in _split(counted):
            records = [_to_record(document) for document in rows]
            records = [{**record, "metadata": _to_json(record["metadata"])} for record in records]
            writer.write_table(arrow.Table.from_pylist(records, schema))
    return counted.count


class _Counted:
    """Counts what is taken from it."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = documents
        self.count = 0

    def __iter__(self) -> Iterator[Document]:
        for document in self._documents:
            self.count += 1
            yield document


def _to_record(document: Document) -> dict[str, object]:
    found = {"_id": document.id, "title": document.title, "text": document.text}
    return {**found, "metadata": dict(document.metadata)}


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _to_line(document: Document) -> bytes:
    """Its line; one that is too long to be read again is refused."""
    line = f"{_to_json(_to_record(document))}\n".encode()
    if len(line) > LONGEST_LINE:
        raise DocumentError(
            f"document {document.id!r} takes a line of {len(line):,} bytes, expected at most {LONGEST_LINE:,}, so that "
            "it can be read again: export to .parquet, or leave it out by a filter"
        )
    return line


def _zip(lines: Iterable[bytes]) -> Iterator[bytes]:
    zipper = zlib.compressobj(wbits=GZIP)
    for line in lines:
        yield zipper.compress(line)
    yield zipper.flush()


def _split(documents: Iterable[Document]) -> Iterator[list[Document]]:
    rows: list[Document] = []
    for document in documents:
        rows.append(document)
        if len(rows) == ROWS:
            yield rows
            rows = []
    if rows:
        yield rows


def _load_pyarrow() -> ModuleType:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingPackage(f"Parquet files need pyarrow ({error}): pip install 'asterism[files]'") from error
    found: ModuleType = pyarrow
    return found
