"""Explains a score: for each query token, the document token that answered it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..settings import Imputation, TokenSearch

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Answer:
    """What one query token adds to a score: a document token's similarity, or an imputed one (token -1).

    found: a probed list has a token of the document, even if it was too dissimilar to be retrieved.
    """

    token: int
    similarity: float
    imputed: bool
    found: bool = True


def find_maxsim_answers(similarities: Floats) -> list[Answer]:
    """Similarities (tokens, q) -> (q,): the most similar token of the document for each query token."""
    best = similarities.argmax(axis=0)
    return [Answer(int(token), float(similarities[token, j]), False) for j, token in enumerate(best)]


def find_xtr_answers(
    similarities: Floats,
    centroids: npt.NDArray[np.uint32],
    imputed: Floats,
    probed: list[npt.NDArray[np.uint32]],
    imputation: Imputation,
) -> list[Answer]:
    """Similarities (tokens, q), centroids (tokens,), imputed (q,) -> (q,): the retrieved or imputed answers.

    A token is retrieved if its centroid was probed and, for imputation "kth", its similarity is among the k' best.
    """
    answers = []
    for j, lists in enumerate(probed):
        column = np.where(np.isin(centroids, lists), similarities[:, j], -np.inf)
        token = int(column.argmax())
        similarity = float(column[token])
        found = bool(np.isfinite(similarity))
        missed = similarity < imputed[j] if imputation == "kth" else not found
        answers.append(Answer(-1, float(imputed[j]), True, found) if missed else Answer(token, similarity, False))
    return answers


def sum_answers(answers: list[Answer], settings: TokenSearch, imputed: Floats, penalty: float) -> float:
    """The sum, less `penalty`, in the engine's order and precision.

    For imputation "none" the sum is the mean of the found answers, times q.

    Like the engine, takes the sum of imputed values (q,) between two found answers from prefix sums.
    """
    prefix = np.concatenate([np.zeros(1, np.float32), np.cumsum(imputed, dtype=np.float32)])
    total, counted = np.float32(0), 0
    for j, answer in enumerate(answers):
        if answer.found:
            if counted < j:
                total += prefix[j] - prefix[counted]
            total += np.float32(answer.similarity)
            counted = j + 1
    if counted < len(answers):
        total += prefix[len(answers)] - prefix[counted]
    found = sum(not answer.imputed for answer in answers)
    if settings.method == "xtr" and settings.imputation == "none" and found:
        total = total / np.float32(found) * np.float32(len(answers))
    return float(total - np.float32(penalty))
