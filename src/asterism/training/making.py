"""The learner that the settings ask for: the one place that tells the kinds of models apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..encoders.checkpoints.checkpoint import Checkpoint
from ..errors import SettingError
from .backbone import count_frozen_layers
from .cross_encoder import CrossEncoder
from .examples import TrainingSet
from .late_interaction import LateInteraction
from .learner import Learner
from .model import make_model
from .pair_model import make_pair_model
from .pair_texts import PairTexts, check_pair_backbone
from .settings import LossSettings, ModelSettings, PairLossSettings, PairModelSettings, TrainingSettings
from .texts import Rules, TrainingTexts


def make_learner(
    checkpoint: Checkpoint, settings: TrainingSettings, data: TrainingSet, states: Path, note: Callable[[str], None]
) -> Learner:
    """Tokenise all texts and load the model; the states of frozen layers are kept in the folder `states`."""
    model, loss, seed = settings.model, settings.loss, settings.run.seed
    if isinstance(model, ModelSettings) and isinstance(loss, LossSettings):
        texts = TrainingTexts(checkpoint, model, data.queries, data.passages)
        if model.train_layers:
            texts.freeze(states, settings.run.threads, _tell_quarters(note, len(data.queries) + len(data.passages)))
        return LateInteraction(checkpoint, make_model(checkpoint, model, seed), texts, loss)
    if isinstance(model, PairModelSettings) and isinstance(loss, PairLossSettings):
        pairs = PairTexts(checkpoint, model, data.queries, data.passages)
        return CrossEncoder(checkpoint, make_pair_model(checkpoint, model, seed), pairs, loss)
    raise SettingError(
        f"the sections are {type(model).__name__} and {type(loss).__name__}, expected ModelSettings and LossSettings, "
        "or PairModelSettings and PairLossSettings"
    )


def _tell_quarters(note: Callable[[str], None], total: int) -> Callable[[int], None]:
    """A callback that receives the count of texts so far; nothing is told if they are found in the cache."""
    told = -1

    def tell(done: int) -> None:
        nonlocal told
        quarter = 4 * done // total
        if quarter > told:
            told = quarter
            note(f"computing what the frozen layers make of all texts, once: {25 * quarter} %")

    return tell


def check_backbone(checkpoint: Checkpoint, settings: ModelSettings | PairModelSettings) -> None:
    """Raise if a backbone cannot be trained with these settings: before anything that takes time."""
    if isinstance(settings, PairModelSettings):
        check_pair_backbone(checkpoint, settings)
        return
    Rules.from_settings(checkpoint, settings)
    count_frozen_layers(checkpoint, settings)
