"""Writes a model of our own layout as a folder of PyLate, or of sentence-transformers 6 (MultiVectorEncoder).

Both libraries cut long texts, and windows are lost. `layouts/pylate.py` reads what is written here. `pair_exporting.py`
has cross-encoders.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files.checkpoint_files import is_there, read_file
from ...settings import View
from ..graph.bert import Bert
from ..graph.heads import Gated, Linear, UnitLength
from ..tokens import TextRules, TextTokenizer
from .checkpoint import Checkpoint
from .layouts import asterism, open_checkpoint, pylate
from .layouts.modules import ACTIVATIONS
from .model_files import CARD, Tensors, make_model_folder, write_json, write_transformer
from .pair_exporting import export_pair_model
from .pair_models import is_pair_model
from .settings import LARGEST_FILE, read_json
from .tokenizers.files import find_filler_id
from .weights.files import open_weights
from .weights.safetensors_files import write_safetensors

Place = tuple[str, str]  # the kind of a module, and its folder

BASE = "sentence_transformers.base.modules"
TYPES = {
    "pylate": {"Transformer": "sentence_transformers.models.Transformer", "Dense": "pylate.models.Dense.Dense"},
    "sentence-transformers": {
        "Transformer": f"{BASE}.transformer.Transformer",
        "Dense": f"{BASE}.dense.Dense",
        "MultiVectorMask": "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask",
        "Normalize": f"{BASE}.normalize.Normalize",
    },
}
TOKEN_LEVEL = {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"}


def export_model(model_folder: Path, to: Path, layout: str) -> tuple[View, ...]:
    """Write the token vectors of a model as the new folder `to`; returns the other views, which are left out.

    `layout` is "pylate" or "sentence-transformers", which is also for cross-encoders.
    """
    if layout not in TYPES:
        raise InputError(f"{layout!r} is not a layout to export to, expected {' or '.join(TYPES)}")
    if is_pair_model(model_folder):
        export_pair_model(model_folder, to, layout)
        return ()
    checkpoint = open_checkpoint(model_folder)
    layers = _require_expressible(checkpoint, model_folder, layout)
    with make_model_folder(to) as inside:
        # PyLate inserts the ids of markers; in the other layout they are text, which the tokenizer must not split.
        markers = [] if layout == "pylate" else _list_markers(checkpoint)
        write_transformer(inside, checkpoint.folder, _read_tensors(checkpoint), markers)
        modules = [("Transformer", ""), *_write_layers(inside, layers, layout)]
        if layout == "pylate":
            _write_pylate_rules(inside, checkpoint)
        else:
            modules += _write_module_rules(inside, checkpoint, len(modules))
        listed = [
            {"idx": number, "name": str(number), "path": path, "type": TYPES[layout][kind]}
            for number, (kind, path) in enumerate(modules)
        ]
        write_json(inside / "modules.json", listed)
        if is_there(model_folder / CARD):
            (inside / CARD).write_bytes(read_file(model_folder / CARD, LARGEST_FILE))
        pylate.read(inside)  # refuses what could not be loaded
    return tuple(view for view in checkpoint.views if view != "multi")


def _require_expressible(checkpoint: Checkpoint, folder: Path, layout: str) -> list[Linear]:
    """The layers of a model that the layout can express; an error for any other model."""
    if checkpoint.family != asterism.FAMILY:
        raise InputError(f"{folder} is a {checkpoint.family} folder, expected a model in asterism's own layout")
    kind = read_json(checkpoint.folder / "config.json").get("model_type")
    if kind != "bert":
        raise InputError(f"{folder} has a backbone of model_type {kind!r}, expected 'bert'")
    if checkpoint.multi is None:
        raise InputError(f"{folder} has no token vectors, expected a model with them: {layout} folders have no others")
    layers = checkpoint.multi.layers
    linear = [layer for layer in layers if isinstance(layer, Linear)]
    found = ["constant pooling"] if checkpoint.multi.pooling else []
    if any(isinstance(layer, Gated) for layer in layers):
        found.append("a gated layer")
    elif not linear or len(linear) != len(layers) - 1 or not isinstance(layers[-1], UnitLength):
        found.append("layers other than linear ones that end with unit_length")
    found += _list_other_rules(checkpoint, layout)
    if found:
        raise InputError(f"{folder} has {', '.join(found)}, which {layout} folders cannot express")
    return linear


def _list_other_rules(checkpoint: Checkpoint, layout: str) -> list[str]:
    """The token rules that the layout cannot express."""
    found, query, tokenizer = [], checkpoint.query, checkpoint.tokenizer
    for side, rules in (("documents", checkpoint.document), ("queries", query)):
        if rules.lower:
            found.append(f"{side} in lower case")
        if not rules.first_counts:
            found.append(f"{side} whose first token has no vector")
    if checkpoint.document.expand_to:
        found.append("documents that are filled up")
    partly = query.expand_to > query.length if layout == "sentence-transformers" else query.expand_to != query.length
    if query.expand_to and partly:
        found.append(f"queries of {query.length} tokens that are filled up to {query.expand_to}")
    if layout == "pylate" and query.skipped:
        found.append("queries with tokens that have no vector")
    if layout == "pylate" and query.expand_to and query.filler != find_filler_id(checkpoint.folder, tokenizer):
        found.append(f"queries that are filled up with {tokenizer.find_token(query.filler)!r}")
    return found


def _read_tensors(checkpoint: Checkpoint) -> Tensors:
    """The transformer's weights by their names in transformers, with those that we ignore, such as the pooler's."""
    prefix = checkpoint.transformer.prefix if isinstance(checkpoint.transformer, Bert) else ""
    used = {tensor.name for tensor in checkpoint.transformer.list_tensors()}
    return {
        name.removeprefix(prefix): tensor.read()
        for name, tensor in open_weights(checkpoint.folder).items()
        if name in used or name.startswith(f"{prefix}pooler.")
    }


def _write_layers(inside: Path, layers: Sequence[Linear], layout: str) -> list[Place]:
    """A Dense module for each layer; PyLate's is always applied to tokens, and refuses other settings."""
    more = {} if layout == "pylate" else TOKEN_LEVEL
    names = {ours: theirs for theirs, ours in ACTIVATIONS.items()}
    for number, layer in enumerate(layers, 1):
        package = "linear" if layer.activation == "identity" else "activation"
        outputs, inputs = layer.weight.shape
        settings = {
            "in_features": inputs,
            "out_features": outputs,
            "bias": layer.bias is not None,
            "activation_function": f"torch.nn.modules.{package}.{names[layer.activation]}",
            **more,
        }
        write_json(inside / f"{number}_Dense" / "config.json", settings)
        bias = {} if layer.bias is None else {"linear.bias": layer.bias}
        write_safetensors(inside / f"{number}_Dense" / "model.safetensors", {"linear.weight": layer.weight, **bias})
    return [("Dense", f"{number}_Dense") for number in range(1, len(layers) + 1)]


def _write_pylate_rules(inside: Path, checkpoint: Checkpoint) -> None:
    """Prefixes, prompts (which PyLate uses if `prompt_name` is given), lengths, expansion and the skip list."""
    document, query, tokenizer = checkpoint.document, checkpoint.query, checkpoint.tokenizer
    longest = max(document.length, query.length)
    write_json(inside / "sentence_bert_config.json", {"max_seq_length": longest, "do_lower_case": False})
    settings = {
        "model_type": "ColBERT",
        "prompts": _list_prompts(document.prompt, query.prompt),
        "default_prompt_name": None,
        "similarity_fn_name": "MaxSim",
        "query_prefix": _find_marker(query, tokenizer),
        "document_prefix": _find_marker(document, tokenizer),
        "query_length": query.length,
        "document_length": document.length,
        "attend_to_expansion_tokens": query.attend,
        "skiplist_words": _list_skipped(document, tokenizer),
        "do_query_expansion": bool(query.expand_to),
    }
    write_json(inside / pylate.SETTINGS, settings)


def _write_module_rules(inside: Path, checkpoint: Checkpoint, first: int) -> list[Place]:
    """Markers become part of the prompts; the skip lists and unit length are modules, numbered from `first`."""
    document, query, tokenizer = checkpoint.document, checkpoint.query, checkpoint.tokenizer
    expansion = {
        "strategy": "min" if query.windows or query.expand_to < query.length else "fixed",
        "attend": query.attend,
        "token": tokenizer.find_token(query.filler),
        "length": query.expand_to,
    }
    own: dict[str, Any] = {
        "transformer_task": "feature-extraction",
        "module_output_name": "token_embeddings",
        "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
        "query_length": query.length,
        "document_length": document.length,
        "query_expansion": expansion if query.expand_to else None,
    }
    write_json(inside / "sentence_bert_config.json", own)
    prompts = (_find_marker(rules, tokenizer) + rules.prompt for rules in (document, query))
    settings = {
        "model_type": "MultiVectorEncoder",
        "prompts": _list_prompts(*prompts),
        "default_prompt_name": None,
        "similarity_fn_name": "maxsim",
    }
    write_json(inside / pylate.SETTINGS, settings)
    masks = [(side, _list_skipped(rules, tokenizer)) for side, rules in (("document", document), ("query", query))]
    places = []
    for number, (side, words) in enumerate(masks, first):  # the query's is the last, as it may skip fillers
        places.append(("MultiVectorMask", f"{number}_MultiVectorMask"))
        mask = {"skiplist_words": words, "skiplist_tasks": [side], "keep_only_token_ids": None}
        write_json(inside / places[-1][1] / "config.json", mask)
    places.append(("Normalize", f"{first + len(masks)}_Normalize"))
    write_json(inside / places[-1][1] / "config.json", TOKEN_LEVEL)
    return places


def _list_prompts(document: str, query: str) -> dict[str, str]:
    """The prompts that are not empty."""
    return {side: prompt for side, prompt in (("document", document), ("query", query)) if prompt}


def _find_marker(rules: TextRules, tokenizer: TextTokenizer) -> str:
    """The marker's token, or an empty string."""
    return "" if rules.marker is None else tokenizer.find_token(rules.marker)


def _list_markers(checkpoint: Checkpoint) -> list[str]:
    """The tokens of both sides' markers."""
    found = (_find_marker(rules, checkpoint.tokenizer) for rules in (checkpoint.document, checkpoint.query))
    return [marker for marker in found if marker]


def _list_skipped(rules: TextRules, tokenizer: TextTokenizer) -> list[str]:
    """The tokens without a vector."""
    return [tokenizer.find_token(number) for number in sorted(rules.skipped)]
