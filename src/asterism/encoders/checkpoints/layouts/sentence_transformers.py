"""Single-vector models of sentence-transformers: Transformer, Pooling (cls or mean), Dense, Normalize."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ....errors import CheckpointError
from ....files.checkpoint_files import is_there
from ...graph.heads import DenseHead, Linear, Pooling, UnitLength
from ...tokens import TextRules, TextTokenizer
from ..checkpoint import Checkpoint, open_transformer, refuse_unknown
from ..settings import read_json, read_optional_json, read_whole
from ..tokenizers.files import list_model_files, read_longest_text
from ..weights.files import open_weights
from .modules import Module, list_module_files, read_dense_layer, read_modules

FAMILY = "sentence-transformers"
FILES = "modules.json, config.json, model.safetensors or pytorch_model.bin, tokenizer.json, 1_Pooling"
SETTINGS = "config_sentence_transformers.json"
LENGTHS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
DOCUMENT_PROMPTS = ("document", "passage", "corpus")


def recognises(folder: Path) -> bool:
    """By the list of modules."""
    return is_there(folder / "modules.json")


def read(folder: Path) -> Checkpoint:
    """The transformer may be in a subfolder, as older versions wrote it."""
    listed = read_modules(folder)
    inside = listed[0].folder
    weights = open_weights(inside)
    transformer = open_transformer(inside, weights)
    refuse_unknown(weights, transformer, (), ("cls.", "lm_head."))
    tokenizer = TextTokenizer(inside)
    files = [inside / name for name in LENGTHS if is_there(inside / name)]
    own, settings = read_json(files[0]) if files else {}, read_optional_json(folder / SETTINGS)
    length = read_whole(own, "max_seq_length", files[0], 0) if files else 0
    length = length or read_longest_text(inside, transformer.most_tokens)
    rules = TextRules(length=min(length, transformer.most_tokens or length), lower=bool(own.get("do_lower_case")))
    others = (*files, folder / SETTINGS, *list_module_files(folder, listed[1:]))
    return Checkpoint(
        family=FAMILY,
        folder=inside,
        transformer=transformer,
        tokenizer=tokenizer,
        files=list_model_files(inside, tokenizer, weights, *others),
        document=_add_prompt(rules, settings, DOCUMENT_PROMPTS),
        query=_add_prompt(rules, settings, ("query",)),
        dense=_read_dense(folder, listed, transformer.hidden),
    )


def _read_dense(folder: Path, listed: list[Module], width: int) -> DenseHead:
    pooling: Pooling | None = None
    layers: list[Linear | UnitLength] = []
    for module in listed[1:]:
        if module.kind == "Pooling" and pooling is None and not layers:
            pooling = _read_pooling(module)
        elif module.kind == "Dense" and pooling:
            layer = read_dense_layer(module, width)
            width = len(layer.weight)
            layers.append(layer)
        elif module.kind == "Normalize" and pooling:
            layers.append(UnitLength())
        elif module.kind != "Dropout":
            raise CheckpointError(f"{folder / 'modules.json'}: a {module.kind!r} module is not supported at this place")
    if pooling is None:
        raise CheckpointError(f"{folder / 'modules.json'} has no Pooling module, expected one")
    return DenseHead(pooling, tuple(layers))


def _read_pooling(module: Module) -> Pooling:
    """Newer files name the mode; older ones have one switch per mode."""
    modes = module.settings.get("pooling_mode")
    on = [modes] if isinstance(modes, str) else list(modes or [])
    on = on or [name for name, value in module.settings.items() if name.startswith("pooling_mode_") and value is True]
    known: dict[str, Pooling] = {
        "cls": "cls", "mean": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean",
    }  # fmt: skip
    if module.settings.get("include_prompt") is False:
        raise CheckpointError(
            f"{module.folder / 'config.json'} leaves the prompt out of pooling, which is not supported"
        )
    if len(on) != 1 or on[0] not in known:
        raise CheckpointError(f"{module.folder / 'config.json'} has {on or 'no pooling'}, expected cls or mean")
    return known[on[0]]


def _add_prompt(rules: TextRules, settings: dict[str, Any], names: tuple[str, ...]) -> TextRules:
    """Add the first of these prompts; sentence-transformers 6 stops at "document" even if only "passage" is given."""
    prompts = settings.get("prompts") or {}
    chosen = next((prompts[name] for name in names if prompts.get(name) is not None), "")
    return replace(rules, prompt=str(chosen))
