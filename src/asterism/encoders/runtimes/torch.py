"""A checkpoint on torch and transformers: for GPUs, and for architectures without a graph of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import CheckpointError, MissingPackage
from ...files.checkpoint_files import refuse_special_files
from ..batching import Batch
from ..checkpoints.checkpoint import Checkpoint
from ..graph.heads import apply_layers
from .backbone import Floats, Output

try:
    import torch
    from transformers import AutoConfig, AutoModel, T5EncoderModel
    from transformers.utils import logging
except ImportError as error:
    raise MissingPackage(f"runtime='torch' needs {error.name}: pip install 'asterism[train]'") from error


class TorchBackbone:
    """The transformer on torch, on a GPU if there is one; heads as in every runtime."""

    def __init__(self, checkpoint: Checkpoint, threads: int) -> None:
        """Load with transformers; weights are read from safetensors, or with weights_only."""
        self._checkpoint = checkpoint
        self._threads = threads
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = load_transformer(checkpoint).to(self._device).eval()

    def run(self, wanted: Sequence[Output], batch: Batch, pool: Floats) -> dict[str, Floats]:
        """One forward pass."""
        torch.set_num_threads(self._threads)
        with torch.inference_mode():
            given = {"input_ids": torch.from_numpy(batch.ids), "attention_mask": torch.from_numpy(batch.seen).long()}
            found = self._model(**{name: value.to(self._device) for name, value in given.items()})
            states: Floats = found.last_hidden_state.float().cpu().numpy()
        outputs: dict[str, Floats] = {}
        for name in wanted:
            if name == "pooled":
                outputs[name] = np.einsum("rt,rth->rh", pool, states)
            elif name == "lexical" and self._checkpoint.lexical:
                outputs[name] = self._checkpoint.lexical.layer(states)[..., 0]
            elif name == "vectors" and self._checkpoint.multi:
                outputs[name] = apply_layers(self._checkpoint.multi.layers, states)
            else:
                outputs[name] = states
        return outputs


def load_transformer(checkpoint: Checkpoint) -> Any:
    """Every tensor must be in the file: transformers would use random values and only warn."""
    folder = checkpoint.folder
    refuse_special_files(folder)
    logging.disable_progress_bar()  # a library draws nothing on its user's terminal
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # tensors that are missing are refused below, and heads of our own are no news
    here = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(folder, **here)
        kind = T5EncoderModel if config.model_type in ("t5", "mt5") else AutoModel
        model, report = kind.from_pretrained(
            folder, config=config, dtype=torch.float32, output_loading_info=True, **here
        )
    except Exception as error:  # of several libraries, without a common base class
        raise CheckpointError(f"{folder}: transformers cannot load it: {error}") from error
    finally:
        logging.set_verbosity(verbosity)
    missing = [name for name in report["missing_keys"] if "pooler." not in name]
    for name in [*missing, *report["mismatched_keys"]]:
        raise CheckpointError(
            f"{folder}: tensor {name!r} is missing, or does not have the shape that config.json gives"
        )
    for name, values in model.state_dict().items():
        if not torch.isfinite(values).all():
            raise CheckpointError(f"{folder}: tensor {name!r} has NaN or infinity: the file is damaged")
    return model
