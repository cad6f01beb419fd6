"""What runs a transformer: onnxruntime, or torch."""
