"""Weights from an ONNX export of a BERT: by the name of the initialiser, matrices by the node that uses them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import save_file

from ..errors import DownloadError


def extract_weights(export: Path, to: Path) -> None:
    """Write the float32 weights of `export` as a safetensors file, under the names of the original checkpoint.

    Exporters keep the names of vectors and tables; matrices are transposed and renamed, but the name of the node, such
    as /encoder/layer.0/output/dense/MatMul, still has the original name.
    """
    try:
        graph = onnx.load(str(export)).graph
    except Exception as error:  # protobuf's errors
        raise DownloadError(f"{export.name} is not an ONNX model: {error}") from error
    values = {entry.name: numpy_helper.to_array(entry) for entry in graph.initializer}
    weights = {name: value for name, value in values.items() if name.startswith(("embeddings.", "encoder."))}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in values:
            name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".") + ".weight"
            weights[name] = np.ascontiguousarray(values[node.input[1]].T)
    save_file(weights, str(to))
