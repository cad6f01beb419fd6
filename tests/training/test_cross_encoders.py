"""Cross-encoders in both forms: the loss by hand, learning, exact resumption, and the same scores without torch."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from asterism import load_encoder, load_pair_scorer
from asterism.encoders.checkpoints.layouts import open_checkpoint
from asterism.errors import CheckpointError, InputError, SettingError, TrainingError
from asterism.recipes.recipe import Recipe, read_recipe
from asterism.recipes.run import run_recipe
from asterism.training import trainer
from asterism.training.batches import BatchDrawer
from asterism.training.cross_encoder import CrossEncoder
from asterism.training.examples import Example, TrainingSet
from asterism.training.making import make_learner
from asterism.training.optimiser import set_dropout
from asterism.training.settings import (
    Form,
    LossSettings,
    PairLossSettings,
    PairModelSettings,
    RunSettings,
    TrainingSettings,
)
from tests import layouts
from tests.training.resuming import Stopped, compare_resumed, stop_after
from tests.training.tiny import make_recipe

FORMS: list[Form] = ["cls", "emb"]
WORDY = [text for text in layouts.TEXTS if text.strip()]


def make_cross_encoder(
    folder: Path, form: Form, data: TrainingSet, loss: PairLossSettings | None = None, length: int = 64
) -> CrossEncoder:
    """An untrained one, without dropout."""
    settings = PairModelSettings(str(folder), form=form, length=length)
    training = TrainingSettings(settings, loss or PairLossSettings(), RunSettings(seed=3))
    made = make_learner(open_checkpoint(folder), training, data, folder, lambda _: None)
    assert isinstance(made, CrossEncoder)
    set_dropout(made.model, 0.0)
    return made


# --- the loss ---


DATA = TrainingSet(
    [f"the {word} of data" for word in layouts.WORDS[:6]],
    [f"a {word} runs over the fox {number}" for number, word in enumerate(layouts.WORDS[:30])],
    [
        Example(i, (i,), (10 + i, 20 + i), {i: 2.0, 10 + i: 1.0 - i, 20 + i: 0.25 * i} if i % 2 else {})
        for i in range(6)
    ],
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("contrast", "distillation"), [(1.0, 0.0), (0.0, 1.0), (0.5, 2.0)])
def test_the_loss_by_hand(model: Path, tmp_path: Path, form: Form, contrast: float, distillation: float) -> None:
    """From the scores of the written model, which no torch computes."""
    loss = PairLossSettings(temperature=0.7, contrast=contrast, distillation=distillation, teacher_scale=0.5)
    learner = make_cross_encoder(model, form, DATA, loss)
    learner.write(tmp_path / "out", "")
    scorer = load_pair_scorer(tmp_path / "out")
    part = BatchDrawer(DATA.examples, len(DATA.passages), 3, 6, 1).draw(0)
    total = 0.0
    for query, documents, teacher in zip(part.queries, part.documents, part.teacher, strict=True):
        scores = scorer.score(DATA.queries[query], [DATA.passages[number] for number in documents])
        student = [float(score) / 0.7 for score in scores]
        total += contrast * (math.log(sum(math.exp(one) for one in student)) - student[0])
        known = [place for place in range(4) if not np.isnan(teacher[place])]
        if known:
            p = np.exp([0.5 * teacher[place] for place in known])
            q = np.exp([student[place] for place in known])
            p, q = p / p.sum(), q / q.sum()
            total += distillation * float((p * np.log(p / q)).sum())
    assert learner.compute_loss(part).item() == pytest.approx(total / 6, abs=1e-4)


def test_relevant_passages_do_not_compete(model: Path) -> None:
    """A negative of one example that is a positive of another with the same query."""
    twice = TrainingSet(DATA.queries, DATA.passages, [Example(0, (1,), (2, 3)), Example(0, (2,), (4, 5))])
    without = TrainingSet(DATA.queries, DATA.passages, [Example(0, (1,), (3,)), Example(0, (2,), (4, 5))])
    learner = make_cross_encoder(model, "cls", DATA)
    found = learner.compute_loss(BatchDrawer(twice.examples, 30, 2, 2, 1).draw(0)).item()
    alone = [
        learner.compute_loss(BatchDrawer([one], 30, len(one.negatives), 1, 1).draw(0)).item()
        for one in without.examples
    ]
    assert found == pytest.approx(sum(alone) / 2, abs=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_dev_score_by_hand(model: Path, tmp_path: Path, form: Form) -> None:
    learner = make_cross_encoder(model, form, DATA)
    learner.write(tmp_path / "out", "")
    scorer = load_pair_scorer(tmp_path / "out")
    dev = [Example(i, (i, 6 + i), tuple(range(12, 30))) for i in range(6)]
    total = 0.0
    for example in dev:
        numbers = [*example.positives, *example.negatives]
        scores = scorer.score(DATA.queries[example.query], [DATA.passages[number] for number in numbers])
        rank = 1 + sum(score >= max(scores[:2]) for score in scores[2:])
        total += 1 / rank if rank <= 10 else 0.0
    evaluation = learner.make_evaluation([*dev, Example(0, (1,))], 0, 0)  # the last has nothing to rank
    assert evaluation is not None
    assert evaluation.about == "6 queries, each with its positives and hard negatives, 20.0 on average"
    learner.model.eval()
    with torch.inference_mode():
        assert evaluation.measure() == pytest.approx(total / 6)
    assert learner.make_evaluation([Example(0, (1,))], 0, 0) is None


def test_equal_scores_are_not_the_best_score(model: Path) -> None:
    learner = make_cross_encoder(model, "cls", DATA)
    evaluation = learner.make_evaluation([Example(i, (i,), tuple(range(10, 20))) for i in range(6)], 0, 0)
    assert evaluation is not None
    with torch.inference_mode():
        learner.model.head.weight.zero_()
        assert evaluation.measure() == 0


# --- what is written ---


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("length", [16, 32, 256])
def test_scores_with_and_without_torch(model: Path, tmp_path: Path, form: Form, length: int) -> None:
    texts = [*WORDY, "late interaction of tokens " * 30]
    data = TrainingSet(texts, texts, [])
    learner = make_cross_encoder(model, form, data, length=length)
    with torch.no_grad():  # as after some training
        for parameter in learner.model.parameters():
            parameter += 0.02 * torch.randn_like(parameter)
    learner.write(tmp_path / "out", "a card")
    scorer = load_pair_scorer(tmp_path / "out")
    pairs = learner._texts.make_pairs(range(len(texts)), [range(len(texts))] * len(texts))
    with torch.inference_mode():
        expected = learner.model.eval()(pairs).view(len(texts), len(texts)).numpy()
    found = np.stack([scorer.score(query, texts) for query in texts])
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert scorer.truncated == sum(pair.cut for pair in pairs) > 0
    assert np.ptp(expected) > 0.1
    assert (tmp_path / "out" / "README.md").read_text() == "a card"


def test_an_xlm_roberta(tmp_path: Path) -> None:
    folder = layouts.bge_m3(tmp_path / "model")
    learner = make_cross_encoder(folder, "cls", TrainingSet(WORDY, WORDY, []))
    learner.write(tmp_path / "out", "")
    with torch.inference_mode():
        expected = learner.model.eval()(learner._texts.make_pairs([1], [range(len(WORDY))])).numpy()
    np.testing.assert_allclose(load_pair_scorer(tmp_path / "out").score(WORDY[1], WORDY), expected, atol=1e-4)


def test_a_cross_encoder_is_no_encoder(model: Path, tmp_path: Path, pairs: Path) -> None:
    make_cross_encoder(model, "emb", DATA).write(tmp_path / "out", "")
    message = r"out is a cross-encoder, expected a model of texts: use load_pair_scorer for it"
    with pytest.raises(CheckpointError, match=message):
        load_encoder(tmp_path / "out")
    with pytest.raises(CheckpointError, match=message):
        run_recipe(make_recipe("cross_cls", tmp_path / "out", pairs), tmp_path / "x")


# --- the loop ---


@pytest.mark.parametrize(("form", "rate"), [("cls", 3e-3), ("emb", 1e-3)])
def test_it_learns(model: Path, pairs: Path, tmp_path: Path, form: str, rate: float) -> None:
    recipe = make_recipe(f"cross_{form}", model, pairs, "run.steps=40", "run.dropout=0", f"run.rate={rate}")
    done = run_recipe(recipe, tmp_path / "x")
    assert np.mean(done.losses[-5:]) < 0.8 * np.mean(done.losses[:5])
    lines = [json.loads(line) for line in (tmp_path / "x" / "log.jsonl").read_text().splitlines()]
    assert [line["loss"] for line in lines] == done.losses
    card = (tmp_path / "x" / "README.md").read_text()
    assert "A cross-encoder, trained and used with asterism" in card
    assert "asterism.load_pair_scorer('x').score(QUERY, TEXTS)" in card
    assert "each with its positives and hard negatives" in card
    assert f'form = "{form}"' in card
    again = tmp_path / "again.toml"
    again.write_text(card.split("```toml\n")[1].split("```")[0])
    assert read_recipe(again) == recipe
    assert not (tmp_path / "x.run").exists()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "changes",
    [(), ("model.train_layers=2", "run.accumulate=2", "negatives.teacher=hybrid", "loss.distillation=1")],
    ids=["plain", "frozen layers and a teacher"],
)
def test_a_resumed_run_has_the_same_losses(
    model: Path, pairs: Path, tmp_path: Path, form: str, changes: tuple[str, ...]
) -> None:
    files = ("model.safetensors", *(["heads.safetensors"] if form == "cls" else []))
    compare_resumed(make_recipe(f"cross_{form}", model, pairs, *changes), tmp_path, files)


def test_frozen_layers_stay_as_they_are(model: Path, tmp_path: Path) -> None:
    settings = PairModelSettings(str(model), form="emb", length=48, train_layers=1)
    training = TrainingSettings(settings, PairLossSettings(), RunSettings(seed=3, steps=2, batch=4, negatives=2))
    learner = make_learner(open_checkpoint(model), training, DATA, tmp_path, lambda _: None)
    before = {name: one.clone() for name, one in learner.model.state_dict().items()}
    trainer.Run(learner, DATA, training, tmp_path / "run").train()
    changed = {name for name, one in learner.model.state_dict().items() if not torch.equal(one, before[name])}
    assert changed
    assert all("layer.3." in name for name in changed)


# --- what is refused ---


def test_no_negatives(model: Path, pairs: Path, tmp_path: Path) -> None:
    recipe = make_recipe("cross_cls", model, pairs, 'negatives.ranking=""')
    with pytest.raises(InputError, match="no example has hard negatives, from which a cross-encoder learns, expected"):
        run_recipe(recipe, tmp_path / "x")


def test_negatives_of_the_data(model: Path, tmp_path: Path) -> None:
    """Without a ranking; dev queries without negatives are left out."""
    lines = [{"query": f"the {word} {i}", "pos": f"{word} runs {i}"} for i, word in enumerate(layouts.WORDS[:30])]
    for number, line in enumerate(lines[::2]):
        line["neg"] = f"a fox {number}"
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    done = run_recipe(
        make_recipe("cross_emb", model, file, 'negatives.ranking=""', "data.dev_share=0.5"), tmp_path / "x"
    )
    assert done.best_score is not None


@pytest.mark.parametrize(
    ("backbone", "form", "change", "message"),
    [
        (layouts.bge_m3, "emb", "run.seed=1", r"has no token '\[unused0\]', expected all three of model\.markers"),
        (layouts.xtr, "cls", "run.seed=1", "cannot become a cross-encoder, expected a BERT, RoBERTa or XLM-RoBERTa"),
        (layouts.sentence_transformer, "cls", "model.length=500", "length is 500, expected at most 256, as the model"),
        (layouts.sentence_transformer, "cls", "model.train_layers=9", "train_layers is 9, expected at most the 4 lay"),
    ],
    ids=["markers", "t5", "length", "layers"],
)
def test_a_backbone_that_does_not_fit(
    pairs: Path, tmp_path: Path, backbone: object, form: str, change: str, message: str
) -> None:
    """It is refused before hard negatives are looked for."""
    assert callable(backbone)
    folder = backbone(tmp_path / "model")
    with pytest.raises(SettingError, match=message):
        run_recipe(make_recipe(f"cross_{form}", folder, pairs, change), tmp_path / "x")
    assert not (tmp_path / "x.run" / "examples.jsonl").exists()


def test_a_checkpoint_of_another_kind(model: Path, pairs: Path, tmp_path: Path) -> None:
    cross = make_recipe("cross_cls", model, pairs)
    with pytest.raises(Stopped):
        run_recipe(cross, tmp_path / "x", report=stop_after(5))
    with pytest.raises(TrainingError, match=r"is of another run: model\.form was 'cls' and is 'emb'"):
        run_recipe(make_recipe("cross_emb", model, pairs), tmp_path / "x")
    tokens = read_recipe(
        "colbert", [f"model.backbone={model}", f'data.train=["{pairs}"]', "data.dev_queries=100", "run.negatives=1"]
    )
    tokens = Recipe(tokens.training, cross.data, cross.negatives)
    message = r"is of another run: data and model was|is of another run: kind was 'cross-encoder' and is 'late-inter"
    with pytest.raises(TrainingError, match=message):
        run_recipe(tokens, tmp_path / "x")


def test_sections_of_different_kinds(model: Path, tmp_path: Path) -> None:
    mixed = TrainingSettings(PairModelSettings(str(model)), LossSettings())
    with pytest.raises(SettingError, match="the sections are PairModelSettings and LossSettings, expected"):
        make_learner(open_checkpoint(model), mixed, DATA, tmp_path, lambda _: None)
