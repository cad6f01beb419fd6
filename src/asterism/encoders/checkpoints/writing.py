"""Writes a model folder in our own layout, which `load_encoder` or `load_pair_scorer` reads at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from ...errors import InputError
from ..graph.heads import DenseHead, Gated, Layers, MultiVectorHead, Projection
from ..pairs import Markers
from ..tokens import TextRules, TextTokenizer
from .layouts import asterism
from .model_files import CARD, Tensors, make_model_folder, write_json, write_transformer
from .pair_models import open_pair_model
from .weights.safetensors_files import write_safetensors


def write_checkpoint(
    folder: Path,
    source: Path,
    tensors: Tensors,
    head: MultiVectorHead,
    document: TextRules,
    query: TextRules,
    card: str,
    dense: DenseHead | None = None,
    add_tokens: Sequence[str] = (),
) -> None:
    """Write the new folder `folder`: all of it, or nothing.

    source          the folder with config.json and tokenizer that the training began with
    tensors         the transformer's weights by their names in transformers, written as float32
    head, dense     the layers after it
    document, query the token rules; their ids are those of the written tokenizer
    card            the text of README.md
    add_tokens      special tokens that the tokenizer gets; those it does not have yet get the ids after its vocabulary
    """
    with make_model_folder(folder) as inside:
        tokenizer = write_transformer(inside, source, tensors, add_tokens)
        heads: dict[str, Any] = {}
        multi: dict[str, Any] = {"layers": _describe_layers("multi_vector", head.layers, heads)}
        if head.pooling:
            name = "multi_vector.pooling"
            heads |= _name_arrays(name, weight=head.pooling.weight, bias=head.pooling.bias)
            multi["pooling"] = {"linear": name, "positions": head.pooling.positions}
        settings: dict[str, Any] = {
            "document": _describe_rules(document, tokenizer),
            "query": _describe_rules(query, tokenizer),
        }
        if dense:
            settings["dense"] = {
                "pooling": dense.pooling,
                "layers": _describe_layers("dense", dense.layers, heads),
            }
        _write_rest(inside, settings | {"multi_vector": multi}, heads, card)
        asterism.read(inside)  # refuses what could not be loaded: missing tensors, wrong shapes, NaN


def write_pair_model(
    folder: Path,
    source: Path,
    tensors: Tensors,
    layers: Layers | None,
    markers: Markers | None,
    length: int,
    card: str,
) -> None:
    """Write the new folder of a cross-encoder: all of it, or nothing.

    source           the folder with config.json and tokenizer that the training began with
    tensors          the transformer's weights by their names in transformers, written as float32
    layers, markers  one of them: layers over [CLS], or the ids of markers
    length           tokens of a pair
    card             the text of README.md
    """
    with make_model_folder(folder) as inside:
        tokenizer = write_transformer(inside, source, tensors, ())
        heads: dict[str, Any] = {}
        pair: dict[str, Any] = {"length": length}
        if layers is not None:
            pair["layers"] = _describe_layers("pair", layers, heads)
        if markers is not None:
            pair["markers"] = [_require_token(tokenizer, number, "a marker") for number in astuple(markers)]
        _write_rest(inside, {"pair": pair}, heads, card)
        open_pair_model(inside)  # refuses what could not be loaded


def _write_rest(inside: Path, sections: dict[str, Any], heads: dict[str, Any], card: str) -> None:
    """What our own layout has beside the transformer's files."""
    write_json(inside / asterism.SETTINGS, {"format": asterism.FORMAT, "backbone": {"folder": "."}, **sections})
    if heads:
        write_safetensors(inside / asterism.HEADS, heads)
    (inside / CARD).write_text(card, encoding="utf-8")


def _describe_layers(head: str, layers: Layers, heads: dict[str, Any]) -> list[Any]:
    """The entries of asterism.json; arrays are added to `heads`."""
    entries: list[Any] = []
    for number, layer in enumerate(layers):
        if not isinstance(layer, Projection):
            entries.append("unit_length")
            continue
        name = f"{head}.{number}"
        if isinstance(layer, Gated):
            heads |= _name_arrays(f"{name}.gate", weight=layer.gate)
            heads |= _name_arrays(f"{name}.up", weight=layer.up)
            heads |= _name_arrays(f"{name}.down", weight=layer.down)
            entries.append({"gated": name, "activation": layer.activation})
            continue
        if layer.residual is not None:
            raise InputError(
                f"layer {number} of {head} has a residual, expected none: {asterism.SETTINGS} cannot express it"
            )
        heads |= _name_arrays(name, weight=layer.weight, bias=layer.bias)
        entries.append({"linear": name, "activation": layer.activation})
    return entries


def _name_arrays(name: str, **arrays: Any) -> dict[str, Any]:
    """NAME.weight and NAME.bias, those that are there."""
    return {f"{name}.{part}": array for part, array in arrays.items() if array is not None}


def _describe_rules(rules: TextRules, tokenizer: TextTokenizer) -> dict[str, Any]:
    """The fields that differ from their defaults, with tokens instead of ids."""
    described: dict[str, Any] = {}
    for field in fields(TextRules):
        value = getattr(rules, field.name)
        if value == field.default:
            continue
        if field.name in asterism.TOKEN_FIELDS:
            value = _require_token(tokenizer, value, f"the {field.name}")
        elif field.name == "skipped":
            value = [_require_token(tokenizer, number, "a token without a vector") for number in sorted(value)]
        described[field.name] = value
    if rules.expand_to:
        described["filler"] = _require_token(tokenizer, rules.filler, "the filler")
    return described


def _require_token(tokenizer: TextTokenizer, number: int, purpose: str) -> str:
    """The token of an id, which must be the only one of that name; `purpose` says in an error what it is for."""
    token = tokenizer.find_token(number) if 0 <= number < tokenizer.vocabulary else ""
    if not token or tokenizer.find_id(token) != number:
        raise InputError(
            f"id {number} is not a token of the tokenizer, expected one of its {tokenizer.vocabulary} ids for {purpose}"
        )
    return token
