"""How much memory a vocabulary may need once it is loaded.

A Unigram model keeps its pieces in a tree, with one node of 340 bytes per byte, and frees it recursively: a piece of a
million letters crashes the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import CheckpointError
from ..settings import shorten

LONGEST_PIECE = 256  # bytes; SentencePiece makes at most 64
MOST_NODES = 2_000_000  # of the tree; XLM-R's 250,000 pieces have 2.6 million bytes, but share prefixes
FREE_NODES, NODES_OF_A_PIECE = 200_000, 10  # for fewer pieces; those of XLM-R have 10 bytes on average
MOST_ADDED = 1_000_000  # characters of all added tokens, which one automaton searches for


def check_vocabulary(content: Mapping[str, Any], file: Path) -> None:
    """Check the pieces of the model and the added tokens of a tokenizer.json."""
    model = content["model"]
    if model.get("type") == "Unigram" or isinstance(model.get("vocab"), list):
        _check_pieces(model.get("vocab"), file)
    added = content.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(token, dict) for token in added):
        raise CheckpointError(f"{file}: added_tokens is {shorten(added)}, expected a list of tokens")
    size = sum(len(str(token.get("content"))) for token in added)
    if size > MOST_ADDED:
        raise CheckpointError(f"{file} has {size} characters of added tokens, expected at most {MOST_ADDED}")


def _check_pieces(vocabulary: Any, file: Path) -> None:
    if not isinstance(vocabulary, list) or not all(
        isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) for entry in vocabulary
    ):
        raise CheckpointError(f"{file}: vocab is {shorten(vocabulary)}, expected a list of pieces and their scores")
    pieces = [entry[0].encode("utf-8", "replace") for entry in vocabulary]
    longest = max(map(len, pieces), default=0)
    if longest > LONGEST_PIECE:
        raise CheckpointError(f"{file} has a piece of {longest} bytes, expected at most {LONGEST_PIECE}")
    most = min(MOST_NODES, FREE_NODES + NODES_OF_A_PIECE * len(pieces))
    if sum(map(len, pieces)) > most and (nodes := _count_prefixes(pieces, longest)) > most:
        raise CheckpointError(f"{file} has pieces with {nodes} different prefixes, expected at most {most}")


def _count_prefixes(pieces: list[bytes], longest: int) -> int:
    """The number of different prefixes: in sorted order, each piece adds those that the one before does not have."""
    ordered = np.sort(np.array(pieces, f"S{longest}"))
    letters = ordered.view(np.uint8).reshape(len(pieces), longest)
    shared = np.logical_and.accumulate((letters[1:] == letters[:-1]) & (letters[1:] != 0), axis=1).sum()
    return int(np.count_nonzero(letters) - shared)
