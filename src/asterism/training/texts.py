"""The texts of a training set as rows of tokens, and the vectors that a model gives them."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ..encoders.assembling import Side
from ..encoders.checkpoints.checkpoint import Checkpoint
from ..encoders.checkpoints.tokenizers.files import find_filler_id, find_skipped_ids, find_special_token
from ..encoders.lower_states import LowerStates, open_lower_states
from ..encoders.tokens import Row, TextRules, tokenise
from ..errors import CheckpointError, SettingError
from ..representations import TokenVectors
from .backbone import count_frozen_layers
from .model import LateInteractionModel
from .settings import ModelSettings

TextSide = Literal["query", "passage"]

CHUNK = 4096  # texts that are tokenised at once
AT_ONCE = 256  # texts that are encoded at once


@dataclass(frozen=True)
class Rules:
    """The token rules of both sides. A trained model reads long texts in windows, unless their length is fixed."""

    query: TextRules
    document: TextRules

    @classmethod
    def from_settings(cls, checkpoint: Checkpoint, settings: ModelSettings) -> Rules:
        """The rules for a backbone."""
        tokenizer, folder, most = checkpoint.tokenizer, checkpoint.folder, checkpoint.transformer.most_tokens
        for name in ("query_length", "document_length"):
            if most is not None and getattr(settings, name) > most:
                raise SettingError(f"{name} is {getattr(settings, name)}, expected at most {most}, as the model reads")

        def find_marker(token: str, side: str) -> int | None:
            try:
                return tokenizer.require_id(token, f"the {side} marker") if token else None
            except CheckpointError as error:
                raise SettingError(str(error)) from error

        expanded, pooled = settings.expand_queries, settings.vectors_per_document > 0
        query = TextRules(
            length=settings.query_length,
            marker=find_marker(settings.query_marker, "query"),
            expand_to=settings.query_length if expanded else 0,
            filler=find_filler_id(folder, tokenizer) if expanded else 0,
            windows=not expanded,
        )
        padding = find_special_token(folder, "pad_token") or "[PAD]"
        document = TextRules(
            length=settings.document_length,
            marker=find_marker(settings.document_marker, "document"),
            expand_to=settings.document_length if pooled else 0,
            filler=tokenizer.require_id(padding, "padding") if pooled else 0,
            skipped=find_skipped_ids(tokenizer, list(string.punctuation))
            if settings.skip_punctuation and not pooled
            else frozenset(),
            windows=not pooled,
        )
        return cls(query, document)


class TrainingTexts:
    """Queries and passages, each as one row; the states of frozen layers, if there are any."""

    def __init__(
        self, checkpoint: Checkpoint, settings: ModelSettings, queries: Sequence[str], passages: Sequence[str]
    ) -> None:
        """Tokenise all of them."""
        self.rules = Rules.from_settings(checkpoint, settings)
        self._checkpoint, self._settings = checkpoint, settings
        self._rows = [*_tokenise(checkpoint, self.rules.query, queries)]
        self._queries = len(self._rows)
        self._rows += _tokenise(checkpoint, self.rules.document, passages)
        self._query_side = self._make_side(self.rules.query, False)
        self._document_side = self._make_side(self.rules.document, settings.vectors_per_document > 0)
        self._states: LowerStates | None = None

    def freeze(self, cache: Path, threads: int = 0, progress: Callable[[int], None] | None = None) -> None:
        """Compute what the layers below the trained ones make of all rows, or find it in the cache."""
        if self._settings.train_layers:
            layers = count_frozen_layers(self._checkpoint, self._settings)
            self._states = open_lower_states(
                cache, self._checkpoint, layers, self._rows, threads=threads, progress=progress
            )

    def count_passages(self) -> int:
        """All passages of the set."""
        return len(self._rows) - self._queries

    def encode_queries(self, model: LateInteractionModel, numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        """(b,) -> vectors (b, n, d) and which places have one (b, n)."""
        return self._encode(model, numbers, self._query_side)

    def encode_passages(self, model: LateInteractionModel, numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        """(b,) -> vectors (b, m, d) and which places have one (b, m)."""
        return self._encode(model, [self._queries + number for number in numbers], self._document_side)

    def represent(self, model: LateInteractionModel, numbers: Sequence[int], side: TextSide) -> TokenVectors:
        """(b,) -> the vectors of the texts, without gradients, as float16 to save memory."""
        model.eval()
        encode = self.encode_queries if side == "query" else self.encode_passages
        flat, counts = [], []
        with torch.inference_mode():
            for start in range(0, len(numbers), AT_ONCE):
                vectors, mask = encode(model, numbers[start : start + AT_ONCE])
                flat.append(vectors[mask].cpu().numpy().astype(np.float16))
                counts.append(mask.sum(dim=1).cpu().numpy())
        return TokenVectors(np.concatenate(flat), np.concatenate([[0], np.cumsum(np.concatenate(counts))]))

    def _encode(self, model: LateInteractionModel, numbers: Sequence[int], side: Side) -> tuple[Tensor, Tensor]:
        return model.encode([self._rows[number] for number in numbers], numbers, side, self._states)

    def _make_side(self, rules: TextRules, constant: bool) -> Side:
        skipped = np.zeros(self._checkpoint.transformer.vocabulary, bool)
        skipped[list(rules.skipped)] = True
        return Side(rules, skipped, np.zeros_like(skipped), constant, None, "cls", {})


def _tokenise(checkpoint: Checkpoint, rules: TextRules, texts: Sequence[str]) -> list[Row]:
    """One row for each text: in training, the rest of a long one is cut."""
    cut, rows = replace(rules, windows=False), list[Row]()
    for start in range(0, len(texts), CHUNK):
        rows += tokenise(checkpoint.tokenizer, cut, texts[start : start + CHUNK], first=start).rows
    return rows
