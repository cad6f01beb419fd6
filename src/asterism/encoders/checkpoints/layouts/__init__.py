"""One module per published layout. A folder is recognised by its files, never by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ....errors import UnknownModel
from ..checkpoint import Checkpoint, translate_errors
from . import asterism, bge_m3, colbert, constbert, pylate, sentence_transformers, xtr


class Layout(Protocol):
    """What each module has."""

    FAMILY: str
    FILES: str

    def recognises(self, folder: Path) -> bool:
        """Whether the folder has the files of this layout."""

    def read(self, folder: Path) -> Checkpoint:
        """Read the model of a folder."""


# Special layouts come before the general ones, whose files they have too.
LAYOUTS: tuple[Layout, ...] = (asterism, bge_m3, constbert, colbert, pylate, xtr, sentence_transformers)


def open_checkpoint(folder: Path) -> Checkpoint:
    """Read the model in `folder` by the first layout that recognises it."""
    for layout in LAYOUTS:
        with translate_errors(folder, layout.FAMILY):
            if layout.recognises(folder):
                return layout.read(folder)
    expected = "; ".join(f"{layout.FAMILY} ({layout.FILES})" for layout in LAYOUTS)
    raise UnknownModel(f"{folder} is not a model of a known layout, expected one of: {expected}")
