"""Weighted terms: inverted lists, BM25."""
