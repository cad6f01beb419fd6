"""Transformers and heads, written into an ONNX graph."""
