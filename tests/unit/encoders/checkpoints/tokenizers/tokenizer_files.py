"""Tokenizer files with one section changed, and precompiled character maps."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from tests import layouts


def precompiled(found: dict[int, bytes]) -> str:
    """A map of single bytes, its trie as SentencePiece writes it: children at 256 ^ byte, leaves at 512 + byte."""
    trie, replacements = np.zeros(1024, "<u4"), b""
    trie[0] = 256 << 10
    for byte, replacement in found.items():
        child, leaf = 256 ^ byte, 512 + byte
        trie[child] = ((child ^ leaf) << 10) | 1 << 8 | byte
        trie[leaf] = 1 << 31 | len(replacements)
        replacements += replacement + b"\0"
    return base64.b64encode(struct.pack("<I", trie.nbytes) + trie.tobytes() + replacements).decode()


# As nmt_nfkc has it: its longest replacement, of 33 bytes, is that of a character of three bytes.
CHARSMAP = base64.b64encode(struct.pack("<I", 4) + bytes(4) + b"x" * 33 + b"\0").decode()


def changed(folder: Path, section: str, value: Any) -> Path:
    layouts.wordpiece(folder)
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    (folder / "tokenizer.json").write_text(json.dumps(content | {section: value}), encoding="utf-8")
    return folder
