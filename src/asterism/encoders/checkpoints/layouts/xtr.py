"""google/xtr-base-en: the encoder of a T5, and 2_Dense with 128 dimensions and no bias.

Text is converted to lower case; every token has a vector, including the end token, at unit length.
"""

from __future__ import annotations

from pathlib import Path

from ...graph.heads import MultiVectorHead, UnitLength
from ...graph.t5 import T5
from ...tokens import TextRules, TextTokenizer
from ..checkpoint import TRANSFORMERS, Checkpoint, open_transformer, refuse_unknown
from ..settings import read_optional_json, read_whole
from ..tokenizers.files import list_model_files
from ..weights.files import open_weights
from .modules import Module, list_module_files, read_dense_layer

FAMILY = "xtr"
FILES = "config.json of a T5, model.safetensors or pytorch_model.bin, tokenizer.json, 2_Dense without bias"
LENGTH = 512


def recognises(folder: Path) -> bool:
    """A T5 and 2_Dense without bias, to at most a quarter of the width: sentence T5 models keep nearly all of it."""
    kind = TRANSFORMERS.get(str(read_optional_json(folder / "config.json").get("model_type")))
    file = folder / "2_Dense" / "config.json"
    dense = read_optional_json(file)
    if kind is not T5 or dense.get("bias", True):
        return False
    return read_whole(dense, "out_features", file, 0) * 4 <= read_whole(dense, "in_features", file, 0)


def read(folder: Path) -> Checkpoint:
    """Both sides have the same rules."""
    weights = open_weights(folder)
    transformer = open_transformer(folder, weights)
    refuse_unknown(weights, transformer, ())
    tokenizer = TextTokenizer(folder)
    place = folder / "2_Dense"
    dense = Module("Dense", place, read_optional_json(place / "config.json"))
    rules = TextRules(length=LENGTH, lower=True)
    return Checkpoint(
        family=FAMILY,
        folder=folder,
        transformer=transformer,
        tokenizer=tokenizer,
        files=list_model_files(folder, tokenizer, weights, *list_module_files(folder, [dense])),
        document=rules,
        query=rules,
        multi=MultiVectorHead((read_dense_layer(dense, transformer.hidden), UnitLength())),
    )
