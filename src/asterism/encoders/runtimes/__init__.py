"""The runtimes of a transformer: onnxruntime and torch."""
