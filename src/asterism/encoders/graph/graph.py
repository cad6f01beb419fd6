"""An ONNX graph under construction: a value is its name, weights stay in the checkpoint's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from ...errors import CheckpointError
from ..checkpoints.weights.tensors import StoredTensor

OPSET = 21
IR_VERSION = 10
FUSED = "com.microsoft"  # onnxruntime's own operators: attention, gelu, quantised products
TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}


class Graph:
    """Nodes, constants and references to stored weights."""

    def __init__(self) -> None:
        """An empty graph."""
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._stored: dict[tuple[Path, int], str] = {}

    def add_input(self, name: str, kind: int, shape: list[str]) -> str:
        """An input with named dimensions."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def add_output(self, name: str, value: str, shape: list[Any]) -> None:
        """Make `value` the float output `name`."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def add_node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """One operator; returns the name of its result."""
        name = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def add_constant(self, values: npt.NDArray[Any]) -> str:
        """A constant that is part of the graph."""
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add_weight(self, tensor: StoredTensor) -> str:
        """A weight that stays in its file, cast to float32 if it is stored as another type."""
        key = (tensor.file, tensor.offset)
        if key not in self._stored:
            if tensor.type not in TYPES:
                raise CheckpointError(f"{tensor.file}: tensor {tensor.name!r} is {tensor.type}, expected floats")
            name = f"w{len(self._stored)}"
            entry = TensorProto(name=name, data_type=TYPES[tensor.type], dims=tensor.shape)
            entry.data_location = TensorProto.EXTERNAL
            # Links (as in the hub's cache) are resolved here, because the runtime refuses files outside one folder.
            for attribute, value in (
                ("location", tensor.file.resolve().name),
                ("offset", tensor.offset),
                ("length", tensor.length),
            ):
                entry.external_data.add(key=attribute, value=str(value))
            self._constants.append(entry)
            if tensor.type != "float32":
                name = self.add_node("Cast", name, to=TensorProto.FLOAT)
            self._stored[key] = name
        return self._stored[key]

    def add_linear(self, x: str, weight: StoredTensor, bias: StoredTensor | None) -> str:
        """(rows, in) -> (rows, out): x·Wᵀ + b for a weight (out, in)."""
        operands = [x, self.add_weight(weight)] + ([self.add_weight(bias)] if bias else [])
        return self.add_node("Gemm", *operands, transB=1)

    def serialise(self) -> bytes:
        """The finished model as bytes."""
        graph = helper.make_graph(self._nodes, "encoder", self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="asterism")
        model.ir_version = IR_VERSION
        return bytes(model.SerializeToString())
