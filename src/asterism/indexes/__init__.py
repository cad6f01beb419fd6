"""Representations in files: built once, memory-mapped, searched."""
