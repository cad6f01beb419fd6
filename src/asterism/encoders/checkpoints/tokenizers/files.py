"""What the configuration files of a tokenizer say about it."""

from __future__ import annotations

from pathlib import Path

from ....errors import CheckpointError
from ....files.checkpoint_files import is_there
from ...tokens import TextTokenizer
from ..settings import read_optional_json
from ..size_limits import LONGEST_TEXT
from ..weights.tensors import Weights


def find_special_token(folder: Path, kind: str) -> str | None:
    """The text of e.g. "mask_token", from special_tokens_map.json or tokenizer_config.json."""
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        entry = read_optional_json(folder / name).get(kind)
        if isinstance(entry, dict):
            entry = entry.get("content")
        if isinstance(entry, str):
            return entry
    return None


def find_special_ids(folder: Path, tokenizer: TextTokenizer, kinds: tuple[str, ...]) -> frozenset[int]:
    """The ids of special tokens, which must be named and exist."""
    found = []
    for kind in kinds:
        token = find_special_token(folder, kind)
        if token is None:
            raise CheckpointError(f"{folder} does not name its {kind}, expected it in special_tokens_map.json")
        found.append(tokenizer.require_id(token, f"the {kind}"))
    return frozenset(found)


def find_filler_id(folder: Path, tokenizer: TextTokenizer) -> int:
    """The id that queries are filled up with: [MASK], or the end token if there is no [MASK]."""
    for kind in ("mask_token", "eos_token"):
        token = find_special_token(folder, kind)
        if token is not None:
            return tokenizer.require_id(token, f"the {kind}")
    raise CheckpointError(f"{folder} names neither mask_token nor eos_token, expected one to fill queries up with")


def read_longest_text(folder: Path, most_tokens: int | None) -> int:
    """The longest text in tokens: model_max_length of tokenizer_config.json, at most the number of positions."""
    given = read_optional_json(folder / "tokenizer_config.json").get("model_max_length")
    # transformers writes 10^30 for "no limit".
    limits = [int(given)] if isinstance(given, int | float) and 0 < given < LONGEST_TEXT else []
    limits += [most_tokens] if most_tokens else []
    return min(limits, default=512)


def find_skipped_ids(tokenizer: TextTokenizer, words: list[str]) -> frozenset[int]:
    """The ids of the words that are single tokens."""
    ids = (tokenizer.find_id(word) for word in words)
    return frozenset(found for found in ids if found is not None)


def list_model_files(folder: Path, tokenizer: TextTokenizer, weights: Weights, *others: Path) -> tuple[Path, ...]:
    """All files that the model's output depends on: its identity."""
    beside = [folder / name for name in ("config.json", "tokenizer_config.json", "special_tokens_map.json")]
    return tuple(
        dict.fromkeys(file for file in (*beside, tokenizer.file, *weights.list_files(), *others) if is_there(file))
    )
