"""A late-interaction model as a learner: the documents of the whole batch compete for each query."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..encoders.checkpoints.checkpoint import Checkpoint
from ..encoders.checkpoints.writing import write_checkpoint
from .backbone import list_tensors
from .batches import Part
from .dev_score import choose_dev_passages, measure_mean_cosine, measure_mrr
from .examples import Example
from .learner import Evaluation
from .losses import score_maxsim, score_xtr
from .model import LateInteractionModel
from .objective import compute_loss, find_share
from .processes import gather_rows
from .settings import LossSettings
from .texts import TrainingTexts


class LateInteraction:
    """Scores are those of MaxSim or XTR."""

    kind = "late-interaction model"

    def __init__(
        self, checkpoint: Checkpoint, model: LateInteractionModel, texts: TrainingTexts, loss: LossSettings
    ) -> None:
        """`checkpoint` is what the training begins with."""
        self.model, self.texts = model, texts
        self._checkpoint, self._loss = checkpoint, loss

    def compute_loss(self, part: Part) -> Tensor:
        """Queries of this process, documents of all."""
        mine, width = find_share(part), part.documents.shape[1]
        queries, query_mask = self.texts.encode_queries(self.model, part.queries[mine].tolist())
        documents, document_mask = self.texts.encode_passages(self.model, part.documents[mine].reshape(-1).tolist())
        documents, document_mask = gather_rows(documents), gather_rows(document_mask)
        if self._loss.objective == "xtr":
            scores = score_xtr(queries, query_mask, documents, document_mask, self._loss.k_train)
        else:
            scores = score_maxsim(queries, query_mask, documents, document_mask)
        device = scores.device
        positives = torch.arange(mine.start, mine.stop, device=device) * width
        own = scores.gather(1, positives[:, None] + torch.arange(width, device=device))
        excluded, teacher = (torch.from_numpy(one[mine]).to(device) for one in (part.excluded, part.teacher))
        return compute_loss(scores, positives, excluded, own, teacher, self._loss)

    def make_evaluation(self, examples: Sequence[Example], passages: int, seed: int) -> Evaluation | None:
        """Every query ranks the same passages: those that the examples name, and others."""
        if not examples:
            return None
        ranked = choose_dev_passages(examples, self.texts.count_passages(), passages, seed)
        about = f"{len(examples):,} queries, {len(ranked):,} passages"
        return Evaluation(lambda: measure_mrr(self.model, self.texts, examples, ranked), about)

    def describe(self) -> dict[str, Any]:
        """The mean cosine: near 1, an index can tell vectors apart less well."""
        cosine = measure_mean_cosine(self.model, self.texts, self.texts.count_passages())
        return {"mean cosine of token vectors": round(cosine, 3)}

    def write(self, folder: Path, card: str) -> None:
        """Write a folder for `load_encoder`."""
        tensors, rules = list_tensors(self.model.transformer), self.texts.rules
        write_checkpoint(
            folder, self._checkpoint.folder, tensors, self.model.to_head(), rules.document, rules.query, card
        )
