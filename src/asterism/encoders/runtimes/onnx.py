"""A checkpoint on onnxruntime: its graph, written once and cached by content, and the session that runs it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto

from ...errors import CheckpointError, EncodingError
from ...files.regular_files import read_regular
from ...files.whole_files import write_whole_file
from ...models.file_hashes import find_cache_folder, find_hashes
from ...settings import Precision, count_threads
from ..batching import Batch
from ..checkpoints.checkpoint import Checkpoint, Transformer
from ..checkpoints.weights.tensors import StoredTensor
from ..graph.graph import Graph
from ..graph.heads import write_layers
from ..graph.quantise import Int8Graph, MeasuringGraph, make_calibration_ids
from ..tokens import TextTokenizer
from .backbone import Floats, Output

LONG_ROW = 1024  # tokens
LARGEST_GRAPH = 1 << 31  # bytes, the limit of protobuf
GRAPH_VERSION = 5  # part of every cache key: increase it when the nodes change


class OnnxSession:
    """Runs one graph whose weights are in files of `folder`."""

    def __init__(self, model: bytes, folder: Path, threads: int, keep_weights_in_place: bool = False) -> None:
        """Map the weights from their files; they are copied to a faster layout unless they stay in place."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # shapes differ from batch to batch
        options.log_severity_level = 3
        options.add_session_config_entry("session.disable_prepacking", str(int(keep_weights_in_place)))
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the library's errors have no other common base class
            raise CheckpointError(f"{folder}: onnxruntime cannot load the model: {error}") from error

    def run(self, outputs: Sequence[str], inputs: dict[str, Any]) -> dict[str, Floats]:
        """Run the graph; returns the outputs by name."""
        wanted = {entry.name for entry in self._session.get_inputs()}
        given = {name: value for name, value in inputs.items() if name in wanted}
        try:
            found = self._session.run(list(outputs), given)
        except Exception as error:  # the library's errors have no other common base class
            shape = inputs["ids"].shape
            raise EncodingError(
                f"onnxruntime failed on {shape[0]} texts of {shape[1]} tokens: {error}. If memory is short, "
                "use a smaller document_length or batch_tokens"
            ) from error
        return dict(zip(outputs, found, strict=True))


class SessionPair:
    """A model whose attention is masked, and the same without a mask, for long rows.

    Masked attention keeps all similarities of a row, tokens² numbers per head: gigabytes at 8,192 tokens. Long rows
    have no padding, and without a mask onnxruntime's attention works in blocks.
    """

    def __init__(self, open_session: Callable[[bool], OnnxSession]) -> None:
        """`open_session` opens the masked model if given True; the other one is opened at the first long row."""
        self._open_session = open_session
        self._masked = open_session(True)
        self._unmasked: OnnxSession | None = None

    def run(self, outputs: Sequence[str], batch: Batch, **more: Any) -> dict[str, Floats]:
        """Run a batch, with `more` inputs; returns the outputs by name."""
        session = self._masked
        if batch.ids.shape[1] >= LONG_ROW and batch.seen.all():
            if self._unmasked is None:
                self._unmasked = self._open_session(False)
            session = self._unmasked
        return session.run(outputs, {"ids": batch.ids, "lengths": batch.lengths, **more})


def load_or_write_graph(parts: Sequence[str], write: Callable[[], bytes]) -> bytes:
    """The graph that `parts` identify, from the cache; else write it and put it there."""
    key = hashlib.sha256("\n".join([f"graph {GRAPH_VERSION}", onnxruntime.__version__, *parts]).encode()).hexdigest()
    file = find_cache_folder() / "graphs" / f"{key}.graph"
    with suppress(OSError):
        content = read_regular(file, LARGEST_GRAPH)
        if content[:64] == hashlib.sha256(content[64:]).hexdigest().encode():
            return content[64:]
    model = write()
    with suppress(OSError):  # a read-only home folder works too, only slower
        write_whole_file(file, hashlib.sha256(model).hexdigest().encode() + model)
    return model


def write_model(
    write: Callable[[Graph], None],
    precision: Precision,
    tokenizer: TextTokenizer,
    transformer: Transformer,
    folder: Path,
) -> bytes:
    """The model that `write` writes into a graph, at a given precision."""
    if precision == "float32":
        graph = Graph()
        write(graph)
        return graph.serialise()
    measuring = MeasuringGraph()
    write(measuring)
    ids = make_calibration_ids(tokenizer, transformer.most_tokens)
    rows, tokens = ids.shape
    inputs = {"ids": ids, "lengths": np.full(rows, tokens, np.int32), "types": ids * 0}
    inputs["pool"] = np.zeros((rows, 1, tokens), np.float32)
    measured = OnnxSession(measuring.serialise(), folder, count_threads(0)).run(measuring.ranges, inputs)
    if not all(np.isfinite(values).all() for values in measured.values()):
        raise CheckpointError(
            f"{folder}: the states of plain English text are infinite, expected weights of a trained model"
        )
    quantised = Int8Graph(measuring.compute_smoothings(measured))
    write(quantised)
    return quantised.serialise()


class OnnxBackbone:
    """A checkpoint's transformer and its token-wise heads, in one graph."""

    def __init__(self, checkpoint: Checkpoint, precision: Precision, threads: int) -> None:
        """Write the graph, or load it from the cache."""
        self._sessions = SessionPair(partial(_open_views, checkpoint, precision, threads))

    def run(self, wanted: Sequence[Output], batch: Batch, pool: Floats) -> dict[str, Floats]:
        """One forward pass."""
        found = self._sessions.run(wanted, batch, pool=pool[:, None, :])
        return found | ({"pooled": found["pooled"][:, 0]} if "pooled" in found else {})


def _open_views(checkpoint: Checkpoint, precision: Precision, threads: int, masked: bool) -> OnnxSession:
    folder = find_weights_folder(checkpoint.transformer.list_tensors(), checkpoint.folder)
    model = load_or_write_graph(
        [
            "masked" if masked else "unmasked",
            precision,
            *(checkpoint.family, *checkpoint.views),  # the same files can be read as more than one layout
            *identify_files(checkpoint.files),
        ],
        lambda: write_model(
            lambda graph: _write_views(graph, checkpoint, masked),
            precision,
            checkpoint.tokenizer,
            checkpoint.transformer,
            folder,
        ),
    )
    return OnnxSession(model, folder, threads, keep_weights_in_place=not masked)


def _write_views(graph: Graph, checkpoint: Checkpoint, masked: bool) -> None:
    """Inputs, transformer, heads, outputs."""
    states = write_states(graph, checkpoint.transformer, masked=masked)
    if checkpoint.dense:
        write_pooling(graph, states, checkpoint.transformer.hidden)
    if checkpoint.lexical:
        weights = graph.add_node(
            "Squeeze", checkpoint.lexical.layer.write(graph, states), graph.add_constant(np.array([2]))
        )
        graph.add_output("lexical", weights, ["rows", "tokens"])
    if checkpoint.multi:
        graph.add_output("vectors", write_layers(checkpoint.multi.layers, graph, states), ["rows", "tokens", None])
        if checkpoint.multi.pooling:
            graph.add_output("states", states, ["rows", "tokens", checkpoint.transformer.hidden])


def write_states(graph: Graph, transformer: Transformer, *, masked: bool = True, with_types: bool = False) -> str:
    """States (rows, tokens, hidden) from the inputs ids, lengths (if masked) and types (for pairs)."""
    ids = graph.add_input("ids", TensorProto.INT64, ["rows", "tokens"])
    lengths = graph.add_input("lengths", TensorProto.INT32, ["rows"]) if masked else ""
    types = graph.add_input("types", TensorProto.INT64, ["rows", "tokens"]) if with_types else None
    return transformer.write(graph, ids, lengths, types)


def write_pooling(graph: Graph, states: str, hidden: int) -> None:
    """The output pooled (rows, sides, hidden): sums of the states, weighted by the input pool (rows, sides, tokens)."""
    pool = graph.add_input("pool", TensorProto.FLOAT, ["rows", "sides", "tokens"])
    graph.add_output("pooled", graph.add_node("MatMul", pool, states), ["rows", "sides", hidden])


def identify_files(files: Sequence[Path]) -> list[str]:
    """What identifies a graph: the names and hashes of its model's files."""
    # The resolved name too: the graph refers to it, and a link has another name.
    return sorted(f"{file.name} {file.resolve().name} {digest}" for file, digest in find_hashes(files).items())


def find_weights_folder(tensors: Sequence[StoredTensor], folder: Path) -> Path:
    """The one folder that holds the weights, with links resolved."""
    folders = {tensor.file.resolve().parent for tensor in tensors}
    if len(folders) > 1:
        raise CheckpointError(f"{folder}: the weights are in {len(folders)} folders, expected one")
    return folders.pop() if folders else folder
