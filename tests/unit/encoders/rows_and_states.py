"""Rows of texts, and their lower states in a cache."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from asterism.encoders.checkpoints.checkpoint import Checkpoint
from asterism.encoders.lower_states import LowerStates, open_lower_states
from asterism.encoders.tokens import Row, tokenise


def make_rows(checkpoint: Checkpoint, texts: list[str], side: str = "document") -> list[Row]:
    rules = replace(getattr(checkpoint, side), windows=False)
    return tokenise(checkpoint.tokenizer, rules, texts).rows


def open_states(cache: Path, checkpoint: Checkpoint, layers: int, rows: list[Row], **more: Any) -> LowerStates:
    return open_lower_states(cache, checkpoint, layers, rows, threads=1, **more)


def find_folders(cache: Path) -> list[Path]:
    return sorted(path for path in cache.iterdir() if path.name != "lock")
