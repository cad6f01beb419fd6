"""Measures of a run against judgements, computed by the package ir_measures."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..errors import InputError, MissingPackage

MEASURES = {
    "nDCG@10": "nDCG@10",
    "MRR@10": "RR@10",
    "Recall@10": "R@10",
    "Recall@100": "R@100",
    "Recall@1000": "R@1000",
    "Success@5": "Success@5",
}
"""Our name -> ir_measures'."""


def measure(
    qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]
) -> dict[str, npt.NDArray[np.float64]]:
    """Measure -> (queries,), in the order of `qrels`.

    `qrels` is query id -> document id -> judgement, relevant from 1 on; `run` is query id -> document id -> score.
    A query that found nothing, or is not in the run, counts 0; queries without judgements are left out.
    nDCG is Järvelin & Kekäläinen's (2002) as in trec_eval and BEIR: the gain is the judgement, the discount
    log2(rank + 1).

    Only the scores decide the order, neither the order of the run nor ranks in a file. Equal scores are ordered by
    descending document id in every measure, as in trec_eval. ir_measures by itself would order them by ascending id in
    RR@10, and round scores to float32 in all others: so it is given ranks instead.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise MissingPackage('evaluation needs ir_measures: pip install "asterism[evaluate]"') from error
    places = {query: place for place, query in enumerate(qrels)}
    judged = {query: dict(judgements) for query, judgements in qrels.items()}
    ranked = {query: _rank_scores(query, run[query]) for query in qrels if query in run}
    asked = {ir_measures.parse_measure(theirs): ours for ours, theirs in MEASURES.items()}
    values = {name: np.zeros(len(places), np.float64) for name in MEASURES}
    for metric in ir_measures.iter_calc(list(asked), judged, ranked):
        values[asked[metric.measure]][places[metric.query_id]] = metric.value
    return values


def _rank_scores(query: str, scores: Mapping[str, float]) -> dict[str, float]:
    """Scores -1, -2, … that give the same order, without ties."""
    for document, score in scores.items():
        if math.isnan(score):
            raise InputError(f"the run scores document {document!r} of query {query!r} NaN, expected a number")
    ranked = sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)
    return {document: -float(rank) for rank, (document, _) in enumerate(ranked, 1)}
