"""From the bytes of a file to its passages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ...errors import UnreadableFile
from .chunking import Chunking
from .code import read_code, read_python
from .decoding import decode_text
from .emails import read_email
from .epub import read_epub
from .html import read_html
from .json_files import read_json, read_jsonl
from .markdown import read_markdown
from .names import ALSO_TEXTS, CODE, WITHOUT_READER, drop_gzip, find_format, find_stem, find_suffix
from .notebooks import read_notebook
from .parquet import read_parquet
from .passages import HEADINGS, FileContent, Passage
from .pdf import read_pdf
from .rst import read_rst
from .slides import read_pptx
from .spreadsheets import read_xlsx
from .tables import read_csv, read_tsv
from .text import read_text
from .unzipping import check_size, unzip
from .word import read_docx

__all__ = ["find_format", "read_file"]

BytesReader = Callable[[bytes, Chunking], Iterable[Passage]]
TextReader = Callable[[str, Chunking], Iterable[Passage]]

TEXT_READERS: dict[str, TextReader] = {
    **dict.fromkeys(CODE, read_code),
    "text": read_text,
    "markdown": read_markdown,
    "rst": read_rst,
    "html": read_html,
    "csv": read_csv,
    "tsv": read_tsv,
    "json": read_json,
    "jsonl": read_jsonl,
    "notebook": read_notebook,
    "python": read_python,
}
BYTES_READERS: dict[str, BytesReader] = {
    "pdf": read_pdf,
    "docx": read_docx,
    "pptx": read_pptx,
    "xlsx": read_xlsx,
    "epub": read_epub,
    "email": read_email,
    "parquet": read_parquet,
}


def read_file(name: str, data: bytes, chunking: Chunking) -> FileContent:
    """The passages of a file; its name says the format, and one that says nothing is read as text.

    Raises UnreadableFile and nothing else, whatever the bytes are. The same bytes give the same passages.
    """
    try:
        return _read(name, data, chunking)
    except UnreadableFile as error:
        raise UnreadableFile(error.reason, f"{name}: {error}") from error


def _read(name: str, data: bytes, chunking: Chunking) -> FileContent:
    plain = drop_gzip(name)
    format = find_format(name) or "text"
    suffix = find_suffix(plain)
    if suffix in WITHOUT_READER - ALSO_TEXTS:
        raise _refuse_unknown(suffix)
    if plain != name:
        data = unzip(data)
    check_size(len(data))
    encoding = None
    if format in BYTES_READERS:
        passages = _read_rich(format, data, chunking)
    else:
        text, encoding = _decode(suffix, data)
        passages = list(TEXT_READERS[format](text, chunking))
    stem = find_stem(name)
    return FileContent(format, encoding, tuple(_complete_title(passage, stem, format) for passage in passages))


def _decode(suffix: str, data: bytes) -> tuple[str, str | None]:
    """The text and its encoding; what only may be a text, by its ending, is not said to be one."""
    try:
        return decode_text(data)
    except UnreadableFile as error:
        if suffix in ALSO_TEXTS:
            raise _refuse_unknown(suffix) from error
        raise


def _refuse_unknown(suffix: str) -> UnreadableFile:
    return UnreadableFile("not known", f"there is no reader of .{suffix} files: leave it out")


def _read_rich(format: str, data: bytes, chunking: Chunking) -> list[Passage]:
    """The passages of a format that a library reads; whatever it raises, the file is damaged."""
    try:
        return list(BYTES_READERS[format](data, chunking)) if data else []
    except UnreadableFile:
        raise
    except ImportError as error:
        why = f"{format} needs the package {error.name}: pip install 'asterism[files]'"
        raise UnreadableFile("needs extra", why) from error
    except Exception as error:
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise UnreadableFile("damaged", f"not readable as {format} ({why}): is it complete?") from error


def _complete_title(passage: Passage, stem: str, format: str) -> Passage:
    """Where there is no heading, the title is the file's name; in source code it comes first."""
    if passage.title and format not in CODE:
        return passage
    return replace(passage, title=HEADINGS.join(filter(None, (stem, passage.title))))
