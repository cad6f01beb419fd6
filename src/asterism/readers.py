"""Documents from files: JSON lines in BEIR form, tab-separated lines, folders of texts. One at a time, in order.

Every error is a DocumentError that begins with the file and the line.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

from .corpus import Document
from .errors import DocumentError

PathLike = str | os.PathLike[str]
Span = tuple[int, int]
Located = tuple[str, Document]  # FILE:LINE, and what is there

CHUNK = 1200  # characters of a chunk of a text file, at most
OVERLAP = CHUNK // 4  # a last paragraph up to this long is repeated in the next chunk

STDIN = "<stdin>"  # in messages
GZIP_MAGIC = b"\x1f\x8b"
TEXT_SUFFIXES = (".txt", ".md")
ACCEPTED = (
    "a .jsonl, .json or .tsv file (also with .gz), a .txt or .md file, a folder of those texts, "
    "a folder with corpus.jsonl[.gz], or - for JSON lines from standard input"
)

BLANK_LINES = re.compile(r"\n\s*\n")
SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*(?=\s)|[。！？][」』”’）]*")
SPACES = re.compile(r"\s*")
HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")


def read_documents(path: PathLike) -> Iterator[Document]:
    """What there is at `path`, by its name: JSON lines, tab-separated lines, texts, a BEIR folder; "-" is stdin."""
    return _documents(located_documents(path))


def located_documents(path: PathLike) -> Iterator[Located]:
    """The same, each with its FILE:LINE."""
    reader, source = _reader(path)
    return reader(source)


def _documents(located: Iterable[Located]) -> Iterator[Document]:
    return (document for _, document in located)


def count_documents(path: PathLike) -> int | None:
    """How many documents `read_documents` will give; None where only reading them tells."""
    try:
        reader, source = _reader(path)
        if reader is _located_texts or _is_stdin(path) or not Path(source).is_file():
            return None
        lines = _raw_lines(source)
        first = next(lines, None)
        if first is None:
            return 0
        header = reader is _located_tsv and _is_header(first[1].decode("utf-8", "replace").split("\t"))
        return sum(1 for _ in lines) + (not header)
    except DocumentError:
        return None


def _is_stdin(path: PathLike) -> bool:
    return os.fspath(path) == "-"


def _reader(path: PathLike) -> tuple[Callable[[PathLike], Iterator[Located]], PathLike]:
    """The function that reads `path`, and what to call it with."""
    if _is_stdin(path):
        return located_jsonl, path
    source = Path(path)
    if source.is_dir():
        for name in ("corpus.jsonl", "corpus.jsonl.gz"):
            if (source / name).is_file():
                return located_jsonl, source / name
        return _located_texts, source
    if not source.exists():
        raise DocumentError(f"{source} does not exist, expected {ACCEPTED}")
    plain = source.name.lower().removesuffix(".gz")
    if plain.endswith((".jsonl", ".json")):
        return located_jsonl, source
    if plain.endswith(".tsv"):
        return _located_tsv, source
    if source.suffix.lower() in TEXT_SUFFIXES:
        return _located_texts, source
    raise DocumentError(f"{source} is of a kind that is not known, expected {ACCEPTED}")


# --- lines ---


@contextmanager
def _opened(path: PathLike) -> Iterator[IO[bytes]]:
    """The bytes of a file or of stdin ("-"), unzipped if they begin as gzip does."""
    with ExitStack() as stack:
        stream: Any = sys.stdin.buffer if _is_stdin(path) else stack.enter_context(open(path, "rb"))
        if not hasattr(stream, "peek"):  # a stand-in for stdin
            stream = io.BufferedReader(stream)
        if stream.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC):
            stream = stack.enter_context(gzip.GzipFile(fileobj=stream))
        yield stream


def _raw_lines(path: PathLike, name: str = "") -> Iterator[tuple[str, bytes]]:
    """FILE:LINE and the bytes of every line that is not blank, without its end and without a BOM."""
    name = name or (STDIN if _is_stdin(path) else os.fspath(path))
    number = 0
    try:
        with _opened(path) as stream:
            for raw in stream:
                number += 1
                line = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                if line.strip():
                    yield f"{name}:{number}", line.rstrip(b"\r\n")
    except (EOFError, OSError, zlib.error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DocumentError(f"{name}:{number + 1}: cannot be read ({why}): is the file there, and whole?") from error


def _lines(path: PathLike, name: str = "") -> Iterator[tuple[str, str]]:
    """FILE:LINE and the text of every line that is not blank."""
    for where, raw in _raw_lines(path, name):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(where, error) from error
        yield where, line


def _not_utf8(where: str, error: UnicodeDecodeError) -> DocumentError:
    return DocumentError(
        f"{where}: not UTF-8 (byte 0x{error.object[error.start]:02x} at position {error.start}), expected UTF-8: "
        "convert the file, for example with iconv"
    )


def _document(where: str, id: str, text: str, title: str, metadata: dict[str, Any]) -> Located:
    try:
        return where, Document(id, text, title, metadata)
    except DocumentError as error:
        raise DocumentError(f"{where}: {error}") from error


# --- JSON lines ---


def read_jsonl(path: PathLike) -> Iterator[Document]:
    """One object a line: `_id` (or `id`), `text`, `title`, `metadata`; every other key is metadata too."""
    return _documents(located_jsonl(path))


def located_jsonl(path: PathLike, name: str = "") -> Iterator[Located]:
    """The same, each with its FILE:LINE; `name` stands for FILE."""
    for where, line in _lines(path, name):
        record = _json_object(where, line)
        id_key = "_id" if "_id" in record else "id"
        missing = next((key for key in (id_key, "text") if key not in record), None)
        if missing:
            wanted = "'_id' or 'id'" if missing == "id" else "'text'"
            raise DocumentError(f"{where}: the object has no {wanted}, expected an object with '_id' and 'text'")
        id, text = record.pop(id_key), record.pop("text")
        title, metadata = record.pop("title", None), record.pop("metadata", None)
        if type(id) is int:
            id = str(id)
        if metadata is None:
            metadata = {}
        if not isinstance(metadata, dict):
            raise DocumentError(f"{where}: metadata is {_json_name(metadata)}, expected an object")
        clash = next((key for key in record if key in metadata), None)
        if clash is not None:
            raise DocumentError(f"{where}: {clash!r} is both in the object and in its metadata, expected it once")
        yield _document(where, id, text, "" if title is None else title, metadata | record)


def _json_object(where: str, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        why = f"{error.msg} at column {error.colno}"
        raise DocumentError(f"{where}: not JSON ({why}), expected one JSON object a line") from error
    except (ValueError, RecursionError) as error:  # NaN; a number of 5,000 digits; brackets a thousand deep
        raise DocumentError(f"{where}: not usable JSON ({error}), expected one JSON object a line") from error
    if not isinstance(record, dict):
        raise DocumentError(f"{where}: {_json_name(record)}, expected one JSON object a line")
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _json_name(value: object) -> str:
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return "a string"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return "a number"


# --- tab-separated lines ---


def read_tsv(path: PathLike) -> Iterator[Document]:
    """Columns id, text or id, title, text; or as a header line says that begins with `id` or `_id`. No quoting."""
    return _documents(_located_tsv(path))


def _located_tsv(path: PathLike) -> Iterator[Located]:
    columns: list[str] = []
    for where, line in _lines(path):
        cells = line.split("\t")
        if not columns:
            columns = _columns(where, cells)
            if _is_header(cells):
                continue
        if len(cells) != len(columns):
            raise DocumentError(
                f"{where}: {len(cells)} columns, expected {len(columns)} ({', '.join(columns)}) as in the first line"
            )
        row: dict[str, Any] = dict(zip(columns, cells, strict=True))
        yield _document(where, row.pop("_id"), row.pop("text"), row.pop("title", ""), row)


def _is_header(cells: list[str]) -> bool:
    return cells[0].lower() in ("id", "_id")


def _columns(where: str, cells: list[str]) -> list[str]:
    """The names of the columns, from the first line: of what is in them, or of how many there are."""
    if not _is_header(cells):
        known = {2: ["_id", "text"], 3: ["_id", "title", "text"]}
        if len(cells) not in known:
            raise DocumentError(
                f"{where}: {len(cells)} columns, expected 2 (id, text), 3 (id, title, text) or a header line that "
                "begins with id"
            )
        return known[len(cells)]
    names = ["_id"] + [cell.lower() if cell.lower() in ("text", "title") else cell for cell in cells[1:]]
    if "text" not in names:
        raise DocumentError(f"{where}: the header has no column text: it has {', '.join(cells)}")
    for i, name in enumerate(names):
        if not name or name in names[:i]:
            raise DocumentError(f"{where}: column {i + 1} of the header is {name!r}, expected a name of its own")
    return names


# --- texts ---


def read_text_folder(path: PathLike) -> Iterator[Document]:
    """Every .txt and .md file below a folder (or the one file), in chunks of paragraphs; text == file[begin:end].

    Names that begin with a dot are skipped. The characters of the file are those of UTF-8, newlines as they are.
    """
    return _documents(_located_texts(path))


def _located_texts(path: PathLike) -> Iterator[Located]:
    root = Path(path)
    files = [root.name] if root.is_file() else _text_files(root)
    if not files:
        raise DocumentError(f"{root}: no .txt or .md file below, expected at least one")
    for name in files:
        yield from _chunked_file(root if root.is_file() else root / name, name)


def _text_files(root: Path) -> list[str]:
    """Relative POSIX paths, sorted."""
    found = []

    def refuse(error: OSError) -> NoReturn:
        raise DocumentError(f"{error.filename}: cannot be read ({error.strerror}), expected a folder") from error

    for folder, below, files in os.walk(root, onerror=refuse):
        below[:] = [name for name in below if not name.startswith(".")]
        for name in files:
            path = Path(folder) / name
            special = path.exists() and not path.is_file()  # reading a pipe would wait for ever
            if not name.startswith(".") and path.suffix.lower() in TEXT_SUFFIXES and not special:
                found.append(path.relative_to(root).as_posix())
    return sorted(found)


def _chunked_file(file: Path, name: str) -> Iterator[Located]:
    try:
        raw = file.read_bytes()
        content = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _not_utf8(f"{file}:{line}", error) from error
    except OSError as error:
        raise DocumentError(f"{file}:1: cannot be read ({error.strerror}), expected a text file") from error
    title = _first_heading(content) or Path(name).stem
    line, counted = 1, 0
    for number, (begin, end) in enumerate(_chunks(content), 1):
        line, counted = line + content.count("\n", counted, begin), begin
        place = {"path": name, "chunk": number, "begin": begin, "end": end}
        yield _document(f"{file}:{line}", f"{name}#{number}", content[begin:end], title, place)


def _first_heading(content: str) -> str:
    """The text of the first markdown heading (# ...) outside of fenced code, or nothing."""
    fenced = False
    for line in content.removeprefix("\ufeff").split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        heading = None if fenced else HEADING.match(line)
        if heading:
            text = heading[1].rstrip()
            open_end = text.rstrip("#")
            return open_end.rstrip() if open_end.endswith((" ", "\t")) else text
    return ""


def _chunks(content: str) -> list[Span]:
    """Paragraphs packed into spans of at most CHUNK characters; a short last one is the first of the next span too."""
    pieces = [piece for paragraph in _paragraphs(content) for piece in _pieces(content, *paragraph)]
    chunks = []
    first = 0
    while first < len(pieces):
        begin = pieces[first][0]
        after = first + 1
        while after < len(pieces) and pieces[after][1] - begin <= CHUNK:
            after += 1
        chunks.append((begin, pieces[after - 1][1]))
        last_begin, last_end = pieces[after - 1]
        repeat = after < len(pieces) and last_end - last_begin <= OVERLAP and pieces[after][1] - last_begin <= CHUNK
        first = after - 1 if repeat else after
    return chunks


def _paragraphs(content: str) -> Iterator[Span]:
    """Spans between blank lines, without white space at their ends."""
    begin = 1 if content.startswith("\ufeff") else 0
    ends = [(match.start(), match.end()) for match in BLANK_LINES.finditer(content)]
    for end, next_begin in [*ends, (len(content), len(content))]:
        span = _trimmed(content, begin, end)
        if span[0] < span[1]:
            yield span
        begin = next_begin


def _trimmed(content: str, begin: int, end: int) -> Span:
    text = content[begin:end]
    return end - len(text.lstrip()), begin + len(text.rstrip())


def _after_spaces(content: str, position: int) -> int:
    match = SPACES.match(content, position)
    return match.end() if match else position


def _pieces(content: str, begin: int, end: int) -> Iterator[Span]:
    """A paragraph in spans of at most CHUNK characters, cut at the end of a sentence, else of a word, else anywhere."""
    while end - begin > CHUNK:
        cut = begin + _cut(content[begin : begin + CHUNK + 1])
        yield _trimmed(content, begin, cut)
        begin = _after_spaces(content, cut)
    yield begin, end


def _cut(text: str) -> int:
    """Where to cut CHUNK + 1 characters that do not begin with white space: from 1 to CHUNK."""
    sentences = [match.end() for match in SENTENCE_END.finditer(text) if match.end() <= CHUNK]
    if sentences and sentences[-1] >= CHUNK // 2:
        return sentences[-1]
    spaces = [i for i, character in enumerate(text) if character.isspace()]
    return max(sentences[-1:] + spaces[-1:], default=CHUNK)
