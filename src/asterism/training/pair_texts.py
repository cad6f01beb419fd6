"""The texts of a training set as tokens, and the pairs that are made of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..encoders.checkpoints.checkpoint import Checkpoint
from ..encoders.checkpoints.pair_models import find_markers
from ..encoders.graph.bert import Bert
from ..encoders.pairs import Pair, PairMaker
from ..encoders.tokens import TextRules, TextTokenizer
from ..errors import SettingError
from .backbone import count_frozen_layers
from .settings import PairModelSettings

CHUNK = 4096  # texts that are tokenised at once

Tokens = npt.NDArray[np.int32]


class PairTexts:
    """Queries and passages; a pair is made when it is needed, because there are as many as both numbers' product."""

    def __init__(
        self, checkpoint: Checkpoint, settings: PairModelSettings, queries: Sequence[str], passages: Sequence[str]
    ) -> None:
        """Tokenise all of them."""
        check_pair_backbone(checkpoint, settings)
        tokenizer = checkpoint.tokenizer
        self.markers = find_markers(list(settings.markers), tokenizer) if settings.markers else None
        self.length = settings.length
        self._maker = PairMaker(tokenizer, settings.length, self.markers)
        self._queries, self._passages = (_tokenise(tokenizer, settings.length, texts) for texts in (queries, passages))

    def make_pairs(self, queries: Sequence[int], passages: Sequence[Sequence[int]]) -> list[Pair]:
        """(Q,), Q lists of passages -> the pairs of each query, one query after the other."""
        chosen = [(query, passage) for query, own in zip(queries, passages, strict=True) for passage in own]
        return [
            self._maker.make(number, self._queries[query].tolist(), self._passages[passage].tolist())
            for number, (query, passage) in enumerate(chosen)
        ]


def check_pair_backbone(checkpoint: Checkpoint, settings: PairModelSettings) -> None:
    """Raise if a cross-encoder cannot be made of a backbone."""
    transformer = checkpoint.transformer
    if not isinstance(transformer, Bert):
        raise SettingError(
            f"the backbone {checkpoint.folder} cannot become a cross-encoder, expected a BERT, RoBERTa or XLM-RoBERTa"
        )
    if transformer.most_tokens is not None and settings.length > transformer.most_tokens:
        raise SettingError(
            f"length is {settings.length}, expected at most {transformer.most_tokens}, as the model reads"
        )
    missing = [token for token in settings.markers if checkpoint.tokenizer.find_id(token) is None]
    if missing:
        raise SettingError(
            f"{checkpoint.tokenizer.file} has no token {missing[0]!r}, expected all three of model.markers: "
            "set it to three tokens that texts do not have"
        )
    count_frozen_layers(checkpoint, settings)


def _tokenise(tokenizer: TextTokenizer, length: int, texts: Sequence[str]) -> list[Tokens]:
    """The tokens of each text. Those beyond the length of a pair are in none, whatever the other text is."""
    found: list[Tokens] = []
    for start in range(0, len(texts), CHUNK):
        encoded = tokenizer.encode(texts[start : start + CHUNK], TextRules(length))
        found += [np.array(one.ids[:length], np.int32) for one in encoded]
    return found
