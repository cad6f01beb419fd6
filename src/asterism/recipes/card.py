"""The model card: what a model was trained on, how, and what came out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..training.settings import PairModelSettings
from .recipe import Recipe


def write_card(name: str, recipe: Recipe, facts: Mapping[str, Any]) -> str:
    """Markdown: how to use it, what came out, data and all settings."""
    kind = "cross-encoder" if _is_of_pairs(recipe) else "late-interaction model"
    lines = [f"# {name}", "", f"A {kind}, trained and used with asterism:", ""]
    lines += ["```", describe_use(recipe, name), "```", "", "## What came out", ""]
    lines += [f"- {key}: {value}" for key, value in facts.items()]
    lines += ["", "## Recipe", "", "```toml", *_list_settings(recipe), "```", ""]
    return "\n".join(lines)


def describe_use(recipe: Recipe, model: str) -> str:
    """The command, or the line of Python, that uses a model."""
    if _is_of_pairs(recipe):
        return f"asterism.load_pair_scorer({model!r}).score(QUERY, TEXTS)"
    return f"asterism index DOCUMENTS --to x.ast --model {model}"


def _is_of_pairs(recipe: Recipe) -> bool:
    return isinstance(recipe.training.model, PairModelSettings)


def _list_settings(recipe: Recipe) -> list[str]:
    lines: list[str] = []
    for section, settings in recipe.sections.items():
        lines.append(f"[{section}]")
        for name, value in vars(settings).items():
            if value is not None:
                lines.append(f"{name} = {_to_toml(value)}")
    return lines


def _to_toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(_to_toml(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
