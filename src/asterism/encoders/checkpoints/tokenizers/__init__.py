"""Tokenizer files: limits, then loading."""
