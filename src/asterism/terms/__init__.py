"""The words of a text, counted for BM25."""
