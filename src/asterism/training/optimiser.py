"""What updates the weights, and the arithmetic it is done in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import nn

from .settings import RunSettings, TrainingPrecision


def make_optimiser(model: nn.Module, run: RunSettings) -> torch.optim.AdamW:
    """AdamW; biases and the weights of LayerNorm do not decay, the head may have its own rate."""
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            groups.setdefault((not name.startswith("transformer."), parameter.ndim > 1), []).append(parameter)
    return torch.optim.AdamW(
        [
            {
                "params": parameters,
                "full_rate": run.head_rate if is_head and run.head_rate else run.rate,
                "weight_decay": run.weight_decay if decays else 0.0,
            }
            for (is_head, decays), parameters in sorted(groups.items(), key=lambda one: one[0])
        ],
        lr=run.rate,
    )


def set_dropout(model: nn.Module, share: float) -> None:
    """The same share of all states, but none of the weights of BERT's attention.

    Fused attention takes half the time, and on a CPU it has no dropout.
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0 if name.endswith("attention.self.dropout") else share
        elif isinstance(getattr(module, "dropout", None), float):  # T5's attention has a number in place of a module
            module.dropout = share


def use_precision(precision: TrainingPrecision, model: nn.Module) -> AbstractContextManager[Any]:
    """bfloat16 for matrix products, if it is wanted or the device computes with it."""
    device = next(model.parameters()).device.type
    if precision == "auto":
        known = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
        fast = torch.cuda.is_bf16_supported() if device == "cuda" else known.get("avx512_bf16") or known.get("amx_bf16")
    else:
        fast = precision == "bfloat16"
    made: AbstractContextManager[Any] = torch.autocast(device, torch.bfloat16, enabled=bool(fast))
    return made
