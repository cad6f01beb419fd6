"""Writes a cross-encoder over [CLS] as a sequence classifier of transformers, which CrossEncoder loads too.

BERT's classifiers have a layer with tanh between [CLS] and the score. For a model without it, that layer is the
identity times 2⁻¹², where tanh(x) = x up to the rounding of float32, and the last layer is multiplied by 2¹².
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import InputError
from ...files.checkpoint_files import is_there, read_file
from ..graph.bert import Bert
from ..graph.heads import Layers, Linear
from .model_files import CARD, Tensors, make_model_folder, write_json, write_transformer
from .pair_models import PairModel, open_pair_model
from .settings import LARGEST_FILE, read_json
from .weights.files import open_weights

SMALL = np.float32(2**-12)
TOKENIZER_SETTINGS = "tokenizer_config.json"


def export_pair_model(model_folder: Path, to: Path, layout: str) -> None:
    """Write the model as the new folder `to`. Pairs that are too long are cut in another way there."""
    model = open_pair_model(model_folder)
    head = _list_classifier(_check(model, model_folder, layout))
    with make_model_folder(to) as inside:
        tensors = {f"bert.{name}": values for name, values in _read_transformer(model).items()}
        write_transformer(inside, model.folder, {**tensors, **head}, ())
        config = read_json(inside / "config.json") | {
            "architectures": ["BertForSequenceClassification"],
            "id2label": {"0": "LABEL_0"},
            "label2id": {"LABEL_0": 0},
            "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"},  # else a sigmoid
        }
        write_json(inside / "config.json", config)
        known = read_json(inside / TOKENIZER_SETTINGS) if is_there(inside / TOKENIZER_SETTINGS) else {}
        write_json(inside / TOKENIZER_SETTINGS, known | {"model_max_length": model.length})
        if is_there(model_folder / CARD):
            (inside / CARD).write_bytes(read_file(model_folder / CARD, LARGEST_FILE))
        open_pair_model(inside)  # refuses what could not be loaded


def _check(model: PairModel, folder: Path, layout: str) -> tuple[Linear, ...]:
    """The layers of a model that a classifier can express; an error for any other model."""
    if layout != "sentence-transformers":
        raise InputError(
            f"{folder} is a cross-encoder, which {layout} folders cannot express: use sentence-transformers"
        )
    kind = read_json(model.folder / "config.json").get("model_type")
    if kind != "bert":
        raise InputError(f"{folder} has a backbone of model_type {kind!r}, expected 'bert'")
    if model.layers is None:
        raise InputError(f"{folder} has the [EMB] form with markers, which {layout} folders cannot express")
    linear = tuple(layer for layer in model.layers if isinstance(layer, Linear) and layer.residual is None)
    forms = [layer.activation for layer in linear]
    if len(linear) < len(model.layers) or forms not in (["identity"], ["tanh", "identity"]):
        raise InputError(
            f"{folder} has layers over [CLS] that {layout} folders cannot express, expected one linear layer, perhaps "
            "after one with tanh"
        )
    return linear


def _list_classifier(layers: Layers) -> Tensors:
    """The tensors of BERT's pooler and classifier."""
    *inner, last = (layer for layer in layers if isinstance(layer, Linear))
    hidden = last.weight.shape[1]
    dense = inner[0] if inner else Linear(SMALL * np.eye(hidden, dtype=np.float32))
    return {
        "bert.pooler.dense.weight": dense.weight,
        "bert.pooler.dense.bias": np.zeros(len(dense.weight), np.float32) if dense.bias is None else dense.bias,
        "classifier.weight": last.weight if inner else last.weight / SMALL,
        "classifier.bias": np.zeros(1, np.float32) if last.bias is None else last.bias,
    }


def _read_transformer(model: PairModel) -> Tensors:
    """The transformer's tensors by their names in transformers."""
    prefix = model.transformer.prefix if isinstance(model.transformer, Bert) else ""
    used = {tensor.name for tensor in model.transformer.list_tensors()}
    weights = open_weights(model.folder)
    return {name.removeprefix(prefix): weights[name].read() for name in weights if name in used}
