"""Runs, the rankings of many queries, in TREC's file format."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError
from ..files.bounded_lines import LineTooLong, read_bounded_lines
from ..files.regular_files import stream_regular
from ..files.whole_files import stream_whole_file

Run = Mapping[str, Mapping[str, float]]
"""Query id -> document id -> score."""


def write_trec_run(path: str | os.PathLike[str], run: Run, tag: str) -> None:
    """Write a run as lines "query Q0 document rank score tag".

    Best first, equal scores by ascending id. The file appears whole or not at all. Scores are read back exactly; a
    query without documents has no line.
    """
    with stream_trec_run(path, tag) as write:
        write(run)


@contextmanager
def stream_trec_run(path: str | os.PathLike[str], tag: str) -> Iterator[Callable[[Run], None]]:
    """Write a run in parts, as `write_trec_run` would write it at once; yields a function that writes one part.

    The file appears when the block ends, and not at all if it raises.
    """
    _check_word("tag", tag)
    with stream_whole_file(path) as write_lines:

        def write(run: Run) -> None:
            for query, scores in run.items():
                write_lines([line.encode() for line in _format_lines(query, scores, tag)])

        yield write


def _format_lines(query: str, scores: Mapping[str, float], tag: str) -> Iterator[str]:
    """The lines of one query, best first."""
    _check_word("query id", query)
    for document, score in scores.items():
        _check_word("document id", document)
        if not math.isfinite(score):
            raise InputError(f"query {query!r}, document {document!r} has score {score}, expected a finite number")
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    for rank, (document, score) in enumerate(ranked, 1):
        yield f"{query} Q0 {document} {rank} {float(score)!r} {tag}\n"


def _check_word(what: str, word: str) -> None:
    """Refuse what a TREC file cannot hold: it separates columns by white space and has no quotes."""
    if word.split() != [word]:
        raise InputError(
            f"{what} {word!r} is empty or has white space, which a TREC run cannot hold: rename it, or write JSON"
        )
    try:
        word.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{what} {word!r} is not valid Unicode ({error.reason}): rename it") from error


def read_trec_run(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Query id -> document id -> score, in the order of the file. Ranks are not read: scores rank, as for trec_eval."""
    run: dict[str, dict[str, float]] = {}
    try:
        with stream_regular(Path(path), links=True) as file:
            for number, line in enumerate(read_bounded_lines(file), 1):
                if line.strip():
                    query, document, score = _parse_line(line.decode(), f"{path}, line {number}")
                    if document in run.setdefault(query, {}):
                        raise InputError(f"{path}, line {number}: document {document!r} of query {query!r} comes twice")
                    run[query][document] = score
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): expected a TREC run file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error.reason}): expected a TREC run file") from error
    except LineTooLong as error:
        raise InputError(f"{path} is not a TREC run file: {error}") from error
    return run


def _parse_line(line: str, where: str) -> tuple[str, str, float]:
    """Query, document and score of a line."""
    columns = line.split()
    if len(columns) != 6:
        raise InputError(f"{where} has {len(columns)} columns, expected 6: query Q0 document rank score tag")
    try:
        score = float(columns[4])
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise InputError(f"{where}: score is {columns[4]!r}, expected a finite number")
    return columns[0], columns[2], score
