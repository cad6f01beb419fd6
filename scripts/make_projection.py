"""Make the projection of the default model's token vectors: PCA of its last hidden states, 384 -> 128.

    python scripts/make_projection.py TEXTS.jsonl[.gz]…      (lines with "text"; the first thousand of each file count)

Writes heads.safetensors beside the model's asterism.json. Deterministic for the same texts.
"""

from __future__ import annotations

import argparse
import gzip
import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from asterism.encoders.checkpoints.layouts import open_checkpoint
from asterism.encoders.encoder import Encoder
from asterism.encoders.graph.heads import MultiVectorHead
from asterism.models.registry import DEFAULT, HEADS, find_or_fetch_model
from asterism.settings import EncoderSettings

TEXTS_OF_EACH = 1000
DIMENSIONS = 128


def texts_of(file: Path) -> list[str]:
    """The texts of the first lines."""
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in islice(lines, TEXTS_OF_EACH)]


def main() -> None:
    """Read, sum up, decompose, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    folder = find_or_fetch_model(DEFAULT)
    published = open_checkpoint(folder)
    special = frozenset(published.tokenizer.before + published.tokenizer.after)
    rules = replace(published.document, skipped=special)
    states_of = Encoder(replace(published, document=rules, multi=MultiVectorHead(())), EncoderSettings())

    count, total, squares = 0, np.zeros(384), np.zeros((384, 384))
    for file in options.files:
        for part in states_of.stream_documents(texts_of(file), views=["multi"]):
            states = part.multi.flat.astype(np.float64)
            count, total, squares = count + len(states), total + states.sum(axis=0), squares + states.T @ states
    mean = total / count
    values, axes = np.linalg.eigh(squares / count - np.outer(mean, mean))
    order = np.argsort(-values)[:DIMENSIONS]
    chosen = axes[:, order]
    chosen *= np.sign(
        chosen[np.abs(chosen).argmax(axis=0), np.arange(DIMENSIONS)]
    )  # eigenvectors have no sign of their own
    weight = np.ascontiguousarray(chosen.T.astype(np.float32))
    save_file(
        {"projection.weight": weight, "projection.bias": (-weight @ mean).astype(np.float32)},
        str(HEADS / DEFAULT / "heads.safetensors"),
    )
    print(f"{count} states, {values[order].sum() / values.sum():.3f} of the variance kept")


if __name__ == "__main__":
    main()
