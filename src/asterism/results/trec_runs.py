"""What a search gives: hits, best first; and runs, many of them in TREC's file format."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, overload

from ..errors import InputError
from ..files.bounded_lines import LineTooLong, bounded_lines
from ..files.regular_files import create_file, stream_regular

if TYPE_CHECKING:
    from ..documents.document import Document


@dataclass(frozen=True)
class Hit:
    """A document that was found, with its rank (from 1) and score."""

    rank: int
    id: str
    score: float
    document: Document


@dataclass(frozen=True)
class Ranking(Sequence[Hit]):
    """The hits of one query, best first, and the seconds that each stage took.

    Timings do not count when rankings are compared.
    """

    query: str
    method: str
    hits: tuple[Hit, ...]
    timings: dict[str, float] = field(default_factory=dict, compare=False)

    def __len__(self) -> int:
        """Hits."""
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        """Best first."""
        return iter(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        """The hit at a place, from 0; of a slice, its hits."""
        return self.hits[place]

    @property
    def ids(self) -> list[str]:
        """The documents' ids, best first."""
        return [hit.id for hit in self.hits]


@dataclass(frozen=True)
class Match:
    """A query token, or term, and the document token that answered it.

    Offsets are in characters, the end not included: of the query, and of the document's `field` ("title" or "text");
    -1 for tokens that stand for no text ([CLS], markers) and where nothing was found. `imputed`: the similarity is no
    token's, but what XTR puts in place of one that was not retrieved. Of a term, the first place in the document, and
    what it adds to the lexical score.
    """

    query_token: str
    query_begin: int
    query_end: int
    token: str
    field: str
    begin: int
    end: int
    similarity: float
    imputed: bool


@dataclass(frozen=True)
class Share:
    """One view's part of a hybrid score: its own score, what that adds to the whole, and its matches."""

    view: str
    score: float
    share: float
    matches: tuple[Match, ...]


@dataclass(frozen=True)
class Explanation:
    """Why a document has its score: the sum of the matches' similarities, or of the shares of a hybrid search.

    A dense score has no matches.
    """

    query: str
    method: str
    document: Document
    score: float
    matches: tuple[Match, ...]
    shares: tuple[Share, ...] = ()

    @property
    def imputed(self) -> float:
        """The sum of what was imputed."""
        return sum(match.similarity for match in self.matches if match.imputed)


def write_trec_run(path: str | os.PathLike[str], run: Mapping[str, Mapping[str, float]], tag: str) -> None:
    """Write query id -> document id -> score as lines "query Q0 document rank score tag".

    Best first, equal scores by ascending id. The file appears whole or not at all. Scores are read back to the bit;
    a query without documents leaves no line.
    """
    target = Path(path)
    temporary = target.parent / f".{target.name}.new-{os.getpid()}"
    _check_word("tag", tag)
    if target.exists() and not target.is_file():  # /dev/null would be replaced
        raise InputError(f"{target} cannot be written (it is no regular file): choose another path")
    try:
        try:
            temporary.unlink(missing_ok=True)
            with create_file(temporary) as file:
                for query, scores in run.items():
                    file.writelines(line.encode() for line in _lines_of(query, scores, tag))
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{target} cannot be written ({error.strerror}): choose another path") from error


def _lines_of(query: str, scores: Mapping[str, float], tag: str) -> Iterator[str]:
    """The lines of one query."""
    _check_word("query id", query)
    for document, score in scores.items():
        _check_word("document id", document)
        if not math.isfinite(score):
            raise InputError(f"query {query!r}, document {document!r} has score {score}, expected a finite number")
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    for rank, (document, score) in enumerate(ranked, 1):
        yield f"{query} Q0 {document} {rank} {float(score)!r} {tag}\n"


def _check_word(what: str, word: str) -> None:
    """A TREC file separates by white space and knows no quotes."""
    if word.split() != [word]:
        raise InputError(
            f"{what} {word!r} is empty or has white space, which a TREC run cannot hold: rename it, or write JSON"
        )
    try:
        word.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{what} {word!r} is no valid Unicode ({error.reason}): rename it") from error


def read_trec_run(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Query id -> document id -> score, in the order of the file. Ranks are not read: scores rank, as for trec_eval."""
    run: dict[str, dict[str, float]] = {}
    try:
        with stream_regular(Path(path), links=True) as file:
            for number, line in enumerate(bounded_lines(file), 1):
                if line.strip():
                    query, document, score = _parsed(line.decode(), f"{path}, line {number}")
                    if document in run.setdefault(query, {}):
                        raise InputError(f"{path}, line {number}: document {document!r} of query {query!r} comes twice")
                    run[query][document] = score
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): expected a TREC run file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error.reason}): expected a TREC run file") from error
    except LineTooLong as error:
        raise InputError(f"{path} is no TREC run file: {error}") from error
    return run


def _parsed(line: str, where: str) -> tuple[str, str, float]:
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
