"""Weight files, safetensors and torch's, read without torch."""
