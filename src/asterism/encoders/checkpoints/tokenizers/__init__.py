"""Tokenizer files: checked against limits, then loaded."""
