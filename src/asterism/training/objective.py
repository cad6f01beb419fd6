"""From scores to the loss: what is right, and what a teacher says."""

from __future__ import annotations

from torch import Tensor

from .batches import Part
from .losses import compute_cross_entropy, compute_distillation
from .processes import count_processes, find_own_number
from .settings import ScoreLossSettings


def compute_loss(
    scores: Tensor, positives: Tensor, excluded: Tensor, own: Tensor, teacher: Tensor, settings: ScoreLossSettings
) -> Tensor:
    """contrast · cross-entropy + distillation · KL(teacher ‖ student).

    scores, excluded (Q, D)   of all documents that compete for a query, and those that do not count
    positives (Q,)            the column of each query's positive
    own, teacher (Q, W)       scores of each query's own documents, and the teacher's
    """
    loss = scores.new_zeros(())
    if settings.contrast:
        loss = loss + settings.contrast * compute_cross_entropy(scores, positives, settings.temperature, excluded)
    if settings.distillation:
        divergence = compute_distillation(own, teacher, settings.temperature, settings.teacher_scale)
        loss = loss + settings.distillation * divergence
    return loss


def find_share(part: Part) -> slice:
    """The queries of a part that are this process's own."""
    size, own = len(part.queries) // count_processes(), find_own_number()
    return slice(own * size, (own + 1) * size)
