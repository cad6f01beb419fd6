"""The cross-encoder in training: a transformer, and one number for each pair."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..encoders.checkpoints.checkpoint import Checkpoint
from ..encoders.graph.bert import Bert
from ..encoders.pairs import Pair, PairBatch, make_pair_batches
from ..encoders.runtimes.torch import load_transformer
from .backbone import find_first_position, freeze_lower_layers, make_seeded, run_transformer
from .heads import LinearProjection
from .settings import PairModelSettings

SPREAD = 0.02  # of a new head's weights, as in BERT


class CrossEncoderModel(nn.Module):
    """Pairs to scores, in both forms of `encoders/pair_scorer.py`."""

    def __init__(self, checkpoint: Checkpoint, settings: PairModelSettings) -> None:
        """Load the transformer; all but its top `train_layers` layers are frozen (0: none)."""
        super().__init__()
        self._batch_tokens = settings.batch_tokens
        written = checkpoint.transformer
        self._has_types = isinstance(written, Bert) and written.shape.types > 1
        self._first_position = find_first_position(checkpoint)
        self.transformer = load_transformer(checkpoint)
        freeze_lower_layers(self.transformer, settings.train_layers)
        # Without bias: it would be added to all scores alike.
        self.head = LinearProjection(SPREAD * torch.randn(1, written.hidden)) if settings.form == "cls" else None

    def forward(self, pairs: Sequence[Pair]) -> Tensor:
        """(n,) one score for each pair. Pairs of similar length run together."""
        parts = [(found.batch.numbers, self._score(found)) for found in make_pair_batches(pairs, self._batch_tokens)]
        scores = torch.cat([scores for _, scores in parts])
        order = torch.argsort(torch.cat([torch.from_numpy(numbers) for numbers, _ in parts]))
        return scores[order.to(scores.device)]

    def _score(self, found: PairBatch) -> Tensor:
        device = next(self.parameters()).device
        types = {"token_type_ids": torch.from_numpy(found.types).to(device)} if self._has_types else {}
        states = run_transformer(self.transformer, self._first_position, found.batch, **types)
        with torch.autocast(device.type, enabled=False):  # bfloat16 has too few digits to tell candidates apart
            pooled = torch.from_numpy(found.pool).to(device) @ states.float()  # (pairs, 2, hidden)
            if self.head is None:
                return (pooled[:, 0] * pooled[:, 1]).sum(dim=1)
            scores: Tensor = self.head(pooled[:, 0])[:, 0]
            return scores


def make_pair_model(checkpoint: Checkpoint, settings: PairModelSettings, seed: int) -> CrossEncoderModel:
    """A model whose new weights depend on the seed alone."""
    return make_seeded(lambda: CrossEncoderModel(checkpoint, settings), seed)
