"""The objectives against loops written by hand, and their gradients against differences and the paper's formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from asterism.training.losses import (
    compute_cross_entropy,
    compute_distillation,
    score_maxsim,
    score_xtr,
)


def draw(seed: int, queries: int = 3, tokens: int = 4, documents: int = 5, places: int = 6, width: int = 8):
    """Unit vectors in double precision, and masks with at least one place each."""
    rng = np.random.default_rng(seed)
    q, d = rng.normal(size=(queries, tokens, width)), rng.normal(size=(documents, places, width))
    q, d = (x / np.linalg.norm(x, axis=2, keepdims=True) for x in (q, d))
    q_mask, d_mask = rng.random((queries, tokens)) < 0.7, rng.random((documents, places)) < 0.7
    q_mask[:, 0] = d_mask[:, 0] = True
    return q, q_mask, d, d_mask


def to_tensors(*arrays):
    return [torch.from_numpy(array) for array in arrays]


def maxsim_by_hand(q, q_mask, d, d_mask):
    scores = np.zeros((len(q), len(d)))
    for i in range(len(q)):
        for j in range(len(d)):
            best = [
                max(q[i, a] @ d[j, b] for b in range(d.shape[1]) if d_mask[j, b])
                for a in range(q.shape[1])
                if q_mask[i, a]
            ]
            scores[i, j] = sum(best) / len(best)
    return scores


def retrieve_by_hand(q, q_mask, d, d_mask, k):
    """By query and query token, the places (document, token) of its k best tokens."""
    places = [(j, b) for j in range(len(d)) for b in range(d.shape[1]) if d_mask[j, b]]
    return {
        (i, a): sorted(places, key=lambda place: -(q[i, a] @ d[place]))[:k]
        for i in range(len(q))
        for a in range(q.shape[1])
        if q_mask[i, a]
    }


def xtr_by_hand(q, q_mask, d, d_mask, k):
    retrieved = retrieve_by_hand(q, q_mask, d, d_mask, k)
    scores, reached = np.zeros((len(q), len(d))), np.zeros((len(q), len(d)), int)
    for (i, a), places in retrieved.items():
        for j in {place[0] for place in places}:
            scores[i, j] += max(q[i, a] @ d[place] for place in places if place[0] == j)
            reached[i, j] += 1
    return scores / np.maximum(reached, 1), reached


@pytest.mark.parametrize("seed", range(5))
def test_maxsim(seed: int) -> None:
    arrays = draw(seed)
    found = score_maxsim(*to_tensors(*arrays)).numpy()
    np.testing.assert_allclose(found, maxsim_by_hand(*arrays), atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 2, 5, 12, 30, 1000])
def test_xtr(seed: int, k: int) -> None:
    arrays = draw(seed)
    found = score_xtr(*to_tensors(*arrays), k).numpy()
    np.testing.assert_allclose(found, xtr_by_hand(*arrays, k)[0], atol=1e-6)


def test_xtr_with_all_tokens_is_maxsim() -> None:
    arrays = to_tensors(*draw(9))
    torch.testing.assert_close(score_xtr(*arrays, 10**6), score_maxsim(*arrays))


def test_a_document_without_a_retrieved_token_scores_nothing() -> None:
    q = torch.tensor([[[1.0, 0.0]]])
    d = torch.tensor([[[0.9, 0.1]], [[0.1, 0.9]]])
    found = score_xtr(q, torch.ones(1, 1, dtype=torch.bool), d, torch.ones(2, 1, dtype=torch.bool), 1)
    assert found.tolist() == [[pytest.approx(0.9), 0.0]]


def test_a_retrieved_similarity_below_zero_stays_below_zero() -> None:
    q = torch.tensor([[[1.0, 0.0], [-1.0, 0.0]]])
    d = torch.tensor([[[0.5, 0.1]]])
    mask = torch.ones(1, 2, dtype=torch.bool), torch.ones(1, 1, dtype=torch.bool)
    assert score_xtr(q, mask[0], d, mask[1], 1).tolist() == [[pytest.approx(0.0)]]  # (0.5 - 0.5) / 2
    assert score_xtr(q[:, 1:], mask[0][:, 1:], d, mask[1], 1).tolist() == [[pytest.approx(-0.5)]]


def test_padding_changes_nothing() -> None:
    q, q_mask, d, d_mask = draw(3)
    wide = np.pad(d, ((0, 0), (0, 7), (0, 0)), constant_values=9.0), np.pad(d_mask, ((0, 0), (0, 7)))
    long = np.pad(q, ((0, 0), (0, 2), (0, 0)), constant_values=9.0), np.pad(q_mask, ((0, 0), (0, 2)))
    for score in (score_maxsim, lambda *given: score_xtr(*given, 6)):
        expected = score(*to_tensors(q, q_mask, d, d_mask))
        torch.testing.assert_close(score(*to_tensors(*long, *wide)), expected)


def cross_entropy_by_hand(scores, positives, temperature, excluded):
    total = 0.0
    for i, positive in enumerate(positives):
        others = [math.exp(scores[i, j] / temperature) for j in range(scores.shape[1]) if not excluded[i, j]]
        total -= math.log(math.exp(scores[i, positive] / temperature) / sum(others))
    return total / len(positives)


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_cross_entropy(temperature: float) -> None:
    rng = np.random.default_rng(1)
    scores, positives = rng.normal(size=(4, 9)), np.array([0, 3, 8, 2])
    excluded = rng.random((4, 9)) < 0.3
    excluded[np.arange(4), positives] = False
    found = compute_cross_entropy(*to_tensors(scores, positives), temperature, torch.from_numpy(excluded))
    assert float(found) == pytest.approx(cross_entropy_by_hand(scores, positives, temperature, excluded))
    plain = compute_cross_entropy(*to_tensors(scores, positives), temperature)
    assert float(plain) == pytest.approx(cross_entropy_by_hand(scores, positives, temperature, excluded & False))


def test_distillation() -> None:
    """KL(teacher ‖ student), with the teacher's probabilities as weights; places without a teacher do not count."""
    rng = np.random.default_rng(2)
    scores, teacher = rng.normal(size=(3, 5)), rng.normal(size=(3, 5)) * 4
    teacher[1, 3:] = np.nan
    total = 0.0
    for i in range(3):
        known = [j for j in range(5) if not np.isnan(teacher[i, j])]
        p = np.exp([teacher[i, j] * 0.5 for j in known])
        q = np.exp([scores[i, j] / 0.2 for j in known])
        p, q = p / p.sum(), q / q.sum()
        total += sum(a * (math.log(a) - math.log(b)) for a, b in zip(p, q, strict=True))
    assert float(compute_distillation(*to_tensors(scores, teacher), 0.2, 0.5)) == pytest.approx(total / 3)
    same = torch.from_numpy(scores)
    assert float(compute_distillation(same, same)) == pytest.approx(0, abs=1e-9)


def test_rows_without_a_teacher_add_nothing_to_the_gradient() -> None:
    scores = torch.randn(3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True)
    teacher = torch.full((3, 4), float("nan"), dtype=torch.float64)
    teacher[1, :3] = torch.tensor([2.0, 0.5, -1.0])
    compute_distillation(scores, teacher).backward()
    expected = (torch.softmax(scores[1, :3], 0) - torch.softmax(teacher[1, :3], 0)).detach() / 3
    torch.testing.assert_close(scores.grad[1, :3], expected)
    assert not scores.grad[[0, 2]].any()
    assert scores.grad[1, 3] == 0


@pytest.mark.parametrize("k", [None, 1, 4, 100])
def test_texts_without_vectors(k: int | None) -> None:
    """A document without vectors scores -1, or 0 by XTR; a query without any scores 0; gradients are numbers."""
    q, q_mask, d, d_mask = to_tensors(*draw(6))
    q_mask[1], d_mask[2] = False, False
    given = (q.requires_grad_(), q_mask, d.requires_grad_(), d_mask)
    scores = score_maxsim(*given) if k is None else score_xtr(*given, k)
    assert scores[0, 2] == (-1 if k is None else 0)
    assert not scores[1].any()
    compute_cross_entropy(scores, torch.tensor([0, 1, 2])).backward()
    assert torch.isfinite(q.grad).all()
    assert torch.isfinite(d.grad).all()
    assert not q.grad[1].any()
    assert not d.grad[2].any()


@pytest.mark.parametrize("k", [None, 5, 12])
def test_gradients_are_those_of_differences(k: int | None) -> None:
    q, q_mask, d, d_mask = to_tensors(*draw(4, queries=2, tokens=3, documents=3, places=3, width=3))
    positives = torch.tensor([0, 2])

    def loss(queries, documents):
        given = (queries, q_mask, documents, d_mask)
        return compute_cross_entropy(score_maxsim(*given) if k is None else score_xtr(*given, k), positives, 0.3)

    assert torch.autograd.gradcheck(loss, (q.requires_grad_(), d.requires_grad_()))


@pytest.mark.parametrize("k", [None, 6])
def test_the_papers_gradients(k: int | None) -> None:
    """XTR, appendix A: -(1/Z⁺)(1 - P⁺) for a positive's and (1/Z⁻) P⁻ for a negative's similarity; ColBERT has 1/n."""
    q, q_mask, d, d_mask = draw(5, queries=1)
    similarity = torch.from_numpy(np.einsum("qnd,pmd->qnpm", q, d)).requires_grad_()
    eye = torch.eye(similarity.shape[1], dtype=torch.float64)[None]  # rows of similarities as documents
    documents = similarity[0].permute(1, 2, 0)  # (D, m, n): its product with the unit queries is the similarity itself
    masks = torch.from_numpy(q_mask), torch.from_numpy(d_mask)
    score = (
        score_maxsim(eye, masks[0], documents, masks[1])
        if k is None
        else score_xtr(eye, masks[0], documents, masks[1], k)
    )
    compute_cross_entropy(score, torch.tensor([1])).backward()
    p = torch.softmax(score.detach()[0], 0).numpy()
    divisors = np.full(len(d), int(q_mask.sum())) if k is None else xtr_by_hand(q, q_mask, d, d_mask, k)[1][0]
    values = np.einsum("qnd,pmd->qnpm", q, d)[0]
    retrieved = retrieve_by_hand(q, q_mask, d, d_mask, k or 10**6)
    for a in range(q.shape[1]):
        for j in range(len(d)):
            mine = [b for jj, b in retrieved.get((0, a), []) if jj == j]
            best = max(mine, key=lambda b: values[a, j, b]) if mine else None
            for b in range(d.shape[1]):
                expected = 0.0
                if b == best:
                    expected = (p[j] - (j == 1)) / divisors[j]
                assert float(similarity.grad[0, a, j, b]) == pytest.approx(expected, abs=1e-6)
