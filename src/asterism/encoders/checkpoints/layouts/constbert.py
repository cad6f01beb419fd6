"""pinecone/ConstBERT: C vectors a document, whatever its length.

doc_project mixes positions (doc_maxlen -> C, the same for every dimension) over the states of the padded document, then
`linear` projects and the C vectors are brought to unit length. Queries are those of ColBERT.
"""

from __future__ import annotations

from pathlib import Path

from ....errors import CheckpointError
from ....files.checkpoint_files import is_there
from ...graph.heads import ConstantPooling, MultiVectorHead, UnitLength
from ...tokens import TextRules, TextTokenizer
from ..checkpoint import Checkpoint, open_transformer, refuse_unknown
from ..settings import read_json, read_whole
from ..tokenizers.files import find_special_token, list_files
from ..weights.files import open_weights
from .colbert import METADATA, read_projection, read_query_rules

FAMILY = "constbert"
FILES = "as colbert, and doc_project.weight among the weights"


def recognises(folder: Path) -> bool:
    """By the position mixer among the weights."""
    try:
        return is_there(folder / METADATA) and "doc_project.weight" in open_weights(folder)
    except CheckpointError:
        return False


def read(folder: Path) -> Checkpoint:
    """The padding's states enter the mixture, as in the published model; attention never sees them."""
    weights = open_weights(folder)
    transformer = open_transformer(folder, weights)
    projection = read_projection(weights, transformer)
    refuse_unknown(weights, transformer, ("linear.weight", "doc_project.weight", "doc_project.bias"))
    tokenizer = TextTokenizer(folder)
    settings = read_json(folder / METADATA)
    length = read_whole(settings, "doc_maxlen", folder / METADATA, 250)
    mixer = weights.read_matrix("doc_project.weight", length)
    bias = weights.find_shaped("doc_project.bias", (len(mixer),)).read() if "doc_project.bias" in weights else None
    pooling = ConstantPooling(mixer, bias, length)
    return Checkpoint(
        family=FAMILY,
        folder=folder,
        transformer=transformer,
        tokenizer=tokenizer,
        files=list_files(folder, tokenizer, weights, folder / METADATA),
        document=TextRules(
            length=length,
            marker=tokenizer.require_id(str(settings.get("doc_token_id", "[unused1]")), "the documents' marker"),
            expand_to=length,
            filler=tokenizer.require_id(find_special_token(folder, "pad_token") or "[PAD]", "padding"),
            windows=False,
        ),
        query=read_query_rules(folder, tokenizer, settings),
        multi=MultiVectorHead((projection, UnitLength()), pooling),
    )
