"""The model in training: a transformer, the projection of its states, and perhaps pooling to C vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..encoders.assembling import Side, find_places_with_vector
from ..encoders.batching import Batch, make_batches
from ..encoders.checkpoints.checkpoint import Checkpoint
from ..encoders.graph.heads import Linear, MultiVectorHead, UnitLength
from ..encoders.lower_states import LowerStates
from ..encoders.runtimes.torch import load_transformer
from ..encoders.tokens import Row
from .backbone import find_first_position, freeze_lower_layers, make_seeded, run_transformer
from .heads import GatedProjection, LinearProjection, Pooling, draw_orthogonal
from .settings import ModelSettings


class LateInteractionModel(nn.Module):
    """Rows of tokens to vectors of unit length."""

    def __init__(self, checkpoint: Checkpoint, settings: ModelSettings) -> None:
        """Load the transformer; all but its top `train_layers` layers are frozen (0: none)."""
        super().__init__()
        self.settings = settings
        self.transformer = load_transformer(checkpoint)
        hidden = checkpoint.transformer.hidden
        self._first_position = find_first_position(checkpoint)
        self.projection = _make_projection(checkpoint, settings, hidden)
        self.pooling = (
            Pooling(settings.pooling, settings.vectors_per_document, settings.document_length, settings.dimensions)
            if settings.vectors_per_document
            else None
        )
        self.top = freeze_lower_layers(self.transformer, settings.train_layers)

    def encode(
        self, rows: Sequence[Row], numbers: Sequence[int], side: Side, states: LowerStates | None
    ) -> tuple[Tensor, Tensor]:
        """Rows -> vectors (b, m, d) and which places have one (b, m), in the order of the rows.

        `numbers` are those of the rows in `states`, which are what the frozen layers make of them. Rows of similar
        length run together, because attention over padding costs as much as over words.
        """
        parts: list[tuple[Batch, Tensor, Tensor]] = []
        for batch in make_batches(rows, self.settings.batch_tokens):
            found = self._run(batch, None if states is None else [numbers[i] for i in batch.numbers], states)
            vectors, places = self._project(found, batch, side)
            parts.append((batch, vectors, places))
        width = max(places.shape[1] for _, _, places in parts)
        vectors = torch.cat([functional.pad(vectors, (0, 0, 0, width - vectors.shape[1])) for _, vectors, _ in parts])
        places = torch.cat([functional.pad(places, (0, width - places.shape[1])) for _, _, places in parts])
        order = torch.argsort(torch.cat([torch.from_numpy(batch.numbers) for batch, _, _ in parts])).to(vectors.device)
        return vectors[order], places[order]

    def _run(self, batch: Batch, numbers: Sequence[int] | None, states: LowerStates | None) -> Tensor:
        """The transformer's states (b, tokens, hidden)."""
        if states is None or numbers is None:
            return run_transformer(self.transformer, self._first_position, batch)
        device = next(self.parameters()).device
        seen = torch.from_numpy(batch.seen).to(device)
        x = torch.from_numpy(states.gather(numbers)[0]).to(device).float()
        for layer in self.top:
            made: Any = layer(x, seen[:, None, None, :])
            x = made[0] if isinstance(made, tuple) else made
        return x

    def _project(self, states: Tensor, batch: Batch, side: Side) -> tuple[Tensor, Tensor]:
        """States -> vectors of unit length, and which places have one."""
        if side.constant and self.pooling is not None:
            form = self.pooling.form
            values = self.pooling(states) if form == "positions" else states
            values = self.projection(values)
            values = self.pooling(values) if form == "full" else values
            places = torch.ones(values.shape[:2], dtype=torch.bool, device=values.device)
        else:
            values = self.projection(states)
            places = torch.from_numpy(find_places_with_vector(side, batch)).to(values.device)
        return functional.normalize(values.float(), dim=2), places

    def to_head(self) -> MultiVectorHead:
        """The head as plain arrays."""
        pooling = self.pooling.to_pooling() if self.pooling is not None else None
        return MultiVectorHead((self.projection.to_layer(), UnitLength()), pooling)


def make_model(checkpoint: Checkpoint, settings: ModelSettings, seed: int) -> LateInteractionModel:
    """A model whose new weights depend on the seed alone."""
    return make_seeded(lambda: LateInteractionModel(checkpoint, settings), seed)


def _make_projection(
    checkpoint: Checkpoint, settings: ModelSettings, hidden: int
) -> LinearProjection | GatedProjection:
    """The projection that the model has already, if it fits; else a new one."""
    if settings.projection == "gated":
        return GatedProjection(hidden, settings.dimensions, settings.inner or 2 * hidden)
    first = checkpoint.multi.layers[0] if checkpoint.multi else None
    if isinstance(first, Linear) and first.weight.shape == (settings.dimensions, hidden) and first.bias is None:
        return LinearProjection(torch.tensor(first.weight))
    return LinearProjection(draw_orthogonal(settings.dimensions, hidden))
