"""The cross-encoder of an index: where it is, and the hashes of its files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..encoders.loading import load_pair_scorer
from ..errors import InputError, ModelDiffers
from ..factorised.scorers import Scorer

if TYPE_CHECKING:  # onnxruntime is loaded when the first pair is scored
    from ..encoders.pair_scorer import PairScorer


def describe_scorer(model: str, scorer: PairScorer) -> dict[str, Any]:
    """What is stored of a cross-encoder."""
    folder = Path(model).expanduser()
    return {"model": str(folder.resolve()) if folder.is_dir() else model, "files": scorer.hash_files()}


def load_described(stored: Mapping[str, Any], where: Path, model: str | None = None) -> Scorer:
    """The cross-encoder that was described, from its place or from another; any other one is refused."""
    place = model or stored.get("model")
    if not isinstance(place, str):
        raise InputError(f"{where} was made with a scorer of your own, which cannot be loaded by name: pass it")
    scorer = load_pair_scorer(place, precision="int8")
    if scorer.hash_files() != stored.get("files"):
        raise ModelDiffers(f"{place} is not the model that {where} was made with: pass that one, or build it again")
    return scorer
