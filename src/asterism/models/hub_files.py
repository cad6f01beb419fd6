"""Which files of a hub repository a layout may read."""

from __future__ import annotations

import re
from collections.abc import Iterable

HUB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*")
SETTINGS = re.compile(
    r"(config|tokenizer|tokenizer_config|special_tokens_map|modules|config_sentence_transformers|asterism)\.json"
    r"|sentence_[a-z]+_config\.json|artifact\.metadata|vocab\.txt|(colbert|sparse)_linear\.pt|heads\.safetensors"
    r"|\d+_[A-Za-z]+/config\.json"  # folders of modules are named such as 1_Pooling
)
SAFE = re.compile(r"(\d+_[A-Za-z]+/)?model(-\d+-of-\d+\.safetensors|\.safetensors|\.safetensors\.index\.json)")
TORCH = re.compile(r"(\d+_[A-Za-z]+/)?pytorch_model\.bin")


def choose_files(there: Iterable[str]) -> list[str]:
    """Settings, tokenizer and weights; PyTorch's file only where a folder has no safetensors of the same weights."""
    files = sorted(there)
    safe = {file: found[1] for file in files if (found := SAFE.fullmatch(file))}
    torch = [file for file in files if (found := TORCH.fullmatch(file)) and found[1] not in safe.values()]
    return [*filter(SETTINGS.fullmatch, files), *safe, *torch]
