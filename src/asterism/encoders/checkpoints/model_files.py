"""The files of a transformer that a written model needs: configuration, tokenizer and weights."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import CheckpointError, InputError
from ...files.checkpoint_files import is_there, read_file
from ...files.new_folders import make_whole_folder
from ..graph.bert import WORDS
from ..tokens import TextTokenizer
from .settings import read_json
from .tokenizers.extending import extend_tokenizer
from .tokenizers.loading import LARGEST_FILE
from .weights.safetensors_files import write_safetensors

Tensors = Mapping[str, npt.NDArray[Any]]
BESIDE = ("tokenizer_config.json", "special_tokens_map.json", "vocab.txt")  # what other libraries read as well
CARD = "README.md"


@contextmanager
def make_model_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `target`; after an error nothing stays, and the error is ours."""
    try:
        with make_whole_folder(target) as inside:
            try:
                yield inside
            except CheckpointError as error:  # of reading it back: name the files as if they were in place
                raise CheckpointError(str(error).replace(str(inside), str(target))) from error
    except FileExistsError:
        raise InputError(f"{target} exists already, expected a new folder: choose another, or remove it") from None
    except OSError as error:
        reason = error.strerror or error
        raise CheckpointError(f"{target} cannot be written ({reason}): make room, or choose another place") from error


def write_transformer(inside: Path, source: Path, tensors: Tensors, add_tokens: Sequence[str]) -> TextTokenizer:
    """Write the files of the transformer in the folder `source`, with other weights; returns the written tokenizer."""
    (inside / "tokenizer.json").write_text(extend_tokenizer(source, add_tokens), encoding="utf-8")
    for name in BESIDE:
        if is_there(source / name):
            (inside / name).write_bytes(read_file(source / name, LARGEST_FILE))
    tokenizer = TextTokenizer(inside)
    words = _find_word_embeddings(tensors)
    if len(words) < tokenizer.vocabulary:
        added = f" with {', '.join(map(repr, add_tokens))}" if add_tokens else ""
        raise InputError(
            f"the word embeddings have {len(words)} rows, expected at least {tokenizer.vocabulary} for the tokenizer "
            f"of {source}{added}: add a row for each new token"
        )
    config = read_json(source / "config.json") | {"vocab_size": len(words)}
    for key in ("dtype", "torch_dtype"):  # transformers loads the weights as this type
        if key in config:
            config[key] = "float32"
    write_json(inside / "config.json", config)
    write_safetensors(inside / "model.safetensors", tensors)
    return tokenizer


def write_json(file: Path, value: object) -> None:
    """Write a JSON file, indented for people; its folder is made if it is not there."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _find_word_embeddings(tensors: Tensors) -> npt.NDArray[Any]:
    """(vocabulary, hidden) the word embeddings of a BERT or a T5."""
    for name in (WORDS, f"bert.{WORDS}", "shared.weight"):  # the second is a classifier's
        if name in tensors:
            return np.asarray(tensors[name])
    raise InputError(f"the tensors have no {WORDS!r}, expected all weights of a transformer by their names there")
