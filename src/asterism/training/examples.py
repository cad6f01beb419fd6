"""Training examples from files: BEIR folders and JSON lines. Nothing is returned unless everything could be read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ..documents.judgements import JudgedQueries, read_judged_queries
from ..documents.reading import read_located_jsonl
from ..errors import DocumentError, InputError
from .example_lines import SUFFIX, read_example_lines, write_training_set
from .training_set import (
    Example,
    TrainingSet,
    TrainingSetMaker,
    check_training_text,
    gather_positives,
    join_training_sets,
    merge_by_query,
    split_off,
    take_some,
)

__all__ = [
    "Example",
    "TrainingSet",
    "gather_positives",
    "join_training_sets",
    "merge_by_query",
    "read_training_set",
    "read_training_sets",
    "split_off",
    "take_some",
    "write_training_set",
]

PathLike = str | os.PathLike[str]


def read_training_set(path: PathLike, split: str = "train") -> TrainingSet:
    """The examples of a BEIR folder's split, or of a .jsonl[.gz] file (`read_example_lines` has its keys).

    Of a folder, every query with a relevant document is an example without negatives, and all documents are passages.
    """
    if os.path.isdir(path):
        return _read_folder(Path(path), split)
    if os.fspath(path).lower().removesuffix(".gz").endswith(SUFFIX):
        return read_example_lines(path)
    raise InputError(
        f"{os.fspath(path)} is not of a known kind, expected a folder with corpus.jsonl, queries.jsonl and qrels, or a "
        ".jsonl or .jsonl.gz file with query and pos"
    )


def read_training_sets(paths: Iterable[PathLike], split: str = "train") -> TrainingSet:
    """The examples of all paths, in their order; equal texts are merged."""
    found = [read_training_set(path, split) for path in paths]
    if not found:
        raise InputError("there are no paths to read examples from, expected at least one")
    return join_training_sets(found)


def _read_folder(folder: Path, split: str) -> TrainingSet:
    judged = read_judged_queries(folder, split)
    texts = _read_corpus(folder)
    maker = TrainingSetMaker()
    maker.add_passages(text for text in texts.values() if text.strip())
    for query, text in judged.queries.items():
        relevant = [document for document, score in judged.judged.get(query, {}).items() if score > 0]
        if relevant:
            _check_example(judged, query, relevant, texts)
            maker.add_example(text, [texts[document] for document in relevant])
    training = maker.make()
    if not training.examples:
        raise InputError(f"{judged.judgements_file} judges no document relevant, expected at least one from 1 on")
    return training


def _read_corpus(folder: Path) -> dict[str, str]:
    """Document id -> title and text."""
    names = ("corpus.jsonl", "corpus.jsonl.gz")
    file = next((folder / name for name in names if os.path.lexists(folder / name)), None)
    if file is None:
        raise InputError(f"{folder} has neither {' nor '.join(names)}, expected one of them")
    texts: dict[str, str] = {}
    for where, document in read_located_jsonl(file):
        if document.id in texts:
            raise DocumentError(f"{where}: document {document.id!r} comes twice, expected every _id once")
        texts[document.id] = document.full_text
    return texts


def _check_example(judged: JudgedQueries, query: str, relevant: list[str], texts: dict[str, str]) -> None:
    """Refuse an empty query, and relevant documents that are missing, empty or the query itself."""
    check_training_text(str(judged.queries_file), f"query {query!r}", judged.queries[query])
    for document in relevant:
        place = f"{judged.judgements_file}: document {document!r} of query {query!r}"
        if document not in texts:
            raise InputError(f"{place} is not in the corpus, expected one of its {len(texts):,} documents")
        if not texts[document].strip():
            raise InputError(f"{place} is empty, expected a text: remove the judgement")
        if texts[document] == judged.queries[query]:
            raise InputError(f"{place} has the query's own text, expected another: remove the judgement")
