"""BERT, RoBERTa and XLM-RoBERTa: the same layers, with different positions.

Layer: x = LN(x + W_o·attention(x)); x = LN(x + W_2·gelu(W_1·x)), normalised after each sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CheckpointError
from ..checkpoints.settings import LARGEST_NUMBER, read_sizes, read_small_number, read_whole, shorten
from ..checkpoints.size_limits import MOST_HEADS, MOST_LAYERS, WIDEST, WIDEST_INNER
from ..checkpoints.weights.tensors import StoredTensor, Weights
from .graph import FUSED, Graph

ACTIVATIONS = {
    "gelu": ("Gelu", FUSED), "gelu_new": ("FastGelu", FUSED), "gelu_pytorch_tanh": ("FastGelu", FUSED),
    "relu": ("Relu", ""),
}  # fmt: skip
SIZES = {
    "layers": ("num_hidden_layers", MOST_LAYERS),
    "hidden": ("hidden_size", WIDEST),
    "heads": ("num_attention_heads", MOST_HEADS),
    "inner": ("intermediate_size", WIDEST_INNER),
    "vocabulary": ("vocab_size", LARGEST_NUMBER),
}
WORDS = "embeddings.word_embeddings.weight"
IGNORED = ("embeddings.position_ids", "pooler.")  # in published files, but no view uses them


@dataclass(frozen=True)
class BertShape:
    """Sizes from config.json."""

    layers: int
    hidden: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int
    first_position: int  # RoBERTa counts from pad + 1
    activation: str
    epsilon: float

    @classmethod
    def from_config(cls, config: Mapping[str, Any], file: Path) -> BertShape:
        """From a config.json, with the names that transformers uses."""
        roberta = config["model_type"] != "bert"
        positions = read_whole(config, "max_position_embeddings", file)
        offset = read_whole(config, "pad_token_id", file, 1, least=0, most=positions - 2) + 1 if roberta else 0
        return cls(
            **read_sizes(config, SIZES, file),
            positions=positions,
            types=read_whole(config, "type_vocab_size", file, 2),
            first_position=offset,
            activation=str(config.get("hidden_act", "gelu")),
            epsilon=read_small_number(config, "layer_norm_eps", file, 1e-12),
        )


class Bert:
    """Token ids to states, as nodes of a graph."""

    def __init__(self, config: Mapping[str, Any], weights: Weights, file: Path) -> None:
        """Find every tensor and check its shape and its values; `file` is what `config` was read from."""
        self.shape = shape = BertShape.from_config(config, file)
        if config.get("position_embedding_type", "absolute") != "absolute":
            raise CheckpointError(
                f"{file} has {shorten(config['position_embedding_type'])} positions, expected 'absolute'"
            )
        if shape.activation not in ACTIVATIONS:
            raise CheckpointError(
                f"{file} has the activation {shape.activation!r}, expected one of {', '.join(ACTIVATIONS)}"
            )
        if shape.hidden % shape.heads:
            raise CheckpointError(f"{file} has {shape.heads} heads, expected a divisor of {shape.hidden}")
        self.prefix = next((name[: -len(WORDS)] for name in weights if name.endswith(WORDS)), "")
        self.hidden, self.vocabulary = shape.hidden, shape.vocabulary
        self.most_tokens: int | None = shape.positions - shape.first_position
        self._tensors = {name: _find_tensor(weights, self.prefix + name, size) for name, size in _list_shapes(shape)}

    def list_tensors(self) -> list[StoredTensor]:
        """All tensors that are used."""
        return list(self._tensors.values())

    def is_ignored(self, name: str) -> bool:
        """Whether a tensor of the file is known but not needed."""
        return name.startswith(tuple(self.prefix + ignored for ignored in IGNORED))

    def keep_layers(self, layers: int) -> Bert:
        """The same model up to its first `layers` layers; with 0, the normalised embeddings."""
        if not 0 <= layers <= self.shape.layers:
            raise CheckpointError(
                f"{layers} layers were requested, expected from 0 to {self.shape.layers}, the model's"
            )
        kept = copy(self)
        kept.shape = replace(self.shape, layers=layers)
        kept._tensors = {name: self._tensors[name] for name, _ in _list_shapes(kept.shape)}
        return kept

    def write(self, graph: Graph, ids: str, lengths: str, types: str | None = None) -> str:
        """ids, types (texts, tokens), lengths (texts,) -> states (texts, tokens, hidden); types are 0 if not given."""
        shape, width = self.shape, graph.add_constant(np.array([self.hidden]))
        cube = graph.add_node("Concat", graph.add_node("Shape", ids), width, axis=0)
        x = graph.add_node(
            "Reshape", self._write_embeddings(graph, ids, types), graph.add_constant(np.array([-1, self.hidden]))
        )
        kind, domain = ACTIVATIONS[shape.activation]
        for layer in range(shape.layers):
            at = f"encoder.layer.{layer}."
            query, key, value = (
                graph.add_node("Reshape", self._write_linear(graph, x, f"{at}attention.self.{part}"), cube)
                for part in ("query", "key", "value")
            )
            mixed = graph.add_node(
                "MultiHeadAttention", query, key, value, "", lengths, domain=FUSED, num_heads=shape.heads
            )
            mixed = graph.add_node("Reshape", mixed, graph.add_constant(np.array([-1, self.hidden])))
            x = self._write_norm(
                graph, x, self._write_linear(graph, mixed, f"{at}attention.output.dense"), f"{at}attention.output"
            )
            inner = graph.add_node(kind, self._write_linear(graph, x, f"{at}intermediate.dense"), domain=domain)
            x = self._write_norm(graph, x, self._write_linear(graph, inner, f"{at}output.dense"), f"{at}output")
        return graph.add_node("Reshape", x, cube)

    def _write_embeddings(self, graph: Graph, ids: str, types: str | None) -> str:
        words = graph.add_node("Gather", graph.add_weight(self._tensors[WORDS]), ids)
        length = graph.add_node(
            "Slice", graph.add_node("Shape", ids), *(graph.add_constant(np.array([i])) for i in (1, 2))
        )
        first = graph.add_constant(np.array([self.shape.first_position]))
        positions = graph.add_node(
            "Slice",
            graph.add_weight(self._tensors["embeddings.position_embeddings.weight"]),
            first,
            graph.add_node("Add", first, length),
        )
        kinds = graph.add_weight(self._tensors["embeddings.token_type_embeddings.weight"])
        added = graph.add_node("Gather", kinds, types or graph.add_constant(np.array(0)))
        return self._write_norm(graph, words, graph.add_node("Add", positions, added), "embeddings")

    def _write_linear(self, graph: Graph, x: str, name: str) -> str:
        return graph.add_linear(x, self._tensors[f"{name}.weight"], self._tensors[f"{name}.bias"])

    def _write_norm(self, graph: Graph, x: str, added: str, name: str) -> str:
        scale, shift = (graph.add_weight(self._tensors[f"{name}.LayerNorm.{part}"]) for part in ("weight", "bias"))
        # Not the fused SkipLayerNormalization, which is five times slower on a CPU (onnxruntime 1.31).
        total = graph.add_node("Add", x, added)
        return graph.add_node("LayerNormalization", total, scale, shift, axis=-1, epsilon=self.shape.epsilon)


def _list_shapes(shape: BertShape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The name and shape of every tensor."""
    wide = (shape.hidden,)
    yield WORDS, (shape.vocabulary, shape.hidden)
    yield "embeddings.position_embeddings.weight", (shape.positions, shape.hidden)
    yield "embeddings.token_type_embeddings.weight", (shape.types, shape.hidden)
    norms = ["embeddings"]
    for layer in range(shape.layers):
        at = f"encoder.layer.{layer}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            yield f"{at}{part}.weight", wide * 2
            yield f"{at}{part}.bias", wide
        yield f"{at}intermediate.dense.weight", (shape.inner, shape.hidden)
        yield f"{at}intermediate.dense.bias", (shape.inner,)
        yield f"{at}output.dense.weight", (shape.hidden, shape.inner)
        yield f"{at}output.dense.bias", wide
        norms += [f"{at}attention.output", f"{at}output"]
    for norm in norms:
        yield f"{norm}.LayerNorm.weight", wide
        yield f"{norm}.LayerNorm.bias", wide


def _find_tensor(weights: Weights, name: str, shape: tuple[int, ...]) -> StoredTensor:
    """The tensor of that name, or of its name in the checkpoints of the original BERT."""
    if name not in weights and ".LayerNorm." in name:
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        name = old if old in weights else name
    return weights.find_shaped(name, shape)
