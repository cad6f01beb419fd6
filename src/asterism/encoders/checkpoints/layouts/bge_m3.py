"""BAAI/bge-m3: XLM-RoBERTa with a dense, a lexical and a multi-vector view.

dense = [CLS] at unit length; lexical = ReLU(sparse_linear(state)), the largest for each id, without special ids;
multi-vector = colbert_linear(state) at unit length, for every token except the first.
"""

from __future__ import annotations

from pathlib import Path

from ....errors import CheckpointError
from ....files.checkpoint_files import is_there
from ...graph.heads import Activation, DenseHead, LexicalHead, Linear, MultiVectorHead, UnitLength
from ...tokens import TextRules, TextTokenizer
from ..checkpoint import Checkpoint, open_transformer, refuse_unknown
from ..tokenizers.files import find_special_ids, list_model_files, read_longest_text
from ..weights.files import open_weights
from ..weights.torch_files import read_torch_file

FAMILY = "bge-m3"
FILES = "config.json, model.safetensors or pytorch_model.bin, tokenizer.json, colbert_linear.pt, sparse_linear.pt"
HEADS = ("colbert_linear.pt", "sparse_linear.pt")


def recognises(folder: Path) -> bool:
    """By the files of the heads."""
    return any(is_there(folder / head) for head in HEADS)


def read(folder: Path) -> Checkpoint:
    """Both heads must exist: without trained heads the views are meaningless."""
    weights = open_weights(folder)
    transformer = open_transformer(folder, weights)
    refuse_unknown(weights, transformer, (), ("lm_head.",))
    tokenizer = TextTokenizer(folder)
    hidden = transformer.hidden
    for head in HEADS:
        if not is_there(folder / head):
            raise CheckpointError(f"{folder / head} is missing, expected both {' and '.join(HEADS)}")
    rules = TextRules(length=read_longest_text(folder, transformer.most_tokens), first_counts=False)
    dropped = find_special_ids(folder, tokenizer, ("cls_token", "eos_token", "pad_token", "unk_token"))
    return Checkpoint(
        family=FAMILY,
        folder=folder,
        transformer=transformer,
        tokenizer=tokenizer,
        files=list_model_files(folder, tokenizer, weights, *(folder / head for head in HEADS)),
        document=rules,
        query=rules,
        dense=DenseHead("cls", (UnitLength(),)),
        lexical=LexicalHead(_read_head(folder / "sparse_linear.pt", 1, hidden, "relu"), dropped),
        multi=MultiVectorHead((_read_head(folder / "colbert_linear.pt", None, hidden, "identity"), UnitLength())),
    )


def _read_head(file: Path, outputs: int | None, hidden: int, activation: Activation) -> Linear:
    tensors = read_torch_file(file)
    weight = tensors.read_matrix("weight", hidden)
    if outputs and len(weight) != outputs:
        raise CheckpointError(f"{file}: tensor 'weight' has {len(weight)} rows, expected {outputs}")
    bias = tensors.find_shaped("bias", (len(weight),)).read()
    for name in tensors:
        if name not in ("weight", "bias"):
            raise CheckpointError(f"{file}: tensor {name!r} is not part of this layout")
    return Linear(weight, bias, activation)
