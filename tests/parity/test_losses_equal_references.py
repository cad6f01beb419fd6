"""Our training objectives against those of sentence-transformers and PyLate, where they mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.reference
TEMPERATURE = 0.05
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}


def draw_batch(seed: int = 1, least: float = -1.0) -> tuple[Any, Any, Any, Any]:
    """Queries (5, 7, 16), documents (5, 3, 11, 16) and their masks; every text has a vector at its first place."""
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(seed)

    def draw(*shape: int) -> Any:
        values = torch.tensor(random.uniform(least, 1, shape), dtype=torch.float32)
        mask = torch.from_numpy(random.random(shape[:-1]) < 0.7)
        mask[..., 0] = True
        return torch.nn.functional.normalize(values, dim=-1).requires_grad_(), mask

    return *draw(5, 7, 16), *draw(5, 3, 11, 16)


def score_ours(objective: str, k: int, batch: tuple[Any, Any, Any, Any]) -> Any:
    from asterism.training.losses import score_maxsim, score_xtr

    queries, query_mask, documents, document_mask = batch
    given = (queries, query_mask, documents.flatten(0, 1), document_mask.flatten(0, 1))
    return score_xtr(*given, k) if objective == "xtr" else score_maxsim(*given)


def compare(ours: Any, theirs: Any, batch: tuple[Any, Any, Any, Any]) -> None:
    """Scores, the loss, and its gradients."""
    import torch

    from asterism.training.losses import compute_cross_entropy

    torch.testing.assert_close(ours, theirs, **TOLERANCE)
    positives = torch.arange(5) * 3
    inputs = (batch[0], batch[2])
    found = torch.autograd.grad(compute_cross_entropy(ours, positives, TEMPERATURE), inputs)
    expected = torch.autograd.grad(torch.nn.functional.cross_entropy(theirs / TEMPERATURE, positives), inputs)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_maxsim_of_sentence_transformers() -> None:
    pytest.importorskip("sentence_transformers", minversion="6")
    from sentence_transformers.multi_vector_encoder.scoring import mean_colbert_scores

    batch = draw_batch()
    queries, query_mask, documents, document_mask = batch
    theirs = mean_colbert_scores(queries, documents, queries_mask=query_mask, documents_mask=document_mask)
    compare(score_ours("maxsim", 0, batch), theirs, batch)


@pytest.mark.parametrize("k", [1, 8, 40, 10_000])
def test_xtr_of_sentence_transformers(k: int) -> None:
    """Both divide as the paper does, by the number of query tokens that retrieved a token of the document."""
    pytest.importorskip("sentence_transformers", minversion="6")
    from sentence_transformers.multi_vector_encoder.scoring import xtr_scores

    batch = draw_batch()
    queries, query_mask, documents, document_mask = batch
    theirs = xtr_scores(queries, documents, queries_mask=query_mask, documents_mask=document_mask, top_k=k)
    compare(score_ours("xtr", k, batch), theirs, batch)


def test_distillation_of_sentence_transformers() -> None:
    pytest.importorskip("sentence_transformers", minversion="6")
    import torch
    from sentence_transformers.multi_vector_encoder.scoring import mean_colbert_kd_scores

    from asterism.training.losses import compute_distillation

    batch = draw_batch()
    queries, query_mask, documents, document_mask = batch
    theirs = mean_colbert_kd_scores(queries, documents, queries_mask=query_mask, documents_mask=document_mask)
    own = torch.arange(5)[:, None] * 3 + torch.arange(3)
    ours = score_ours("maxsim", 0, batch).gather(1, own)
    torch.testing.assert_close(ours, theirs, **TOLERANCE)
    teacher = torch.tensor(np.random.default_rng(2).normal(size=(5, 3)), dtype=torch.float32)
    expected = torch.nn.functional.kl_div(
        torch.log_softmax(theirs / TEMPERATURE, dim=1),
        torch.log_softmax(teacher, dim=1),
        reduction="batchmean",
        log_target=True,
    )
    torch.testing.assert_close(compute_distillation(ours, teacher, TEMPERATURE), expected, **TOLERANCE)


def test_maxsim_of_pylate() -> None:
    """PyLate sums where we take means, and a place without a vector counts as 0 there."""
    pytest.importorskip("pylate")
    from pylate.scores import ColBERTScores

    batch = draw_batch(least=0.0)
    queries, query_mask, documents, document_mask = batch
    theirs = ColBERTScores()(queries, documents, queries_mask=query_mask, documents_mask=document_mask)
    compare(score_ours("maxsim", 0, batch), theirs / query_mask.sum(dim=1, keepdim=True), batch)


@pytest.mark.parametrize("k", [8, 40])
def test_xtr_of_pylate_where_all_similarities_are_positive(k: int) -> None:
    """Below 0, PyLate's differs from the paper: it counts positive maxima, and forgets retrieved negative ones."""
    pytest.importorskip("pylate")
    from pylate.scores import XTRScores

    batch = draw_batch(least=0.0)
    queries, query_mask, documents, document_mask = batch
    theirs = XTRScores(k=k)(queries, documents, queries_mask=query_mask, documents_mask=document_mask)
    compare(score_ours("xtr", k, batch), theirs, batch)
