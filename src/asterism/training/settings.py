"""The settings of a training run: what a recipe file says, section by section."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from ..errors import SettingError
from ..settings import Settings, check_choice, check_number, check_whole_number

Objective = Literal["maxsim", "xtr"]
ProjectionForm = Literal["linear", "gated"]
PoolingForm = Literal["positions", "full"]
TrainingPrecision = Literal["auto", "float32", "bfloat16"]
MOST_STEPS = 10**9
LONGEST_ROW = 8192


class Section(Settings):
    """One table of a recipe: values are checked by a table of least and most, and of choices."""

    def _check(self, whole: dict[str, tuple[int, int]], numbers: dict[str, tuple[float, float]]) -> None:
        for name, limits in whole.items():
            object.__setattr__(self, name, check_whole_number(name, getattr(self, name), *limits))
        for name, range_ in numbers.items():
            object.__setattr__(self, name, check_number(name, getattr(self, name), *range_))


@dataclass(frozen=True)
class ModelSettings(Section):
    """What is trained.

    backbone              a model by name or folder; its own projection is the start if it fits
    dimensions            of a vector
    projection, inner     "linear", or "gated" with this many inner dimensions (0: twice the hidden ones)
    train_layers          train the top n layers and the head; what lies below is computed once (0: train everything)
    query_length          tokens of a query; with `expand_queries`, always this many, filled up with [MASK]
    document_length       tokens of a document that training reads; the trained model reads the rest in further windows
    query_marker, document_marker   a token after the first one that tells the sides apart, "" for none
    skip_punctuation      whether punctuation in documents has no vector
    vectors_per_document  C vectors for any document, by learned pooling (0: one for each token)
    pooling               "positions": over positions, as ConstBERT was released; "full": the paper's matrix
    batch_tokens          tokens that run through the transformer at once, padding included
    """

    backbone: str = "all-MiniLM-L6-v2"
    dimensions: int = 128
    projection: ProjectionForm = "linear"
    inner: int = 0
    train_layers: int = 0
    query_length: int = 32
    document_length: int = 180
    expand_queries: bool = False
    query_marker: str = ""
    document_marker: str = ""
    skip_punctuation: bool = True
    vectors_per_document: int = 0
    pooling: PoolingForm = "positions"
    batch_tokens: int = 4096

    def __post_init__(self) -> None:
        """Check every value."""
        self._check(
            {
                "dimensions": (1, 4096),
                "inner": (0, 65536),
                "train_layers": (0, 1000),
                "query_length": (8, LONGEST_ROW),
                "document_length": (8, LONGEST_ROW),
                "vectors_per_document": (0, 4096),
                "batch_tokens": (1, 1 << 24),
            },
            {},
        )
        check_choice("projection", self.projection, get_args(ProjectionForm))
        check_choice("pooling", self.pooling, get_args(PoolingForm))
        if self.vectors_per_document >= self.document_length:
            raise SettingError(
                f"vectors_per_document is {self.vectors_per_document}, expected fewer than the "
                f"{self.document_length} tokens of document_length"
            )


@dataclass(frozen=True)
class LossSettings(Section):
    """What is minimised: contrast · cross-entropy + distillation · KL(teacher ‖ student).

    objective      "maxsim" (ColBERT) or "xtr": only tokens among the k_train best of the whole batch count
    k_train        for "xtr"
    temperature    scores are divided by it; 1/query_length makes ColBERT's sums of the means
    contrast       weight of the cross-entropy over all documents of the batch
    distillation   weight of the divergence from the teacher over each query's own documents
    teacher_scale  the teacher's scores are multiplied by it
    """

    objective: Objective = "maxsim"
    k_train: int = 256
    temperature: float = 0.05
    contrast: float = 1.0
    distillation: float = 0.0
    teacher_scale: float = 1.0

    def __post_init__(self) -> None:
        """Check every value."""
        self._check(
            {"k_train": (1, 1 << 30)},
            {"temperature": (1e-6, 1e6), "contrast": (0, 1e6), "distillation": (0, 1e6), "teacher_scale": (0, 1e6)},
        )
        check_choice("objective", self.objective, get_args(Objective))
        if not self.contrast and not self.distillation:
            raise SettingError("contrast and distillation are both 0, expected at least one above 0")


@dataclass(frozen=True)
class RunSettings(Section):
    """How it is minimised: AdamW, linear warm-up, then linear decay to 0.

    steps             updates; 0: as many as `epochs` need
    batch             queries of an update, in each process and each part of an accumulated update
    accumulate        parts of an update; in-batch negatives are those of a part
    negatives         hard negatives of each query, chosen anew in each epoch
    rate, head_rate   learning rates of the transformer and of the head (0: the same)
    evaluate_every    steps between evaluations on the dev part, and between checkpoints (0: only at the end)
    refresh_every     steps between searches for new hard negatives with the model itself (0: never)
    precision         "auto": bfloat16 where the processor or the GPU computes with it
    """

    steps: int = 0
    epochs: int = 1
    batch: int = 32
    accumulate: int = 1
    negatives: int = 0
    rate: float = 2e-5
    head_rate: float = 0.0
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    dropout: float = 0.1
    evaluate_every: int = 200
    refresh_every: int = 0
    precision: TrainingPrecision = "auto"
    seed: int = 1
    threads: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        self._check(
            {
                "steps": (0, MOST_STEPS),
                "epochs": (1, 10**6),
                "batch": (1, 1 << 20),
                "accumulate": (1, 1 << 20),
                "negatives": (0, 1 << 10),
                "evaluate_every": (0, MOST_STEPS),
                "refresh_every": (0, MOST_STEPS),
                "seed": (0, 2**31 - 1),
                "threads": (0, 256),
            },
            {
                "rate": (0, 10),
                "head_rate": (0, 10),
                "warmup": (0, 1),
                "weight_decay": (0, 10),
                "clip": (1e-9, 1e9),
                "dropout": (0, 0.9),
            },
        )
        check_choice("precision", self.precision, get_args(TrainingPrecision))

    def count_steps(self, examples: int, processes: int) -> int:
        """Updates of the whole run."""
        return self.steps or self.epochs * max(1, examples // (self.batch * self.accumulate * processes))

    def compute_rate(self, step: int, steps: int) -> float:
        """The share of the learning rate at an update, from 0: up to 1 during the warm-up, then down to 0."""
        rising = max(1, math.ceil(self.warmup * steps))
        return (step + 1) / rising if step < rising else max(0.0, (steps - step) / max(1, steps - rising))


@dataclass(frozen=True)
class TrainingSettings(Settings):
    """All sections that training itself needs."""

    model: ModelSettings = field(default_factory=ModelSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    run: RunSettings = field(default_factory=RunSettings)
