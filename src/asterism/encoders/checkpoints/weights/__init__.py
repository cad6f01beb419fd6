"""Weight files: safetensors and torch, read without torch."""
