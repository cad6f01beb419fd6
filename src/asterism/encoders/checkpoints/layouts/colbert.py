"""colbert-ir/colbertv2.0: BERT and `linear.weight`, settings in artifact.metadata.

A query is [CLS] [Q] query [SEP], filled up with [MASK] to 32 tokens, which all have a vector; a document is [CLS] [D]
document [SEP], in which punctuation has no vector. Vectors have unit length.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ....files.checkpoint_files import is_there
from ...graph.heads import ConstantPooling, Linear, MultiVectorHead, UnitLength
from ...tokens import TextRules, TextTokenizer
from ..checkpoint import Checkpoint, Transformer, open_transformer, refuse_unknown
from ..settings import read_json, read_whole
from ..tokenizers.files import find_filler_id, find_skipped_ids, list_model_files
from ..weights.files import open_weights
from ..weights.tensors import Weights

FAMILY = "colbert"
FILES = "config.json, model.safetensors or pytorch_model.bin with linear.weight, tokenizer.json, artifact.metadata"
METADATA = "artifact.metadata"


def recognises(folder: Path) -> bool:
    """By the metadata that ColBERT itself writes."""
    return is_there(folder / METADATA)


def read(folder: Path) -> Checkpoint:
    """Lengths, markers and the punctuation rule come from the metadata."""
    parts = open_parts(folder, ("linear.weight",))
    document = TextRules(
        length=read_whole(parts.settings, "doc_maxlen", folder / METADATA, 220),
        skipped=find_punctuation(parts.tokenizer) if parts.settings.get("mask_punctuation", True) else frozenset(),
    )
    return make_checkpoint(FAMILY, parts, document)


@dataclass(frozen=True)
class ColbertParts:
    """A folder that ColBERT wrote. `projection` is `linear.weight` (dim, hidden), without bias."""

    folder: Path
    weights: Weights
    transformer: Transformer
    projection: Linear
    tokenizer: TextTokenizer
    settings: Mapping[str, Any]


def open_parts(folder: Path, known: Sequence[str]) -> ColbertParts:
    """`known` names the tensors that are not the transformer's."""
    weights = open_weights(folder)
    transformer = open_transformer(folder, weights)
    projection = Linear(weights.read_matrix("linear.weight", transformer.hidden))
    refuse_unknown(weights, transformer, known)
    return ColbertParts(folder, weights, transformer, projection, TextTokenizer(folder), read_json(folder / METADATA))


def make_checkpoint(
    family: str, parts: ColbertParts, document: TextRules, pooling: ConstantPooling | None = None
) -> Checkpoint:
    """`document` has no marker yet: the metadata names it."""
    folder, tokenizer, settings = parts.folder, parts.tokenizer, parts.settings
    marker = tokenizer.require_id(str(settings.get("doc_token_id", "[unused1]")), "the documents' marker")
    return Checkpoint(
        family=family,
        folder=folder,
        transformer=parts.transformer,
        tokenizer=tokenizer,
        files=list_model_files(folder, tokenizer, parts.weights, folder / METADATA),
        document=replace(document, marker=marker),
        query=read_query_rules(folder, tokenizer, settings),
        multi=MultiVectorHead((parts.projection, UnitLength()), pooling),
    )


def read_query_rules(folder: Path, tokenizer: TextTokenizer, settings: Mapping[str, Any]) -> TextRules:
    """A marker, and [MASK] up to the length."""
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
