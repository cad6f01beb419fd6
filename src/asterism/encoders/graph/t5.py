"""The encoder of T5 and mT5: relative positions, an RMS norm before each part, no biases, unscaled attention."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import CheckpointError
from ..checkpoints.settings import LARGEST_NUMBER, read_sizes, read_small_number, read_whole
from ..checkpoints.size_limits import FARTHEST, MOST_BUCKETS, MOST_HEADS, MOST_LAYERS, WIDEST, WIDEST_HEAD, WIDEST_INNER
from ..checkpoints.weights.tensors import StoredTensor, Weights
from .graph import FUSED, Graph

SIZES = {
    "layers": ("num_layers", MOST_LAYERS),
    "hidden": ("d_model", WIDEST),
    "heads": ("num_heads", MOST_HEADS),
    "head": ("d_kv", WIDEST_HEAD),
    "inner": ("d_ff", WIDEST_INNER),
    "vocabulary": ("vocab_size", LARGEST_NUMBER),
}
FIRST = "encoder.block.0.layer.0.SelfAttention."
IGNORED = ("decoder.", "lm_head.", "encoder.embed_tokens.")
FEED_FORWARDS = {"relu": ("Relu", "", False), "gated-gelu": ("FastGelu", FUSED, True)}


@dataclass(frozen=True)
class T5Shape:
    """Sizes from config.json."""

    layers: int
    hidden: int
    heads: int
    head: int
    inner: int
    vocabulary: int
    buckets: int
    farthest: int
    feed_forward: str
    epsilon: float

    @classmethod
    def from_config(cls, config: Mapping[str, Any], file: Path) -> T5Shape:
        """From a config.json, with the names that transformers uses."""
        buckets = read_whole(config, "relative_attention_num_buckets", file, 32, least=4, most=MOST_BUCKETS)
        return cls(
            **read_sizes(config, SIZES, file),
            buckets=buckets,
            # A quarter of the buckets stands for single distances; the others need larger distances.
            farthest=read_whole(
                config, "relative_attention_max_distance", file, 128, least=buckets // 4 + 1, most=FARTHEST
            ),
            feed_forward=str(config.get("feed_forward_proj", "relu")),
            epsilon=read_small_number(config, "layer_norm_epsilon", file, 1e-6),
        )


class T5:
    """Token ids to states, as nodes of a graph."""

    most_tokens: int | None = None  # positions are relative: any length

    def __init__(self, config: Mapping[str, Any], weights: Weights, file: Path) -> None:
        """Find every tensor and check its shape and its values; `file` is what `config` was read from."""
        self.shape = shape = T5Shape.from_config(config, file)
        if shape.feed_forward not in FEED_FORWARDS:
            raise CheckpointError(
                f"{file} has feed_forward_proj {shape.feed_forward!r}, expected one of {', '.join(FEED_FORWARDS)}"
            )
        self.hidden, self.vocabulary = shape.hidden, shape.vocabulary
        self._words = "shared.weight" if "shared.weight" in weights else "encoder.embed_tokens.weight"
        self._tensors = {self._words: weights.find_shaped(self._words, (shape.vocabulary, shape.hidden))}
        self._tensors |= {name: weights.find_shaped(name, size) for name, size in _list_shapes(shape)}

    def list_tensors(self) -> list[StoredTensor]:
        """All tensors that are used."""
        return list(self._tensors.values())

    def is_ignored(self, name: str) -> bool:
        """Whether a tensor of the file is known but not needed."""
        return name.startswith(IGNORED)

    def write(self, graph: Graph, ids: str, lengths: str, types: str | None = None) -> str:
        """ids (texts, tokens), lengths (texts,) -> states (texts, tokens, hidden); T5 has no token types."""
        shape, inner = self.shape, self.shape.heads * self.shape.head
        size = graph.add_node("Shape", ids)
        cube, whole = (
            graph.add_node("Concat", size, graph.add_constant(np.array([width])), axis=0)
            for width in (inner, self.hidden)
        )
        flat = graph.add_constant(np.array([-1, self.hidden]))
        x = graph.add_node("Reshape", graph.add_node("Gather", graph.add_weight(self._tensors[self._words]), ids), flat)
        bias = self._write_position_bias(graph, ids)
        kind, domain, gated = FEED_FORWARDS[shape.feed_forward]
        for layer in range(shape.layers):
            at = f"encoder.block.{layer}.layer."
            seen = self._write_norm(graph, x, f"{at}0.layer_norm")
            query, key, value = (
                graph.add_node("Reshape", self._write_linear(graph, seen, f"{at}0.SelfAttention.{part}"), cube)
                for part in "qkv"
            )
            mixed = graph.add_node(
                "MultiHeadAttention", query, key, value, "", lengths, bias,
                domain=FUSED, num_heads=shape.heads, scale=1.0,
            )  # fmt: skip
            mixed = graph.add_node("Reshape", mixed, graph.add_constant(np.array([-1, inner])))
            x = graph.add_node("Add", x, self._write_linear(graph, mixed, f"{at}0.SelfAttention.o"))
            seen, at = self._write_norm(graph, x, f"{at}1.layer_norm"), f"{at}1.DenseReluDense."
            grown = graph.add_node(
                kind, self._write_linear(graph, seen, f"{at}{'wi_0' if gated else 'wi'}"), domain=domain
            )
            if gated:
                grown = graph.add_node("Mul", grown, self._write_linear(graph, seen, f"{at}wi_1"))
            x = graph.add_node("Add", x, self._write_linear(graph, grown, f"{at}wo"))
        return graph.add_node("Reshape", self._write_norm(graph, x, "encoder.final_layer_norm"), whole)

    def _write_position_bias(self, graph: Graph, ids: str) -> str:
        """(1, heads, tokens, tokens); distances are clipped to `farthest`, beyond which the bucket is the same."""
        far = self.shape.farthest
        table = self._tensors[f"{FIRST}relative_attention_bias.weight"].read()
        rows = graph.add_constant(table[find_buckets(np.arange(-far, far + 1), self.shape.buckets, far)])
        length = graph.add_node(
            "Squeeze",
            graph.add_node("Slice", graph.add_node("Shape", ids), *(graph.add_constant(np.array([i])) for i in (1, 2))),
        )
        zero, one = graph.add_constant(np.array(0)), graph.add_constant(np.array(1))
        places = graph.add_node("Range", zero, length, one)
        across = graph.add_node("Unsqueeze", places, graph.add_constant(np.array([0])))
        down = graph.add_node("Unsqueeze", places, graph.add_constant(np.array([1])))
        distance = graph.add_node(
            "Clip", graph.add_node("Sub", across, down), *(graph.add_constant(np.array(d)) for d in (-far, far))
        )
        bias = graph.add_node("Gather", rows, graph.add_node("Add", distance, graph.add_constant(np.array(far))))
        return graph.add_node(
            "Unsqueeze", graph.add_node("Transpose", bias, perm=[2, 0, 1]), graph.add_constant(np.array([0]))
        )

    def _write_linear(self, graph: Graph, x: str, name: str) -> str:
        return graph.add_linear(x, self._tensors[f"{name}.weight"], None)

    def _write_norm(self, graph: Graph, x: str, name: str) -> str:
        scale = graph.add_weight(self._tensors[f"{name}.weight"])
        return graph.add_node("SimplifiedLayerNormalization", x, scale, axis=-1, epsilon=self.shape.epsilon)


def find_buckets(distance: npt.NDArray[np.int64], count: int, farthest: int) -> npt.NDArray[np.int64]:
    """key place - query place -> bucket: half for each sign; small distances exact, others logarithmic (T5, 2.1)."""
    half = count // 2
    exact = half // 2
    size = np.abs(distance)
    # In float32, as in training: at a power of two the rounding decides the bucket.
    scaled = np.log(np.maximum(size, 1).astype(np.float32) / np.float32(exact)) / np.float32(math.log(farthest / exact))
    far = exact + (scaled.astype(np.float32) * np.float32(half - exact)).astype(np.int64)
    return np.where(distance > 0, half, 0) + np.where(size < exact, size, np.minimum(far, half - 1))


def _list_shapes(shape: T5Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The name and shape of every tensor except the word embeddings."""
    inner = shape.heads * shape.head
    yield f"{FIRST}relative_attention_bias.weight", (shape.buckets, shape.heads)
    for layer in range(shape.layers):
        at = f"encoder.block.{layer}.layer."
        for part in "qkv":
            yield f"{at}0.SelfAttention.{part}.weight", (inner, shape.hidden)
        yield f"{at}0.SelfAttention.o.weight", (shape.hidden, inner)
        for part in ("wi_0", "wi_1") if shape.feed_forward == "gated-gelu" else ("wi",):
            yield f"{at}1.DenseReluDense.{part}.weight", (shape.inner, shape.hidden)
        yield f"{at}1.DenseReluDense.wo.weight", (shape.hidden, shape.inner)
        yield f"{at}0.layer_norm.weight", (shape.hidden,)
        yield f"{at}1.layer_norm.weight", (shape.hidden,)
    yield "encoder.final_layer_norm.weight", (shape.hidden,)
