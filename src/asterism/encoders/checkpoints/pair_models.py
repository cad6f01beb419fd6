"""The folder of a cross-encoder: our own layout with a pair section, or a sequence classifier of transformers.

    "pair": {"length": 256, "layers": [{"linear": "pair.0"}]}                     [CLS] form: layers over its state
    "pair": {"length": 256, "markers": ["[unused0]", "[unused1]", "[unused2]"]}   [EMB] form

`length`, in tokens of a pair, may be missing: then a pair has as many as the model has positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...errors import CheckpointError
from ..graph.bert import Bert
from ..graph.heads import Layers, Linear, compute_width
from ..pairs import SHORTEST_PAIR, Markers
from ..tokens import TextTokenizer
from .checkpoint import Transformer, open_transformer, refuse_foreign_ids, refuse_unknown, translate_errors
from .layouts import asterism
from .settings import read_json, read_strings, read_whole, shorten
from .size_limits import LONGEST_TEXT
from .weights.files import open_weights
from .weights.tensors import Weights

USUAL_LENGTH = 512  # of models without a largest position


@dataclass(frozen=True)
class PairModel:
    """A cross-encoder as read from its folder: layers over [CLS], or markers. `length` is the tokens of a pair."""

    folder: Path
    transformer: Transformer
    tokenizer: TextTokenizer
    files: tuple[Path, ...]
    length: int
    layers: Layers | None
    markers: Markers | None


def is_pair_model(folder: Path) -> bool:
    """Whether a folder of our own layout is a cross-encoder and nothing else."""
    if not asterism.recognises(folder):
        return False
    with translate_errors(folder, asterism.FAMILY):
        return asterism.is_of_pairs(read_json(folder / asterism.SETTINGS))


def open_pair_model(folder: Path) -> PairModel:
    """Asterism's own layout with a pair section, or a sequence classifier with one label."""
    with translate_errors(folder, "cross-encoder"):
        model = _open_own(folder) if asterism.recognises(folder) else _open_classifier(folder)
        refuse_foreign_ids(model.tokenizer, model.transformer)
        return model


def _open_classifier(folder: Path) -> PairModel:
    weights = open_weights(folder)
    transformer = open_transformer(folder, weights)
    tokenizer = TextTokenizer(folder)
    if not isinstance(transformer, Bert):
        raise CheckpointError(
            f"{folder}: cross-encoders of this architecture are not supported, expected BERT, RoBERTa or XLM-R"
        )
    layers = _read_classifier(weights, transformer)
    known = [name for name in weights if name.startswith("classifier.") or ".pooler." in name]
    refuse_unknown(weights, transformer, known)
    files = (folder / "config.json", tokenizer.file, *weights.list_files())
    return PairModel(folder, transformer, tokenizer, files, transformer.most_tokens or USUAL_LENGTH, layers, None)


def _read_classifier(weights: Weights, transformer: Bert) -> Layers:
    """BERT: pooler with tanh, then classifier; RoBERTa: dense with tanh, then out_proj."""
    hidden = transformer.hidden
    for inner, outer in (
        (f"{transformer.prefix}pooler.dense", "classifier"),
        ("classifier.dense", "classifier.out_proj"),
    ):
        if f"{outer}.weight" in weights:
            labels = len(weights.read_matrix(f"{outer}.weight", hidden))
            if labels != 1:
                raise CheckpointError(f"{weights.source}: {outer}.weight has {labels} labels, expected 1 for a score")
            return (_read_layer(weights, inner, hidden, hidden, True), _read_layer(weights, outer, 1, hidden, False))
    raise CheckpointError(
        f"{weights.source} has no tensor classifier.weight or classifier.out_proj.weight, expected a cross-encoder"
    )


def _read_layer(weights: Weights, name: str, outputs: int, inputs: int, tanh: bool) -> Linear:
    weight, bias = (
        weights.find_shaped(f"{name}.weight", (outputs, inputs)),
        weights.find_shaped(f"{name}.bias", (outputs,)),
    )
    return Linear(weight.read(), bias.read(), "tanh" if tanh else "identity")


def _open_own(folder: Path) -> PairModel:
    settings, backbone, heads = asterism.open_parts(folder)
    pair, file = settings.get("pair"), folder / asterism.SETTINGS
    if not isinstance(pair, dict) or len({"layers", "markers"} & set(pair)) != 1:
        raise CheckpointError(f"{file}: pair is {shorten(pair)}, expected layers over [CLS] or three markers")
    weights = open_weights(backbone)
    transformer = open_transformer(backbone, weights)
    tokenizer = TextTokenizer(backbone)
    most = transformer.most_tokens
    length = read_whole(pair, "length", file, most or USUAL_LENGTH, least=SHORTEST_PAIR, most=most or LONGEST_TEXT)
    layers = markers = None
    if "markers" in pair:
        markers = find_markers(read_strings(pair["markers"], "markers", file), tokenizer)
    else:
        layers = asterism.HeadReader(heads, transformer.hidden).read_layers(pair["layers"])
        if compute_width(layers, transformer.hidden) != 1:
            raise CheckpointError(f"{file}: the layers of pair end with more than one number, expected 1, the score")
    files = (file, *heads.list_files(), backbone / "config.json", tokenizer.file, *weights.list_files())
    return PairModel(backbone, transformer, tokenizer, files, length, layers, markers)


def find_markers(tokens: list[str], tokenizer: TextTokenizer) -> Markers:
    """The ids of three tokens."""
    if len(tokens) != 3:
        raise CheckpointError(f"there are {len(tokens)} markers, expected three tokens of {tokenizer.file}")
    return Markers(*(tokenizer.require_id(token, "a marker") for token in tokens))
