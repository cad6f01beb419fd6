"""Lexical search in NumPy, which the compiled search is tested against."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]


def score_documents(
    offsets: Numbers, terms: Numbers, weights: Floats, query_terms: Numbers, query_weights: Floats
) -> Floats:
    """Entries of documents, terms and weights of a query -> (documents,), summed in the order of the query's terms."""
    document_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    scores = np.zeros(len(offsets) - 1, np.float32)
    for term, weight in zip(query_terms, query_weights, strict=True):
        of_term = terms == term
        scores[document_of[of_term]] += weight * weights[of_term]
    return scores


def find_best(scores: Floats, k: int, eligible: npt.NDArray[np.bool_] | None) -> tuple[Numbers, Floats]:
    """(documents,) -> ids (k,) and scores (k,) of those above 0, ties by number, padded with -1 and -inf."""
    found = (scores > 0) if eligible is None else (scores > 0) & eligible
    order = np.lexsort((np.arange(len(scores)), -scores))
    best = order[found[order]][:k]
    ids, values = np.full(k, -1, np.int64), np.full(k, -np.inf, np.float32)
    ids[: len(best)], values[: len(best)] = best, scores[best]
    return ids, values
