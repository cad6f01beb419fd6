"""Data-parallel training: each process has its own queries, and all of them compete for the documents of all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed

from ..errors import InputError

LONGEST_WAIT = timedelta(days=7)  # the first process may look for hard negatives for hours while the others wait

T = TypeVar("T")


def join_processes() -> None:
    """Join the group that `torchrun` describes in the environment; without it, there is one process."""
    if distributed.is_initialized() or os.environ.get("WORLD_SIZE", "1") == "1":
        return
    try:
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))  # a GPU for each process
        distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo", timeout=LONGEST_WAIT)
    except (ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"the processes that WORLD_SIZE={os.environ['WORLD_SIZE']} announces cannot be joined ({reason}): start "
            "with torchrun, or unset WORLD_SIZE"
        ) from error


def leave_processes() -> None:
    """Leave the group, if there is one."""
    if distributed.is_initialized():
        distributed.destroy_process_group()


def count_processes() -> int:
    """1 without a group."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def find_own_number() -> int:
    """From 0; 0 without a group."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def wait_for_all() -> None:
    """Until every process is here."""
    if distributed.is_initialized():
        distributed.barrier()


def make_once(make: Callable[[], T]) -> T:
    """What `make` returns in the first process, in all of them."""
    if count_processes() == 1:
        return make()
    made: list[Any] = [make() if find_own_number() == 0 else None]
    distributed.broadcast_object_list(made)
    result: T = made[0]
    return result


def gather_rows(rows: Tensor) -> Tensor:
    """(b, …) of each process -> (processes · b, …), with gradients; places beyond a process's own size are zeros.

    The second dimension may differ between processes; it becomes the largest one.
    """
    if count_processes() == 1:
        return rows
    widest = torch.tensor(rows.shape[1], device=rows.device)
    distributed.all_reduce(widest, distributed.ReduceOp.MAX)
    missing = int(widest) - rows.shape[1]
    padded = torch.cat([rows, rows.new_zeros(len(rows), missing, *rows.shape[2:])], dim=1) if missing else rows
    if padded.dtype == torch.bool:
        return _AllGather.apply(padded.to(torch.uint8)).bool()
    gathered: Tensor = _AllGather.apply(padded)
    return gathered


class _AllGather(torch.autograd.Function):
    """Forward: the rows of all processes. Backward: the sum of what every process has for the own rows."""

    @staticmethod
    def forward(context: Any, rows: Tensor) -> Tensor:
        context.rows = len(rows)
        parts = [torch.empty_like(rows) for _ in range(count_processes())]
        distributed.all_gather(parts, rows.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].clone(memory_format=torch.contiguous_format)  # others may read what was given
        distributed.all_reduce(total)
        start = find_own_number() * context.rows
        return total[start : start + context.rows]


def average_gradients(parameters: Iterable[Tensor]) -> None:
    """The mean over all processes, in place."""
    if count_processes() == 1:
        return
    gradients = [one.grad for one in parameters if one.grad is not None]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    distributed.all_reduce(flat)
    flat /= count_processes()
    start = 0
    for gradient in gradients:
        gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
        start += gradient.numel()
