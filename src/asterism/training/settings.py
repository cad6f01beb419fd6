"""The settings of a training run: what a recipe file says, section by section."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from ..encoders.pairs import SHORTEST_PAIR
from ..errors import SettingError
from ..settings import Settings, check_choice, check_number, check_whole_number

Form = Literal["tokens", "cls", "emb"]
Objective = Literal["maxsim", "xtr"]
ProjectionForm = Literal["linear", "gated"]
PoolingForm = Literal["positions", "full"]
TrainingPrecision = Literal["auto", "float32", "bfloat16"]
MOST_STEPS = 10**9
LONGEST_ROW = 8192
MARKERS = ("[unused0]", "[unused1]", "[unused2]")


class Section(Settings):
    """One table of a recipe: values are checked by a table of least and most, and of choices."""

    def _check(self, whole: dict[str, tuple[int, int]], numbers: dict[str, tuple[float, float]]) -> None:
        self.check_types()
        for name, limits in whole.items():
            object.__setattr__(self, name, check_whole_number(name, getattr(self, name), *limits))
        for name, range_ in numbers.items():
            object.__setattr__(self, name, check_number(name, getattr(self, name), *range_))


@dataclass(frozen=True)
class BackboneSettings(Section):
    """What every model in training has.

    backbone      a model by name or folder
    form          "tokens" for late interaction; "cls" or "emb" for a cross-encoder
    train_layers  train the top n layers and the head (0: train everything)
    batch_tokens  tokens that run through the transformer at once, padding included
    """

    backbone: str = "all-MiniLM-L6-v2"
    form: Form = "tokens"
    train_layers: int = 0
    batch_tokens: int = 4096

    def __post_init__(self) -> None:
        """Check every value."""
        self._check({"train_layers": (0, 1000), "batch_tokens": (1, 1 << 24)}, {})


@dataclass(frozen=True)
class ModelSettings(BackboneSettings):
    """Late interaction. Below `train_layers`, states are computed once; the backbone's projection is used if it fits.

    dimensions            of a vector
    projection, inner     "linear", or "gated" with this many inner dimensions (0: twice the hidden ones)
    query_length          tokens of a query; with `expand_queries`, always this many, filled up with [MASK]
    document_length       tokens of a document that training reads; the trained model reads the rest in further windows
    query_marker, document_marker   a token after the first one that tells the sides apart, "" for none
    skip_punctuation      whether punctuation in documents has no vector
    vectors_per_document  C vectors for any document, by learned pooling (0: one for each token)
    pooling               "positions": over positions, as ConstBERT was released; "full": the paper's matrix
    """

    dimensions: int = 128
    projection: ProjectionForm = "linear"
    inner: int = 0
    query_length: int = 32
    document_length: int = 180
    expand_queries: bool = False
    query_marker: str = ""
    document_marker: str = ""
    skip_punctuation: bool = True
    vectors_per_document: int = 0
    pooling: PoolingForm = "positions"

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        self._check(
            {
                "dimensions": (1, 4096),
                "inner": (0, 65536),
                "query_length": (8, LONGEST_ROW),
                "document_length": (8, LONGEST_ROW),
                "vectors_per_document": (0, 4096),
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
class PairModelSettings(BackboneSettings):
    """A cross-encoder. Below `train_layers`, layers keep their weights, but every pair runs through them.

    form     "cls": a linear layer over [CLS]; "emb": mean of the states of two markers · state of the third
    length   tokens of a pair; the text is cut first
    markers  of "emb": before and after the query, before the text; tokens of the backbone's tokenizer
    """

    form: Form = "cls"
    length: int = 256
    markers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check every value; "emb" without markers has BERT's unused tokens."""
        super().__post_init__()
        self._check({"length": (SHORTEST_PAIR, LONGEST_ROW)}, {})
        markers = self.markers or (MARKERS if self.form == "emb" else ())
        if not isinstance(markers, list | tuple) or not all(isinstance(token, str) and token for token in markers):
            raise SettingError(f"markers is {markers!r}, expected a list of three tokens")
        if self.form != "emb" and markers:
            raise SettingError(f"markers is {list(markers)}, but only the form 'emb' has markers: remove them")
        if self.form == "emb" and len(set(markers)) != 3:
            raise SettingError(f"markers is {list(markers)}, expected three different tokens")
        object.__setattr__(self, "markers", tuple(markers))


@dataclass(frozen=True)
class ScoreLossSettings(Section):
    """What is minimised: contrast · cross-entropy + distillation · KL(teacher ‖ student).

    temperature    scores are divided by it
    contrast       weight of the cross-entropy
    distillation   weight of the divergence from the teacher over each query's own documents
    teacher_scale  the teacher's scores are multiplied by it
    """

    temperature: float = 1.0
    contrast: float = 1.0
    distillation: float = 0.0
    teacher_scale: float = 1.0

    def __post_init__(self) -> None:
        """Check every value."""
        self._check(
            {},
            {"temperature": (1e-6, 1e6), "contrast": (0, 1e6), "distillation": (0, 1e6), "teacher_scale": (0, 1e6)},
        )
        if not self.contrast and not self.distillation:
            raise SettingError("contrast and distillation are both 0, expected at least one above 0")


@dataclass(frozen=True)
class LossSettings(ScoreLossSettings):
    """Late interaction: the cross-entropy is over all documents of the batch.

    objective    "maxsim" (ColBERT) or "xtr": only tokens among the k_train best of the whole batch count
    k_train      for "xtr"
    temperature  1/query_length makes ColBERT's sums of the means
    """

    objective: Objective = "maxsim"
    k_train: int = 256
    temperature: float = 0.05

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        self._check({"k_train": (1, 1 << 30)}, {})
        check_choice("objective", self.objective, get_args(Objective))


@dataclass(frozen=True)
class PairLossSettings(ScoreLossSettings):
    """A cross-encoder: the cross-entropy is over each query's own documents."""


@dataclass(frozen=True)
class RunSettings(Section):
    """How it is minimised: AdamW, linear warm-up, then linear decay to 0.

    steps             updates; 0: as many as `epochs` need
    batch             queries of an update, in each process and each part of an accumulated update
    accumulate        parts of an update; in-batch negatives, which only late interaction has, are those of a part
    negatives         hard negatives of each query, chosen anew in each epoch
    rate, head_rate   learning rates of the transformer and of the head (0: the same)
    dropout           of states; the weights of attention have none
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
    """All sections that training itself needs; `find_sections` has the classes that belong together."""

    model: ModelSettings | PairModelSettings = field(default_factory=ModelSettings)
    loss: LossSettings | PairLossSettings = field(default_factory=LossSettings)
    run: RunSettings = field(default_factory=RunSettings)


def find_sections(
    form: Form,
) -> tuple[type[ModelSettings | PairModelSettings], type[LossSettings | PairLossSettings]]:
    """The classes of the sections [model] and [loss]."""
    check_choice("model.form", form, get_args(Form))
    return (ModelSettings, LossSettings) if form == "tokens" else (PairModelSettings, PairLossSettings)
