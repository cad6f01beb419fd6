"""colbert-ir/colbertv2.0: BERT and `linear.weight`, settings in artifact.metadata.

[CLS] [Q] query [SEP] filled up with [MASK] to 32 tokens, all of which count; [CLS] [D] document [SEP], of which
punctuation has no vector. Every vector at unit length.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....files.checkpoint_files import is_there
from ...graph.heads import Linear, MultiVectorHead, UnitLength
from ...tokens import TextRules, TextTokenizer
from ..checkpoint import Checkpoint, Transformer, open_transformer, refuse_unknown
from ..settings import read_json, read_whole
from ..tokenizers.files import find_filler_id, find_skipped_ids, list_files
from ..weights.files import open_weights
from ..weights.tensors import Weights

FAMILY = "colbert"
FILES = "config.json, model.safetensors or pytorch_model.bin with linear.weight, tokenizer.json, artifact.metadata"
METADATA = "artifact.metadata"


def recognises(folder: Path) -> bool:
    """By the metadata that ColBERT itself writes."""
    return is_there(folder / METADATA)


def read(folder: Path) -> Checkpoint:
    """Lengths, markers and the punctuation rule as the metadata says."""
    weights = open_weights(folder)
    transformer = open_transformer(folder, weights)
    projection = read_projection(weights, transformer)
    refuse_unknown(weights, transformer, ("linear.weight",))
    tokenizer = TextTokenizer(folder)
    settings = read_json(folder / METADATA)
    return Checkpoint(
        family=FAMILY,
        folder=folder,
        transformer=transformer,
        tokenizer=tokenizer,
        files=list_files(folder, tokenizer, weights, folder / METADATA),
        document=TextRules(
            length=read_whole(settings, "doc_maxlen", folder / METADATA, 220),
            marker=tokenizer.require_id(str(settings.get("doc_token_id", "[unused1]")), "the documents' marker"),
            skipped=find_punctuation(tokenizer) if settings.get("mask_punctuation", True) else frozenset(),
        ),
        query=read_query_rules(folder, tokenizer, settings),
        multi=MultiVectorHead((projection, UnitLength())),
    )


def read_projection(weights: Weights, transformer: Transformer) -> Linear:
    """`linear.weight` (dim, hidden), without bias."""
    return Linear(weights.read_matrix("linear.weight", transformer.hidden))


def read_query_rules(folder: Path, tokenizer: TextTokenizer, settings: Mapping[str, Any]) -> TextRules:
    """The marker, and [MASK] up to the length."""
    length = read_whole(settings, "query_maxlen", folder / METADATA, 32)
    return TextRules(
        length=length,
        marker=tokenizer.require_id(str(settings.get("query_token_id", "[unused0]")), "the queries' marker"),
        expand_to=length,
        filler=find_filler_id(folder, tokenizer),
        attend=bool(settings.get("attend_to_mask_tokens", False)),
        windows=False,
    )


def find_punctuation(tokenizer: TextTokenizer) -> frozenset[int]:
    """The ids of ASCII punctuation."""
    return find_skipped_ids(tokenizer, list(string.punctuation))
