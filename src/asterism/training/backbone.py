"""The transformer of a model in training: its forward pass, its frozen layers and its tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..encoders.batching import Batch
from ..encoders.checkpoints.checkpoint import Checkpoint
from ..encoders.graph.bert import Bert
from ..errors import SettingError
from .heads import to_array
from .settings import BackboneSettings

Module = TypeVar("Module", bound=nn.Module)


def make_seeded(make: Callable[[], Module], seed: int) -> Module:
    """A model on the GPU if there is one; new weights depend on the seed alone."""
    torch.manual_seed(seed)
    model = make()
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    return model


def run_transformer(transformer: nn.Module, first_position: int | None, batch: Batch, **more: Tensor) -> Tensor:
    """The states (b, tokens, hidden) of a batch; `more` are further inputs of the transformer."""
    device = next(transformer.parameters()).device
    ids = torch.from_numpy(batch.ids).to(device)
    given = {"input_ids": ids, "attention_mask": torch.from_numpy(batch.seen).to(device).long(), **more}
    if first_position is not None:  # transformers gives fillers of a RoBERTa no places of their own
        places = torch.arange(ids.shape[1], device=device)
        given["position_ids"] = (places + first_position).expand_as(ids)
    found: Tensor = transformer(**given).last_hidden_state
    return found


def find_first_position(checkpoint: Checkpoint) -> int | None:
    """Where a BERT or a RoBERTa begins to count; None for a model without positions."""
    transformer = checkpoint.transformer
    return transformer.shape.first_position if isinstance(transformer, Bert) else None


def freeze_lower_layers(transformer: nn.Module, trained: int) -> Sequence[nn.Module]:
    """Keep the weights of all but the top layers; returns these. With 0, all of it is trained, and none is returned."""
    if not trained:
        return []
    top = _find_layers(transformer)[-trained:]
    transformer.requires_grad_(False)
    for layer in top:
        layer.requires_grad_(True)
    return top


def list_tensors(transformer: nn.Module) -> dict[str, npt.NDArray[Any]]:
    """The transformer's tensors by transformers' names."""
    return {name: to_array(tensor) for name, tensor in transformer.state_dict().items() if tensor.is_floating_point()}


def count_frozen_layers(checkpoint: Checkpoint, settings: BackboneSettings) -> int:
    """The layers below the trained ones."""
    trained, transformer = settings.train_layers, checkpoint.transformer
    if not trained:
        return 0
    if not isinstance(transformer, Bert):
        raise SettingError(
            f"train_layers is {trained}, which needs a BERT, RoBERTa or XLM-RoBERTa, and {checkpoint.folder} is none: "
            "set it to 0 to train all of the model"
        )
    if trained > transformer.shape.layers:
        raise SettingError(
            f"train_layers is {trained}, expected at most the {transformer.shape.layers} layers of {checkpoint.folder}"
        )
    return transformer.shape.layers - trained


def _find_layers(transformer: nn.Module) -> Sequence[nn.Module]:
    """The layers of a BERT, a RoBERTa or an XLM-RoBERTa."""
    layers = getattr(getattr(transformer, "encoder", None), "layer", None)
    if not isinstance(layers, nn.ModuleList):
        raise SettingError(
            f"train_layers needs a BERT, RoBERTa or XLM-RoBERTa, not a {type(transformer).__name__}: "
            "set train_layers = 0 to train all of it"
        )
    return list(layers)
