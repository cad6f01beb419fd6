"""A cross-encoder as a learner: only a query's own documents compete, because each pair is read by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..encoders.checkpoints.checkpoint import Checkpoint
from ..encoders.checkpoints.writing import write_pair_model
from .backbone import list_tensors
from .batches import Part
from .dev_score import compute_reciprocal_rank
from .examples import Example
from .learner import Evaluation
from .objective import compute_loss, find_share
from .pair_model import CrossEncoderModel
from .pair_texts import PairTexts
from .settings import PairLossSettings

AT_ONCE = 32  # dev queries whose pairs are sorted by length together


class CrossEncoder:
    """Softmax cross-entropy over a query's positive and its hard negatives, as in ANNCUR; perhaps a teacher."""

    kind = "cross-encoder"

    def __init__(
        self, checkpoint: Checkpoint, model: CrossEncoderModel, texts: PairTexts, loss: PairLossSettings
    ) -> None:
        """`checkpoint` is what the training begins with."""
        self.model = model
        self._checkpoint, self._texts, self._loss = checkpoint, texts, loss

    def compute_loss(self, part: Part) -> Tensor:
        """Pairs of this process's queries."""
        mine, (count, width) = find_share(part), part.documents.shape
        queries, documents = part.queries[mine].tolist(), part.documents[mine].tolist()
        scores: Tensor = self.model(self._texts.make_pairs(queries, documents)).view(-1, width)
        numbers = np.arange(count)
        own = part.excluded.reshape(count, count, width)[numbers, numbers]  # among the query's own documents
        excluded, teacher = (torch.from_numpy(one[mine]).to(scores.device) for one in (own, part.teacher))
        positives = torch.zeros(len(scores), dtype=torch.long, device=scores.device)  # the positive comes first
        return compute_loss(scores, positives, excluded, scores, teacher, self._loss)

    def make_evaluation(self, examples: Sequence[Example], passages: int, seed: int) -> Evaluation | None:
        """Each query ranks its own candidates, its positives and its hard negatives; without negatives it is left out.

        All passages for each query would take too long, so neither `passages` nor `seed` is used.
        """
        chosen = [example for example in examples if example.negatives]
        if not chosen:
            return None
        candidates = sum(len(one.positives) + len(one.negatives) for one in chosen) / len(chosen)
        about = f"{len(chosen):,} queries, each with its positives and hard negatives, {candidates:.1f} on average"
        return Evaluation(lambda: self._measure_mrr(chosen), about)

    def describe(self) -> dict[str, Any]:
        """Nothing more than the settings say."""
        return {}

    def write(self, folder: Path, card: str) -> None:
        """Write a folder for `load_pair_scorer`."""
        tensors, texts = list_tensors(self.model.transformer), self._texts
        layers = None if self.model.head is None else (self.model.head.to_layer(),)
        write_pair_model(folder, self._checkpoint.folder, tensors, layers, texts.markers, texts.length, card)

    def _measure_mrr(self, examples: Sequence[Example]) -> float:
        """MRR@10 of the examples' queries, each among its own candidates."""
        total = 0.0
        for start in range(0, len(examples), AT_ONCE):
            some = examples[start : start + AT_ONCE]
            candidates = [[*one.positives, *one.negatives] for one in some]
            scores = self.model(self._texts.make_pairs([one.query for one in some], candidates)).cpu().numpy()
            ends = np.cumsum([len(one) for one in candidates])
            for example, row in zip(some, np.split(scores, ends[:-1]), strict=True):
                total += compute_reciprocal_rank(row, range(len(example.positives)))
        return total / len(examples)
