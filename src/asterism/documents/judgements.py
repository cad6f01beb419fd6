"""Judged queries in BEIR's layout: queries.jsonl[.gz] and qrels/<split>.tsv[.gz], or TREC's qrels in the same place."""

from __future__ import annotations

import os
import re
import reprlib
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..errors import DocumentError, InputError
from ..files.bounded_lines import LineTooLong, open_unzipped, read_bounded_lines
from ..files.json_text import parse_json
from ..files.regular_files import stream_regular
from .document import Query

HEADER = "query-id\tcorpus-id\tscore"
WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
SUFFIXES = ("tsv", "qrels", "trec", "txt")  # of files with judgements; what is in them decides their form


class JudgedQueries(NamedTuple):
    """Query id -> text of all queries; query id -> document id -> judgement of a split; the files, for messages."""

    queries: dict[str, str]
    judged: dict[str, dict[str, int]]
    queries_file: Path
    judgements_file: Path


def read_judged_queries(folder: str | os.PathLike[str], split: str) -> JudgedQueries:
    """All queries in the order of their file, and the judgements of a split, of which there is at least one."""
    root = Path(folder)
    if not os.path.isdir(root):
        raise InputError(f"{root} is not a folder, expected one in BEIR's layout: queries.jsonl and qrels/<split>.tsv")
    queries_file = _find_file(root / "queries.jsonl")
    if queries_file is None:
        raise InputError(f"{root} has neither queries.jsonl nor queries.jsonl.gz, expected one of them")
    candidates = (_find_file(root / "qrels" / f"{split}.{suffix}") for suffix in SUFFIXES)
    qrels_file = next((file for file in candidates if file is not None), None)
    if qrels_file is None:
        raise InputError(f"{root} has no split {split!r} (qrels/{split}.tsv): {_list_splits(root)}")
    judged = _read_qrels(qrels_file)
    queries = read_queries(queries_file)
    for query in judged:
        if query not in queries:
            raise InputError(f"{qrels_file} judges query {query!r}, which {queries_file} does not have")
    if not judged:
        raise InputError(f"{qrels_file} has no judgement, expected at least one: choose another split")
    return JudgedQueries(queries, judged, queries_file, qrels_file)


def _find_file(path: Path) -> Path | None:
    """The file itself or its .gz, whichever exists."""
    return next((file for file in (path, path.with_name(f"{path.name}.gz")) if os.path.isfile(file)), None)


def _list_splits(root: Path) -> str:
    """Which splits there are, for a message."""
    pattern = re.compile(rf"(.+)\.({'|'.join(SUFFIXES)})(\.gz)?")
    names = {found[1] for file in root.glob("qrels/*") if (found := pattern.fullmatch(file.name))}
    return f"choose one of {', '.join(sorted(names))}" if names else f"there is none in {root / 'qrels'}"


def _read_lines(path: Path) -> Iterator[tuple[str, str]]:
    """(place, line) for every line that is not blank; the place is for messages."""
    number = 0
    try:
        with stream_regular(path, links=True) as file:
            for line in read_bounded_lines(open_unzipped(file)):
                number += 1
                if line.strip():
                    place = f"{path}, line {number}"
                    yield place, _decode_line(line, place)
    except LineTooLong as error:
        raise InputError(f"{path}, line {number + 1}: {error}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error}): check its permissions, or download it again") from error


def _decode_line(line: bytes, place: str) -> str:
    """The line as text, without byte-order mark and line end."""
    try:
        return line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{place} is not UTF-8 ({error.reason}): convert the file") from error


def read_queries(path: Path) -> dict[str, str]:
    """Id -> text."""
    queries: dict[str, str] = {}
    for place, line in _read_lines(path):
        try:
            record = parse_json(line)
        except ValueError as error:
            raise InputError(f"{place} is not JSON ({error}): expected one object a line") from error
        if not isinstance(record, dict):
            raise InputError(f"{place} is a {type(record).__name__}, expected a JSON object with _id and text")
        for name in ("_id", "text"):
            if not isinstance(record.get(name), str):
                given = f"{name} = {reprlib.repr(record[name])}" if name in record else f"no {name}"
                raise InputError(f"{place} has {given}, expected a string")
        try:
            Query(record["_id"], record["text"])
        except DocumentError as error:
            raise InputError(f"{place}: {error}") from error
        if record["_id"] in queries:
            raise InputError(f"{place}: query {record['_id']!r} comes twice, expected every _id once")
        queries[record["_id"]] = record["text"]
    return queries


def _read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Query id -> document id -> judgement; BEIR's columns after their header, or TREC's four columns without one."""
    judged: dict[str, dict[str, int]] = {}
    lines = _read_lines(path)
    first = next(lines, (f"{path}, line 1", ""))
    trec = first[1] != HEADER
    if trec and not _is_trec(first[1]):
        expected = f"the header {HEADER!r}, or TREC's four columns: query, iteration, document, judgement"
        raise InputError(f"{first[0]} is {first[1]!r}, expected {expected}")
    for place, line in chain([first] if trec else [], lines):
        query, document, score = _split_trec(place, line) if trec else _split_beir(place, line)
        if not WHOLE.fullmatch(score):
            raise InputError(f"{place}: score is {score!r}, expected a whole number of at most nine digits")
        if document in judged.setdefault(query, {}):
            raise InputError(f"{place}: document {document!r} of query {query!r} is judged twice, expected once")
        judged[query][document] = int(score)
    return judged


def _is_trec(line: str) -> bool:
    columns = line.split()
    return len(columns) == 4 and WHOLE.fullmatch(columns[3]) is not None


def _split_beir(place: str, line: str) -> list[str]:
    columns = line.split("\t")
    if len(columns) != 3:
        raise InputError(f"{place} has {len(columns)} columns, expected 3: {HEADER!r}")
    return columns


def _split_trec(place: str, line: str) -> list[str]:
    """Query, document and judgement of a line; the second column, the iteration, means nothing any more."""
    columns = line.split()
    if len(columns) != 4:
        raise InputError(f"{place} has {len(columns)} columns, expected 4: query, iteration, document, judgement")
    return [columns[0], *columns[2:]]
