"""Checkpoints on disk, in every published layout, read into one value."""
