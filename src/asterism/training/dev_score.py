"""How good a model in training is: it ranks the passages of a dev part by MaxSim, without an index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .examples import Example
from .losses import score_maxsim
from .model import LateInteractionModel
from .texts import TrainingTexts

AT_ONCE = 128  # passages
DEPTH = 10
PASSAGES_COMPARED = 64


def measure_mrr(
    model: LateInteractionModel, texts: TrainingTexts, examples: Sequence[Example], passages: Sequence[int]
) -> float:
    """MRR@10 of the examples' queries among these passages (numbers)."""
    queries, query_mask = texts.encode_queries(model, [example.query for example in examples])
    columns: list[Tensor] = []
    for start in range(0, len(passages), AT_ONCE):
        vectors, mask = texts.encode_passages(model, list(passages[start : start + AT_ONCE]))
        rows = [
            score_maxsim(queries[at : at + AT_ONCE], query_mask[at : at + AT_ONCE], vectors, mask)
            for at in range(0, len(queries), AT_ONCE)
        ]
        columns.append(torch.cat(rows))
    scores = torch.cat(columns, dim=1).cpu().numpy()
    places = {number: place for place, number in enumerate(passages)}
    total = 0.0
    for row, example in zip(scores, examples, strict=True):
        total += compute_reciprocal_rank(row, [places[number] for number in example.positives])
    return total / max(1, len(examples))


def compute_reciprocal_rank(scores: npt.NDArray[np.float32], right: Sequence[int]) -> float:
    """(candidates,), the places of right ones -> 1 / rank of the best of these, 0 below rank 10.

    Ties are misses: else a model that gives all texts the same score would be the best of all.
    """
    places = list(right)
    rank = 1 + int((np.delete(scores, places) >= scores[places].max()).sum())
    return 1 / rank if rank <= DEPTH else 0.0


def measure_mean_cosine(model: LateInteractionModel, texts: TrainingTexts, passages: int) -> float:
    """The mean cosine of two token vectors of some passages: near 1, all vectors point the same way."""
    chosen = list(range(0, passages, max(1, passages // PASSAGES_COMPARED)))[:PASSAGES_COMPARED]
    flat = np.asarray(texts.represent(model, chosen, "passage").flat, np.float64)
    pairs = len(flat) * (len(flat) - 1)
    return float((flat.sum(axis=0) ** 2).sum() - (flat**2).sum()) / max(1, pairs)


def choose_dev_passages(examples: Sequence[Example], passages: int, most: int, seed: int) -> list[int]:
    """The passages that the examples name, and others up to `most`, by number."""
    named = {number for example in examples for number in (*example.positives, *example.negatives)}
    others = np.setdiff1d(np.arange(passages), list(named))
    extra = np.random.default_rng(seed).permutation(others)[: max(0, most - len(named))]
    return sorted({*named, *extra.tolist()})
