"""What the training loop needs to know of a model: two kinds have it, late interaction and cross-encoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor, nn

from .batches import Part
from .examples import Example


@dataclass(frozen=True)
class Evaluation:
    """How the model is measured on the dev part.

    measure  MRR@10 with the weights of now
    about    what is ranked, for the model card
    """

    measure: Callable[[], float]
    about: str


class Learner(Protocol):
    """A model in training with the texts that it learns from."""

    kind: str  # for messages

    @property
    def model(self) -> nn.Module:
        """The weights; those of the transformer have names that begin with `transformer.`."""

    def compute_loss(self, part: Part) -> Tensor:
        """The loss of this process's share of a part."""

    def make_evaluation(self, examples: Sequence[Example], passages: int, seed: int) -> Evaluation | None:
        """For the examples of the dev part; at most so many passages are ranked. None if there is nothing to rank."""

    def describe(self) -> dict[str, Any]:
        """Facts for the model card."""

    def write(self, folder: Path, card: str) -> None:
        """Write a model folder that is used without torch."""
