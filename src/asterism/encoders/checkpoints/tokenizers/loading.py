"""A folder's tokenizer: checked before the library reads it; the library's errors become errors of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tokenizers import BertWordPieceTokenizer, Tokenizer

from ....errors import AsterismError, CheckpointError
from ....files.checkpoint_files import is_there, parse_bounded_json, read_file
from ..settings import read_optional_json
from .limits import check_tokenizer
from .vocabulary_limits import check_vocabulary

MOST_WORDS = 1_000_000  # of a vocab.txt; multilingual BERT has 119,547
LARGEST_FILE = 40 << 20  # bytes; XLM-R's file has 17 million, Gemma's 33 million


def open_tokenizer(folder: Path) -> tuple[Path, Tokenizer]:
    """From tokenizer.json, or the vocab.txt of a BERT: the file that was read, and the tokenizer."""
    file, words = folder / "tokenizer.json", folder / "vocab.txt"
    if is_there(file):
        content = read_file(file, LARGEST_FILE)
        _check(file, content)
        with translate_library_errors(lambda error: CheckpointError(f"{file} cannot be read as a tokenizer: {error}")):
            return file, Tokenizer.from_buffer(content)
    if is_there(words):
        lower = bool(read_optional_json(folder / "tokenizer_config.json").get("do_lower_case", True))
        vocabulary = _read_vocabulary(words)
        with translate_library_errors(lambda error: CheckpointError(f"{words} cannot be read as a tokenizer: {error}")):
            return words, BertWordPieceTokenizer(vocabulary, lowercase=lower)._tokenizer
    raise CheckpointError(f"{folder} has neither tokenizer.json nor vocab.txt, expected the model's tokenizer")


def _check(file: Path, content: bytes) -> None:
    """In its own function, so that the parsed content is freed before the library reads the file."""
    parsed = parse_bounded_json(file, content)
    check_tokenizer(parsed, file)
    check_vocabulary(parsed, file)


@contextmanager
def translate_library_errors(make_error: Callable[[BaseException], AsterismError]) -> Iterator[None]:
    """Raise `make_error(error)` for the library's errors; its panics are not subclasses of Exception."""
    try:
        yield
    except AsterismError:
        raise
    except Exception as error:
        raise make_error(error) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # this class cannot be imported
            raise
        raise make_error(error) from error


def _read_vocabulary(file: Path) -> dict[str, int]:
    """Token -> line number; for a repeated token the last line counts, as in the library."""
    content = read_file(file, LARGEST_FILE)
    if content.count(b"\n") > MOST_WORDS:
        raise CheckpointError(f"{file} has more than {MOST_WORDS} lines, expected one token per line")
    try:
        lines = content.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{file} is not UTF-8 text: {error}") from error
    return {line.rstrip(): number for number, line in enumerate(lines)}
