"""A checkpoint on torch and transformers: GPUs, and architectures of which no graph is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import CheckpointError, MissingPackage
from .backbone import Floats, Output
from .checkpoint import Checkpoint
from .heads import through

try:
    import torch
    from transformers import AutoConfig, AutoModel, T5EncoderModel
except ImportError as error:
    raise MissingPackage(f"runtime='torch' needs {error.name}: pip install 'asterism[train]'") from error


class TorchBackbone:
    """The transformer on torch, on a GPU where there is one; heads as with every runtime."""

    def __init__(self, checkpoint: Checkpoint, threads: int) -> None:
        """Load with transformers; weights come from safetensors, or with weights_only."""
        self.workers = 1
        self._checkpoint = checkpoint
        self._threads = threads
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = _loaded(checkpoint).to(self._device).eval()

    def run(
        self,
        wanted: Sequence[Output],
        ids: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int32],
        pool: Floats,
    ) -> dict[str, Floats]:
        """One forward pass."""
        torch.set_num_threads(self._threads)
        mask = torch.arange(ids.shape[1])[None, :] < torch.from_numpy(lengths)[:, None]
        with torch.inference_mode():
            given = {"input_ids": torch.from_numpy(ids), "attention_mask": mask.long()}
            found = self._model(**{name: value.to(self._device) for name, value in given.items()})
            states: Floats = found.last_hidden_state.float().cpu().numpy()
        outputs: dict[str, Floats] = {}
        for name in wanted:
            if name == "pooled":
                outputs[name] = np.einsum("rt,rth->rh", pool, states)
            elif name == "lexical" and self._checkpoint.lexical:
                outputs[name] = self._checkpoint.lexical.layer(states)[..., 0]
            elif name == "vectors" and self._checkpoint.multi_vector:
                outputs[name] = through(self._checkpoint.multi_vector.layers, states)
            else:
                outputs[name] = states
        return outputs


def _loaded(checkpoint: Checkpoint) -> Any:
    try:
        config = AutoConfig.from_pretrained(checkpoint.folder, local_files_only=True)
        kind = T5EncoderModel if config.model_type in ("t5", "mt5") else AutoModel
        return kind.from_pretrained(checkpoint.folder, config=config, local_files_only=True, torch_dtype=torch.float32)
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"{checkpoint.folder}: transformers cannot load it: {error}") from error
