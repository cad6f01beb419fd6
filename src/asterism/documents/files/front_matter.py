"""YAML between lines of three hyphens at the beginning of a file."""

from __future__ import annotations

import re
from typing import Any

from .metadata import take_metadata

LONGEST = 1 << 16  # characters
FRONT_MATTER = re.compile(r"---[^\S\n]*\n(.*?\n|)(?:---|\.\.\.)[^\S\n]*(?:\n|$)", re.DOTALL)


def read_front_matter(text: str) -> tuple[dict[str, Any], int]:
    """Its fields, and where the rest of the text begins; nothing and 0 if there is none that is a YAML mapping."""
    found = FRONT_MATTER.match(text, 0, LONGEST) if text.startswith("---") else None
    if not found:
        return {}, 0
    import yaml

    try:
        fields = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, TypeError, AttributeError):
        return {}, 0  # ValueError and others: dates and numbers that there are not, keys that cannot be hashed
    return (take_metadata(fields), found.end()) if isinstance(fields, dict) else ({}, 0)
