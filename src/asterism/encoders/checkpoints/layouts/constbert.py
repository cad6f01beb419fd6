"""pinecone/ConstBERT: C vectors per document of any length.

doc_project mixes positions (doc_maxlen -> C, the same for every dimension) over the states of the padded document, then
`linear` projects and the C vectors are normalised to unit length. Queries are those of ColBERT.
"""

from __future__ import annotations

from pathlib import Path

from ....errors import CheckpointError
from ....files.checkpoint_files import is_there
from ...graph.heads import ConstantPooling
from ...tokens import TextRules
from ..checkpoint import Checkpoint
from ..settings import read_whole
from ..tokenizers.files import find_special_token
from ..weights.files import open_weights
from .colbert import METADATA, make_checkpoint, open_parts

FAMILY = "constbert"
FILES = "as colbert, and doc_project.weight among the weights"


def recognises(folder: Path) -> bool:
    """By the tensor that mixes positions."""
    try:
        return is_there(folder / METADATA) and "doc_project.weight" in open_weights(folder)
    except CheckpointError:
        return False


def read(folder: Path) -> Checkpoint:
    """The states of padding are mixed in, as in the published model; attention does not see them."""
    parts = open_parts(folder, ("linear.weight", "doc_project.weight", "doc_project.bias"))
    weights = parts.weights
    length = read_whole(parts.settings, "doc_maxlen", folder / METADATA, 250)
    mixer = weights.read_matrix("doc_project.weight", length)
    bias = weights.find_shaped("doc_project.bias", (len(mixer),)).read() if "doc_project.bias" in weights else None
    padding = find_special_token(folder, "pad_token") or "[PAD]"
    document = TextRules(
        length=length,
        expand_to=length,
        filler=parts.tokenizer.require_id(padding, "padding"),
        windows=False,
    )
    return make_checkpoint(FAMILY, parts, document, ConstantPooling(mixer, bias, length))
