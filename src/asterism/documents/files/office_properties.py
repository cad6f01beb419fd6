"""What Office documents say about themselves: their author, their dates."""

from __future__ import annotations

from typing import Any

from .metadata import take_metadata

CORE = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"
NAMES = ("title", "author", "subject", "keywords", "created", "modified")


def read_properties(package: Any) -> dict[str, Any]:
    """The properties that a package has. One without any has none: the libraries would invent a title and a date."""
    try:
        part = package.part_related_by(CORE)
    except KeyError:
        return {}
    properties = getattr(part, "core_properties", part)  # python-pptx has them in the part itself
    found = {name: getattr(properties, name, None) for name in NAMES}
    return take_metadata({name: value for name, value in found.items() if value})
