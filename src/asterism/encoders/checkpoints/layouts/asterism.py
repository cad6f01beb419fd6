"""Our own layout: asterism.json (backbone, token rules, heads) and heads.safetensors.

    {"format": 1,
     "backbone": {"folder": "."} or {"model": "all-MiniLM-L6-v2"},
     "document": {"length": 256, "skipped": ["[CLS]", "[SEP]"]}, "query": {…, "marker": "[Q]", "expand_to": 32, …},
     "dense": {"pooling": "mean", "layers": ["unit_length"]},
     "lexical": {"layer": {"linear": "lexical", "activation": "relu"}, "dropped": ["[CLS]", "[SEP]"]},
     "multi_vector": {"layers": [{"linear": "projection"}, "unit_length"],
                      "pooling": {"linear": "constant", "positions": 250}}}

`pair` makes it a cross-encoder (`checkpoints/pair_models.py`), which needs no other section but the backbone.
A linear layer has NAME.weight (out, in) and optionally NAME.bias in heads.safetensors. A gated layer, {"gated": NAME,
"activation": "silu"}, has NAME.gate.weight and NAME.up.weight (inner, in), and NAME.down.weight (out, inner).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast, get_args

from ....errors import CheckpointError
from ....files.checkpoint_files import is_there
from ....models.registry import find_or_fetch_model
from ...graph.heads import (
    Activation,
    ConstantPooling,
    DenseHead,
    Gated,
    Layers,
    LexicalHead,
    Linear,
    MultiVectorHead,
    Pooling,
    Projection,
    UnitLength,
    compute_width,
)
from ...tokens import TextRules, TextTokenizer
from ..checkpoint import Checkpoint, open_transformer, refuse_unknown
from ..settings import read_json, read_strings, read_whole, shorten
from ..tokenizers.files import list_model_files
from ..weights.files import open_weights
from ..weights.safetensors_files import read_safetensors
from ..weights.tensors import Weights

FAMILY = "asterism"
FILES = "asterism.json, heads.safetensors, and the backbone it names"
SETTINGS = "asterism.json"
HEADS = "heads.safetensors"
FORMAT = 1
SECTIONS = ("format", "backbone", "document", "query", "dense", "lexical", "multi_vector", "pair")
TOKEN_FIELDS = ("marker", "filler")
NUMBER_FIELDS = ("length", "expand_to")
MOST_LAYERS = 16  # of a head


def recognises(folder: Path) -> bool:
    """By its settings file."""
    return is_there(folder / SETTINGS)


def read(folder: Path) -> Checkpoint:
    """Backbone, rules and heads."""
    settings, backbone, heads = open_parts(folder)
    if is_of_pairs(settings):
        raise CheckpointError(f"{folder} is a cross-encoder, expected a model of texts: use load_pair_scorer for it")
    weights = open_weights(backbone)
    transformer = open_transformer(backbone, weights)
    refuse_unknown(weights, transformer, (), ("cls.", "lm_head.", "linear.", "classifier.", "doc_project."))
    tokenizer = TextTokenizer(backbone)
    file, reader = folder / SETTINGS, HeadReader(heads, transformer.hidden)
    dense, lexical, vectors = (
        _read_section(settings, name, keys, file)
        for name, keys in (
            ("dense", ("pooling", "layers")),
            ("lexical", ("layer", "dropped")),
            ("multi_vector", ("layers", "pooling")),
        )
    )
    if dense and dense["pooling"] not in get_args(Pooling):
        known = " or ".join(get_args(Pooling))
        raise CheckpointError(f"{file}: pooling is {shorten(dense['pooling'])}, expected {known}")
    checkpoint = Checkpoint(
        family=FAMILY,
        folder=backbone,
        transformer=transformer,
        tokenizer=tokenizer,
        files=list_model_files(backbone, tokenizer, weights, file, *heads.list_files()),
        document=_read_rules(settings.get("document", {}), tokenizer, file),
        query=_read_rules(settings.get("query", {}), tokenizer, file),
        dense=DenseHead(dense["pooling"], reader.read_layers(dense["layers"])) if dense else None,
        lexical=LexicalHead(reader.read_lexical(lexical["layer"]), _find_ids(lexical["dropped"], tokenizer, file))
        if lexical
        else None,
        multi=reader.read_multi(vectors) if vectors else None,
    )
    reader.refuse_unused()
    return checkpoint


def is_of_pairs(settings: Mapping[str, Any]) -> bool:
    """Whether it is a cross-encoder, which has no rules for single texts."""
    return "pair" in settings and "document" not in settings


def open_parts(folder: Path) -> tuple[dict[str, Any], Path, Weights]:
    """The settings, the backbone's folder, and the heads' tensors."""
    file = folder / SETTINGS
    settings = read_json(file)
    if settings.get("format") != FORMAT:
        raise CheckpointError(
            f"{file} has format {shorten(settings.get('format'))}, expected {FORMAT}: update asterism"
        )
    for section in settings:
        if section not in SECTIONS:
            raise CheckpointError(f"{file} has a section {section!r}, expected only {', '.join(SECTIONS)}")
    reference = settings.get("backbone")
    if not isinstance(reference, dict) or len(reference) != 1 or not {"folder", "model"} & set(reference):
        raise CheckpointError(f'{file}: backbone is {shorten(reference)}, expected {{"folder": …}} or {{"model": …}}')
    if "folder" in reference:
        backbone = folder / str(reference["folder"])
    else:
        backbone = find_or_fetch_model(str(reference["model"]))
    heads = folder / HEADS
    return settings, backbone, read_safetensors(heads) if is_there(heads) else Weights(heads, {})


class HeadReader:
    """Reads layers by their descriptions and checks that each fits the one before."""

    def __init__(self, heads: Weights, hidden: int) -> None:
        """For a transformer with `hidden` dimensions."""
        self._heads = heads
        self._hidden = hidden
        self._used: set[str] = set()

    def read_layers(self, entries: Any) -> Layers:
        """The layers of a list; the first one is applied to the states."""
        if not isinstance(entries, list) or len(entries) > MOST_LAYERS:
            raise CheckpointError(f"{SETTINGS}: layers is {shorten(entries)}, expected a list of at most {MOST_LAYERS}")
        found: list[Projection | UnitLength] = []
        width = self._hidden
        for entry in entries:
            found.append(UnitLength() if entry == "unit_length" else self._read_projection(entry, width))
            width = compute_width(found[-1:], width)
        return tuple(found)

    def read_lexical(self, entry: Mapping[str, Any]) -> Linear:
        """A layer with one output, the weight of a term."""
        layer = self._read_linear(entry, self._hidden)
        if len(layer.weight) != 1:
            raise CheckpointError(
                f"{self._heads.source}: {entry['linear']}.weight has {len(layer.weight)} rows, expected 1"
            )
        return layer

    def read_multi(self, section: Mapping[str, Any]) -> MultiVectorHead:
        """Layers, and pooling over positions or by the paper's full matrix, depending on its shape."""
        layers, entry = self.read_layers(section["layers"]), section.get("pooling")
        if entry is None:
            return MultiVectorHead(layers)
        shape = self._heads[f"{entry['linear']}.weight"].shape
        layer = self._read_linear(entry, shape[-1] if shape else 1)
        positions = read_whole(entry, "positions", self._heads.source.with_name(SETTINGS))
        pooling = ConstantPooling(layer.weight, layer.bias, positions)
        width = compute_width(layers, self._hidden)
        fits = layer.weight.shape[1] == positions * width and len(layer.weight) % width == 0
        if pooling.is_full and not (fits and any(isinstance(layer, Projection) for layer in layers)):
            raise CheckpointError(
                f"{self._heads.source}: {entry['linear']}.weight has shape {layer.weight.shape}, expected {positions} "
                f"columns, or {positions} times {width} and a multiple of {width} rows after a projection"
            )
        return MultiVectorHead(layers, pooling)

    def refuse_unused(self) -> None:
        """Refuse tensors that nothing uses: asterism.json is probably wrong."""
        for name in self._heads:
            if name not in self._used:
                raise CheckpointError(f"{self._heads.source}: tensor {name!r} is not used by {SETTINGS}")

    def _read_projection(self, entry: Any, columns: int) -> Projection:
        if not isinstance(entry, Mapping) or not {"linear", "gated"} & set(entry):
            raise CheckpointError(
                f'{SETTINGS}: {shorten(entry)} is not a layer, expected "unit_length", {{"linear": NAME}} '
                'or {"gated": NAME}'
            )
        return self._read_linear(entry, columns) if "linear" in entry else self._read_gated(entry, columns)

    def _read_gated(self, entry: Mapping[str, Any], columns: int) -> Gated:
        name, activation = entry["gated"], _read_activation(entry, "silu")
        gate = self._heads.read_matrix(f"{name}.gate.weight", columns)
        up = self._heads.find_shaped(f"{name}.up.weight", gate.shape).read()
        down = self._heads.read_matrix(f"{name}.down.weight", len(gate))
        self._used |= {f"{name}.{part}.weight" for part in ("gate", "up", "down")}
        return Gated(gate, up, down, activation)

    def _read_linear(self, entry: Any, columns: int) -> Linear:
        if not isinstance(entry, Mapping) or "linear" not in entry:
            raise CheckpointError(f'{SETTINGS}: {shorten(entry)} is not a linear layer, expected {{"linear": NAME}}')
        name, activation = entry["linear"], _read_activation(entry, "identity")
        weight = self._heads.read_matrix(f"{name}.weight", columns)
        bias = None
        if f"{name}.bias" in self._heads:
            bias = self._heads.find_shaped(f"{name}.bias", (len(weight),)).read()
        self._used |= {f"{name}.weight", f"{name}.bias"}
        return Linear(weight, bias, activation)


def _read_activation(entry: Mapping[str, Any], default: Activation) -> Activation:
    activation: Any = entry.get("activation", default)
    if activation not in get_args(Activation):
        known = ", ".join(get_args(Activation))
        raise CheckpointError(f"{SETTINGS}: activation is {shorten(activation)}, expected one of {known}")
    return cast(Activation, activation)


def _read_section(settings: Mapping[str, Any], name: str, keys: tuple[str, ...], file: Path) -> dict[str, Any] | None:
    section = settings.get(name)
    if section is not None and not isinstance(section, dict):
        raise CheckpointError(f"{file}: {name} is {shorten(section)}, expected an object")
    for key in section or ():
        if key not in keys:
            raise CheckpointError(f"{file}: {name} has {key!r}, expected only {', '.join(keys)}")
    return dict(section) if section else None


def _read_rules(entry: Any, tokenizer: TextTokenizer, file: Path) -> TextRules:
    """TextRules from an object with the same fields, but tokens instead of ids."""
    if not isinstance(entry, dict):
        raise CheckpointError(f"{file}: the rules of a side are {shorten(entry)}, expected an object")
    known = [field.name for field in fields(TextRules)]
    for name in entry:
        if name not in known:
            raise CheckpointError(f"{file}: {name!r} is not a token rule, expected one of {', '.join(known)}")
    values: dict[str, Any] = {}
    for name, value in entry.items():
        if name in TOKEN_FIELDS:
            values[name] = tokenizer.require_id(value, f"the {name}")
        elif name == "skipped":
            values[name] = _find_ids(value, tokenizer, file)
        elif name in NUMBER_FIELDS:
            values[name] = read_whole(entry, name, file, least=0)
        elif isinstance(value, str if name == "prompt" else bool):
            values[name] = value
        else:
            kind = "a string" if name == "prompt" else "true or false"
            raise CheckpointError(f"{file}: {name} is {shorten(value)}, expected {kind}")
    return TextRules(**values)


def _find_ids(tokens: Any, tokenizer: TextTokenizer, file: Path) -> frozenset[int]:
    named = read_strings(tokens, "a list of tokens", file)
    return frozenset(tokenizer.require_id(token, "a token without a vector") for token in named)
