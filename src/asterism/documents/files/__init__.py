"""From the bytes of one file to passages: formats, encodings and chunks."""
