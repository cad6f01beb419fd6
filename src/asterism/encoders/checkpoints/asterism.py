"""Our own layout: asterism.json (backbone, token rules, heads) and heads.safetensors.

    {"format": 1,
     "backbone": {"folder": "."} or {"model": "all-MiniLM-L6-v2"},
     "document": {"length": 256, "skipped": ["[CLS]", "[SEP]"]}, "query": {…, "marker": "[Q]", "expand_to": 32, …},
     "dense": {"pooling": "mean", "layers": ["unit_length"]},
     "lexical": {"layer": {"linear": "lexical", "activation": "relu"}, "dropped": ["[CLS]", "[SEP]"]},
     "multi_vector": {"layers": [{"linear": "projection"}, "unit_length"],
                      "pooling": {"linear": "constant", "positions": 250}}}

A linear layer takes NAME.weight (out, in) and, where it exists, NAME.bias from heads.safetensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from ...errors import CheckpointError
from ..checkpoint import Checkpoint, open_transformer, refuse_unknown
from ..heads import Activation, ConstantPooling, DenseHead, Layers, LexicalHead, Linear, MultiVectorHead, UnitLength
from ..registry import model_folder
from ..tokens import TextRules, TextTokenizer
from ..weights import Weights, open_weights, read_json, read_safetensors

FAMILY = "asterism"
FILES = "asterism.json, heads.safetensors, and the backbone it names"
SETTINGS = "asterism.json"
HEADS = "heads.safetensors"
FORMAT = 1
SECTIONS = ("format", "backbone", "document", "query", "dense", "lexical", "multi_vector", "pair")
TOKEN_FIELDS = ("marker", "filler")


def recognises(folder: Path) -> bool:
    """By its one settings file."""
    return (folder / SETTINGS).exists()


def read(folder: Path) -> Checkpoint:
    """Backbone, rules and heads."""
    settings, backbone, heads = opened(folder)
    weights = open_weights(backbone)
    transformer = open_transformer(backbone, weights)
    refuse_unknown(weights, transformer, (), ("cls.", "lm_head.", "linear.", "classifier.", "doc_project."))
    tokenizer = TextTokenizer(backbone)
    file = folder / SETTINGS
    try:
        dense, lexical, vectors = (settings.get(name) for name in ("dense", "lexical", "multi_vector"))
        return Checkpoint(
            family=FAMILY,
            folder=backbone,
            transformer=transformer,
            tokenizer=tokenizer,
            files=(file, *heads.files(), backbone / "config.json", tokenizer.file, *weights.files()),
            document=_rules(settings.get("document", {}), tokenizer, file),
            query=_rules(settings.get("query", {}), tokenizer, file),
            dense=DenseHead(dense["pooling"], layers(dense["layers"], heads)) if dense else None,
            lexical=LexicalHead(_linear(lexical["layer"], heads), _ids(lexical["dropped"], tokenizer))
            if lexical
            else None,
            multi_vector=MultiVectorHead(layers(vectors["layers"], heads), _pooling(vectors.get("pooling"), heads))
            if vectors
            else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{file} is not as expected: {type(error).__name__} {error}") from error


def opened(folder: Path) -> tuple[dict[str, Any], Path, Weights]:
    """The settings, the backbone's folder, and the heads' tensors."""
    file = folder / SETTINGS
    settings = read_json(file)
    if settings.get("format") != FORMAT:
        raise CheckpointError(f"{file} has format {settings.get('format')!r}, expected {FORMAT}: update asterism")
    for section in settings:
        if section not in SECTIONS:
            raise CheckpointError(f"{file} has a section {section!r}, expected only {', '.join(SECTIONS)}")
    reference = settings.get("backbone")
    if not isinstance(reference, dict) or len(reference) != 1 or not {"folder", "model"} & set(reference):
        raise CheckpointError(f'{file}: backbone is {reference!r}, expected {{"folder": …}} or {{"model": …}}')
    backbone = folder / reference["folder"] if "folder" in reference else model_folder(reference["model"])
    heads = folder / HEADS
    return settings, backbone, read_safetensors(heads) if heads.exists() else Weights(heads, {})


def layers(entries: list[Any], heads: Weights) -> Layers:
    """From their descriptions."""
    return tuple(UnitLength() if entry == "unit_length" else _linear(entry, heads) for entry in entries)


def _linear(entry: Mapping[str, Any], heads: Weights) -> Linear:
    name, activation = entry["linear"], entry.get("activation", "identity")
    if activation not in get_args(Activation):
        raise ValueError(f"activation {activation!r}, expected one of {', '.join(get_args(Activation))}")
    weight = heads[f"{name}.weight"]
    if len(weight.shape) != 2:
        raise CheckpointError(f"{weight.file}: tensor {weight.name!r} has shape {weight.shape}, expected (out, in)")
    bias = heads.shaped(f"{name}.bias", weight.shape[:1]).read() if f"{name}.bias" in heads else None
    return Linear(heads.shaped(f"{name}.weight", weight.shape).read(), bias, activation)


def _pooling(entry: Mapping[str, Any] | None, heads: Weights) -> ConstantPooling | None:
    if entry is None:
        return None
    layer = _linear(entry, heads)
    return ConstantPooling(layer.weight, layer.bias, int(entry["positions"]))


def _rules(entry: Mapping[str, Any], tokenizer: TextTokenizer, file: Path) -> TextRules:
    """The fields of TextRules, with tokens instead of ids."""
    known = [field.name for field in fields(TextRules)]
    for name in entry:
        if name not in known:
            raise CheckpointError(f"{file}: {name!r} is no token rule, expected {', '.join(known)}")
    values: dict[str, Any] = dict(entry)
    for name in TOKEN_FIELDS:
        if name in values:
            values[name] = tokenizer.needed(values[name], f"the {name}")
    if "skipped" in values:
        values["skipped"] = _ids(values["skipped"], tokenizer)
    return TextRules(**values)


def _ids(tokens: list[str], tokenizer: TextTokenizer) -> frozenset[int]:
    return frozenset(tokenizer.needed(token, "a token without a vector") for token in tokens)
