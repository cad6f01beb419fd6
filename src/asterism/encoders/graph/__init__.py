"""Transformers and heads, written as an ONNX graph."""
