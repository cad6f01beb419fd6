"""The words and tokens of a text, counted for BM25."""
