"""The objectives of late interaction, as pure functions of vectors and scores.

Q queries of n tokens and D documents of m tokens; masks say which places have a vector. Scores are means over the
query's tokens, as XTR's paper writes them; ColBERT's sums are the same scores at a temperature of 1/n.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

NOTHING = float("-inf")  # the similarity of a place without a vector


def compute_similarities(queries: Tensor, documents: Tensor, document_mask: Tensor) -> Tensor:
    """(Q, n, d), (D, m, d), (D, m) -> (Q, n, D, m): inner products; -inf for places without a vector."""
    (count, tokens, width), (others, places, _) = queries.shape, documents.shape
    with torch.autocast(queries.device.type, enabled=False):  # bfloat16 has too few digits to tell tokens apart
        flat = queries.reshape(-1, width) @ documents.reshape(-1, width).T
    found = flat.view(count, tokens, others, places)
    return found.masked_fill(~document_mask, NOTHING)


def average_tokens(values: Tensor, query_mask: Tensor) -> Tensor:
    """(Q, n, D), (Q, n) -> (Q, D): the mean over each query's tokens."""
    kept = values.masked_fill(~query_mask[:, :, None], 0.0)
    return kept.sum(dim=1) / query_mask.sum(dim=1, keepdim=True).clamp(min=1)


def score_maxsim(queries: Tensor, query_mask: Tensor, documents: Tensor, document_mask: Tensor) -> Tensor:
    """(Q, n, d), (Q, n), (D, m, d), (D, m) -> (Q, D): (1/n) Σ_i max_j q_i·d_j, ColBERT's score."""
    best = compute_similarities(queries, documents, document_mask).amax(dim=3)
    return average_tokens(_fill_nothing(best), query_mask)


def score_xtr(queries: Tensor, query_mask: Tensor, documents: Tensor, document_mask: Tensor, k: int) -> Tensor:
    """(Q, n, d), (Q, n), (D, m, d), (D, m) -> (Q, D): (1/Z) Σ_i max_j Â_ij q_i·d_j, XTR's training score.

    Â_ij: token j is among the k best for query token i, over all tokens of all D documents. Z: how many query tokens
    retrieved a token of the document. A retrieved similarity below 0 counts as it is; a document of which nothing was
    retrieved scores 0.
    """
    found = compute_similarities(queries, documents, document_mask)
    count, tokens, others, places = found.shape
    flat = found.view(count, tokens, others * places)
    chosen = flat.detach().topk(min(k, others * places), dim=2).indices
    retrieved = torch.zeros_like(flat, dtype=torch.bool).scatter_(2, chosen, True)
    best = flat.masked_fill(~retrieved, NOTHING).view(found.shape).amax(dim=3)  # (Q, n, D)
    reached = torch.isfinite(best) & query_mask[:, :, None]
    return best.masked_fill(~reached, 0.0).sum(dim=1) / reached.sum(dim=1).clamp(min=1)


def compute_cross_entropy(
    scores: Tensor, positives: Tensor, temperature: float = 1.0, excluded: Tensor | None = None
) -> Tensor:
    """(Q, D), (Q,) -> scalar: the mean of -log P(positive of the query | all D documents).

    excluded (Q, D): documents that do not compete for a query, because they are relevant too.
    """
    scaled = scores / temperature
    if excluded is not None:
        scaled = scaled.masked_fill(excluded, NOTHING)
    return functional.cross_entropy(scaled, positives)


def compute_distillation(scores: Tensor, teacher: Tensor, temperature: float = 1.0, scale: float = 1.0) -> Tensor:
    """(Q, W), (Q, W) -> scalar: the mean of KL(teacher ‖ student) over each query's W documents, as in ColBERTv2.

    Both as log-softmax: of the student's scores by the temperature, and of the teacher's times `scale`.
    NaN in `teacher` marks places without a document. A query without a teacher adds 0 to the mean.
    """
    there = ~torch.isnan(teacher)
    student = functional.log_softmax((scores / temperature).masked_fill(~there, NOTHING), dim=1)
    target = functional.log_softmax((teacher * scale).masked_fill(~there, NOTHING), dim=1)
    terms = target.exp() * (target - student)
    return terms.masked_fill(~there, 0.0).sum() / len(scores)


def _fill_nothing(best: Tensor) -> Tensor:
    """A document without vectors scores as low as a cosine can be."""
    return best.masked_fill(torch.isneginf(best), -1.0)
