"""Late-interaction models of PyLate and of sentence-transformers 6 (MultiVectorEncoder).

Both list a Transformer and Dense modules. PyLate writes prefixes, lengths, expansion and the skip list into
config_sentence_transformers.json; sentence-transformers writes prompts there, lengths and expansion into
sentence_bert_config.json, and has modules for the skip list and for unit length.
"""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

from ....errors import CheckpointError
from ....files.checkpoint_files import is_there
from ...graph.heads import Linear, MultiVectorHead, UnitLength
from ...tokens import TextRules, TextTokenizer
from ..checkpoint import Checkpoint, open_transformer, refuse_unknown
from ..settings import read_optional_json, read_strings, read_whole
from ..tokenizers.files import find_filler_id, find_skipped_ids, list_model_files, read_longest_text
from ..weights.files import open_weights
from .modules import Module, list_module_files, read_dense_layer, read_modules

FAMILY = "pylate"
FILES = "modules.json, config_sentence_transformers.json of model_type ColBERT or MultiVectorEncoder, 1_Dense"
SETTINGS = "config_sentence_transformers.json"
SIDES = ("document", "query")


def recognises(folder: Path) -> bool:
    """By the model type, or by PyLate's prefixes, as its first versions wrote no type."""
    if not is_there(folder / "modules.json"):
        return False
    settings = read_optional_json(folder / SETTINGS)
    return settings.get("model_type") in ("ColBERT", "MultiVectorEncoder") or "query_prefix" in settings


def read(folder: Path) -> Checkpoint:
    """Read a folder of either library."""
    weights = open_weights(folder)
    transformer = open_transformer(folder, weights)
    refuse_unknown(weights, transformer, (), ("cls.", "lm_head."))
    tokenizer = TextTokenizer(folder)
    settings, listed = read_optional_json(folder / SETTINGS), read_modules(folder)
    layers: list[Linear] = []
    width = transformer.hidden
    for module in listed[1:]:
        if module.kind == "Dense":
            layers.append(read_dense_layer(module, width))
            width = len(layers[-1].weight)
        elif module.kind not in ("MultiVectorMask", "Normalize"):
            raise CheckpointError(f"{folder / 'modules.json'} has a {module.kind!r} module, which is not supported")
    most = transformer.most_tokens or read_longest_text(folder, None)  # both libraries write their own lengths
    if settings.get("model_type") == "MultiVectorEncoder":
        document, query = _read_module_rules(folder, tokenizer, settings, listed, most)
        unit = [UnitLength()] if any(module.kind == "Normalize" for module in listed) else []
    else:
        document, query = _read_prefix_rules(folder, tokenizer, settings, most)
        unit = [UnitLength()]
    return Checkpoint(
        family=FAMILY,
        folder=folder,
        transformer=transformer,
        tokenizer=tokenizer,
        files=list_model_files(
            folder,
            tokenizer,
            weights,
            folder / SETTINGS,
            folder / "sentence_bert_config.json",
            *list_module_files(folder, listed[1:]),
        ),
        document=document,
        query=query,
        multi=MultiVectorHead((*layers, *unit)),
    )


def _read_prefix_rules(
    folder: Path, tokenizer: TextTokenizer, settings: dict[str, Any], most: int
) -> tuple[TextRules, TextRules]:
    """PyLate: the prefix is a token after the first, before the prompt; punctuation is skipped by default."""
    file = folder / SETTINGS

    def find_marker(side: str, default: str) -> int | None:
        prefix = settings.get(f"{side}_prefix")
        prefix = default if prefix is None else str(prefix)
        return tokenizer.require_id(prefix, f"the {side} prefix") if prefix else None

    def get(name: str, default: Any) -> Any:
        value = settings.get(name)
        return default if value is None else value

    prompts = get("prompts", {})
    prompt = {side: str(prompts.get(side) or prompts.get(settings.get("default_prompt_name")) or "") for side in SIDES}
    length = min(read_whole(settings, "query_length", file, 32), most)
    expanded = bool(get("do_query_expansion", True))
    skipped = read_strings(get("skiplist_words", string.punctuation), "skiplist_words", file)
    document = TextRules(
        length=min(read_whole(settings, "document_length", file, 180), most),
        prompt=prompt["document"],
        strip=True,
        marker=find_marker("document", "[D] "),
        skipped=find_skipped_ids(tokenizer, skipped),
    )
    query = TextRules(
        length=length,
        prompt=prompt["query"],
        strip=True,
        marker=find_marker("query", "[Q] "),
        expand_to=length if expanded else 0,
        filler=find_filler_id(folder, tokenizer) if expanded else 0,
        attend=expanded and bool(get("attend_to_expansion_tokens", False)),
        windows=not expanded,
    )
    return document, query


def _read_module_rules(
    folder: Path, tokenizer: TextTokenizer, settings: dict[str, Any], listed: list[Module], most: int
) -> tuple[TextRules, TextRules]:
    """sentence-transformers: prompts are text, a skip list is for some sides, queries may be expanded."""
    file = folder / "sentence_bert_config.json"
    transformer = read_optional_json(file)
    masks = [module.settings for module in listed if module.kind == "MultiVectorMask"]
    if any(mask.get("keep_only_token_ids") for mask in masks):
        raise CheckpointError(f"{folder}: keep_only_token_ids is for images, which are not supported")
    skipped = {
        side: find_skipped_ids(
            tokenizer,
            [
                word
                for mask in masks
                for word in read_strings(mask.get("skiplist_words") or [], "skiplist_words", folder / "modules.json")
                if side in (mask.get("skiplist_tasks") or ["document"])
            ],
        )
        for side in SIDES
    }
    prompts = settings.get("prompts") or {}
    expansion = transformer.get("query_expansion") or {}
    fixed, to = expansion.get("strategy") == "fixed", read_whole(expansion, "length", file, 0, least=0)
    length = to if fixed else max(min(read_whole(transformer, "query_length", file, most), most), to)
    filler = 0
    if expansion:
        token = expansion.get("token")
        filler = tokenizer.require_id(token, "the expansion token") if token else find_filler_id(folder, tokenizer)
    document = TextRules(
        length=min(read_whole(transformer, "document_length", file, most), most),
        prompt=str(prompts.get("document") or ""),
        skipped=skipped["document"],
    )
    query = TextRules(
        length=length,
        prompt=str(prompts.get("query") or ""),
        expand_to=to,
        filler=filler,
        attend=bool(expansion.get("attend", False)),
        skipped=skipped["query"],
        windows=not fixed,
    )
    return document, query
