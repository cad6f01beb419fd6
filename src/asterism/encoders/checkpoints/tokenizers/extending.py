"""A folder's tokenizer with more special tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tokenizers import AddedToken

from ....errors import CheckpointError
from .loading import open_tokenizer, translate_library_errors


def extend_tokenizer(folder: Path, tokens: Sequence[str]) -> str:
    """The content of a tokenizer.json with `tokens` as special tokens.

    A token of the vocabulary keeps its id; the others get the ids after the vocabulary, in order.
    """
    file, tokenizer = open_tokenizer(folder)
    with translate_library_errors(lambda error: CheckpointError(f"{file} cannot be extended by {tokens}: {error}")):
        tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in tokens])
        return str(tokenizer.to_str(pretty=True))
