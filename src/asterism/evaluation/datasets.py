"""The judged queries of a BEIR folder that can tell methods apart."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..documents.judgements import read_judged_queries
from ..errors import InputError


@dataclass(frozen=True)
class EvaluationSet:
    """Query id -> text, and query id -> document id -> judgement (relevant from 1 on); the same queries in both.

    without_relevant: how many judged queries were left out because none of their documents is relevant.
    """

    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]
    without_relevant: int = 0

    def __len__(self) -> int:
        """Queries."""
        return len(self.queries)

    @property
    def empty(self) -> list[str]:
        """The ids of queries without a word, which find nothing."""
        return [query for query, text in self.queries.items() if not text.strip()]

    def leave_out_empty(self) -> EvaluationSet:
        """The queries that can be asked; InputError if there is none."""
        kept = {query: text for query, text in self.queries.items() if text.strip()}
        if not kept:
            raise InputError(f"all {len(self):,} queries are empty, expected some words in them")
        return EvaluationSet(kept, {query: self.qrels[query] for query in kept}, self.without_relevant)


def read_evaluation_set(folder: str | os.PathLike[str], split: str) -> EvaluationSet:
    """The queries of a split that have a relevant document, in the order of the queries file.

    Others cannot tell methods apart: whatever is found, every measure is 0.
    """
    queries, judged, _, judgements_file = read_judged_queries(folder, split)
    kept = {query: text for query, text in queries.items() if max(judged.get(query, {}).values(), default=0) > 0}
    if not kept:
        raise InputError(
            f"{judgements_file} judges no document relevant: all judgements of its {len(judged):,} queries are 0 or "
            "less, expected at least one from 1 on: choose another split"
        )
    return EvaluationSet(kept, {query: judged[query] for query in kept}, len(judged) - len(kept))
