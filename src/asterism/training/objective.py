"""The loss of a part of a batch: its texts are encoded, scored against each other and compared with what is right."""

from __future__ import annotations

import torch
from torch import Tensor

from .batches import Part
from .losses import compute_cross_entropy, compute_distillation, score_maxsim, score_xtr
from .model import LateInteractionModel
from .processes import count_processes, find_own_number, gather_rows
from .settings import LossSettings
from .texts import TrainingTexts


def compute_loss(model: LateInteractionModel, texts: TrainingTexts, part: Part, settings: LossSettings) -> Tensor:
    """The loss of this process's share of a part; the documents of all processes compete."""
    own = find_own_number()
    size, width = len(part.queries) // count_processes(), part.documents.shape[1]
    mine = slice(own * size, (own + 1) * size)
    queries, query_mask = texts.encode_queries(model, part.queries[mine].tolist())
    documents, document_mask = texts.encode_passages(model, part.documents[mine].reshape(-1).tolist())
    documents, document_mask = gather_rows(documents), gather_rows(document_mask)
    if settings.objective == "xtr":
        scores = score_xtr(queries, query_mask, documents, document_mask, settings.k_train)
    else:
        scores = score_maxsim(queries, query_mask, documents, document_mask)
    device = scores.device
    positives = torch.arange(mine.start, mine.stop, device=device) * width
    loss = scores.new_zeros(())
    if settings.contrast:
        excluded = torch.from_numpy(part.excluded[mine]).to(device)
        loss = loss + settings.contrast * compute_cross_entropy(scores, positives, settings.temperature, excluded)
    if settings.distillation:
        own_columns = positives[:, None] + torch.arange(width, device=device)
        teacher = torch.from_numpy(part.teacher[mine]).to(device)
        loss = loss + settings.distillation * compute_distillation(
            scores.gather(1, own_columns), teacher, settings.temperature, settings.teacher_scale
        )
    return loss
