"""What training writes is what encoders read: the same vectors with and without torch, from a folder of any recipe."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from asterism import load_encoder
from asterism.encoders.checkpoints.checkpoint import Checkpoint
from asterism.encoders.checkpoints.layouts import open_checkpoint
from asterism.recipes.run import run_recipe
from asterism.training.late_interaction import LateInteraction
from asterism.training.model import LateInteractionModel, make_model
from asterism.training.optimiser import set_dropout
from asterism.training.settings import LossSettings, ModelSettings
from asterism.training.texts import TrainingTexts
from tests import layouts
from tests.training.tiny import make_recipe

WORDY = [text for text in layouts.TEXTS if text.strip()]
SHAPES = {
    "plain": {},
    "colbert": {"query_marker": "[unused0]", "document_marker": "[unused1]", "expand_queries": True},
    "gated": {"projection": "gated", "inner": 24},
    "positions": {"vectors_per_document": 4},
    "full": {"vectors_per_document": 3, "pooling": "full"},
    "top layers": {"train_layers": 1},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_vectors_with_and_without_torch(model: Path, tmp_path: Path, shape: str) -> None:
    settings = ModelSettings(str(model), dimensions=12, query_length=16, document_length=40, **SHAPES[shape])
    checkpoint = open_checkpoint(model)
    made = make_model(checkpoint, settings, 3)
    with torch.no_grad():  # as after some training
        for parameter in made.parameters():
            if parameter.requires_grad:
                parameter += 0.02 * torch.randn_like(parameter)
    compare_with_encoder(made, checkpoint, settings, tmp_path / "out")


def compare_with_encoder(
    made: LateInteractionModel, checkpoint: Checkpoint, settings: ModelSettings, folder: Path
) -> None:
    """Write the model, read it without torch, and compare all vectors."""
    made.eval()
    texts = TrainingTexts(checkpoint, settings, WORDY, WORDY)
    LateInteraction(checkpoint, made, texts, LossSettings()).write(folder, "a card")
    encoder = load_encoder(folder, long="truncate")
    with torch.inference_mode():
        for encode, read in (
            (texts.encode_queries, encoder.encode_query),
            (texts.encode_passages, encoder.encode_document),
        ):
            vectors, mask = encode(made, range(len(WORDY)))
            found = read(WORDY, views=["multi"]).multi
            for i in range(len(WORDY)):
                np.testing.assert_allclose(found[i], vectors[i][mask[i]].numpy(), atol=1e-4)


@pytest.mark.parametrize(("shape", "count"), [("plain", None), ("colbert", None), ("positions", 4)])
def test_long_documents_are_read_in_windows(model: Path, tmp_path: Path, shape: str, count: int | None) -> None:
    """Training cuts them; the model that it writes does not, unless the number of vectors is fixed."""
    settings = ModelSettings(str(model), dimensions=12, query_length=16, document_length=12, **SHAPES[shape])
    checkpoint = open_checkpoint(model)
    texts = TrainingTexts(checkpoint, settings, WORDY, WORDY)
    made = make_model(checkpoint, settings, 3)
    LateInteraction(checkpoint, made, texts, LossSettings()).write(tmp_path / "out", "a card")
    found = load_encoder(tmp_path / "out").encode_document(["a late interaction of tokens " * 20], views=["multi"])
    assert len(found.multi[0]) == count if count else len(found.multi[0]) > 60


@pytest.mark.parametrize("backbone", [layouts.bge_m3, layouts.xtr], ids=["xlm-roberta", "t5"])
@pytest.mark.parametrize("changes", [{}, {"vectors_per_document": 4}, {"expand_queries": True}], ids=str)
def test_other_backbones(tmp_path: Path, backbone: Callable[[Path], Path], changes: dict[str, Any]) -> None:
    folder = backbone(tmp_path / "model")
    settings = ModelSettings(str(folder), dimensions=12, query_length=16, document_length=40, **changes)
    checkpoint = open_checkpoint(folder)
    compare_with_encoder(make_model(checkpoint, settings, 3), checkpoint, settings, tmp_path / "out")


def test_dropout_reaches_every_place(tmp_path: Path) -> None:
    """T5 keeps the share of its attention as a number."""
    checkpoint = open_checkpoint(layouts.xtr(tmp_path))
    settings = ModelSettings(str(tmp_path), dimensions=12, query_length=16, document_length=40)
    texts = TrainingTexts(checkpoint, settings, WORDY, WORDY)
    made = make_model(checkpoint, settings, 3)
    set_dropout(made, 0.0)
    with torch.inference_mode():
        expected, found = (texts.encode_passages(made.train(mode), [0, 1])[0] for mode in (False, True))
    torch.testing.assert_close(found, expected)


def test_attention_has_no_dropout(model: Path) -> None:
    """With it, there is no fused attention on a CPU."""
    made = make_model(open_checkpoint(model), ModelSettings(str(model), dimensions=12), 3)
    set_dropout(made, 0.3)
    shares = {name: one.p for name, one in made.named_modules() if isinstance(one, torch.nn.Dropout)}
    assert {share for name, share in shares.items() if "attention.self" in name} == {0.0}
    assert {share for name, share in shares.items() if "attention.self" not in name} == {0.3}


def test_frozen_states_change_nothing(model: Path, tmp_path: Path) -> None:
    """Up to the float16 in which they are kept."""
    settings = ModelSettings(str(model), dimensions=12, query_length=16, document_length=40, train_layers=2)
    checkpoint = open_checkpoint(model)
    whole, frozen = (TrainingTexts(checkpoint, settings, WORDY, WORDY) for _ in range(2))
    frozen.freeze(tmp_path)
    made = make_model(checkpoint, settings, 3).eval()
    with torch.inference_mode():
        for name in ("encode_queries", "encode_passages"):
            numbers = [3, 0, 1, 3]
            expected, mask = getattr(whole, name)(made, numbers)
            found, same = getattr(frozen, name)(made, numbers)
            assert (mask == same).all()
            torch.testing.assert_close(found[mask], expected[mask], atol=2e-2, rtol=0)
    trained = {name for name, one in made.named_parameters() if one.requires_grad}
    assert trained == {name for name in trained if "layer.2." in name or "layer.3." in name or "projection" in name}


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1]])
def test_the_order_of_a_batch_does_not_matter(model: Path, order: list[int]) -> None:
    settings = ModelSettings(str(model), dimensions=12, query_length=16, document_length=40, batch_tokens=50)
    checkpoint = open_checkpoint(model)
    texts = TrainingTexts(checkpoint, settings, WORDY, WORDY)
    made = make_model(checkpoint, settings, 3).eval()
    with torch.inference_mode():
        alone = [texts.encode_passages(made, [number]) for number in order]
        vectors, mask = texts.encode_passages(made, order)
    for row, kept, (expected, places) in zip(vectors, mask, alone, strict=True):
        torch.testing.assert_close(row[kept], expected[0][places[0]], atol=1e-5, rtol=0)


RECIPES = {
    "colbert": (),
    "colbertv2": ("negatives.ranking=lexical", "negatives.teacher=hybrid", "negatives.depth=20", "negatives.count=4"),
    "xtr": ("model.train_layers=2",),
    "colxtr": (),
    "constbert": ("model.vectors_per_document=4",),
}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_from_pairs_to_an_answer(model: Path, pairs: Path, tmp_path: Path, name: str) -> None:
    recipe = make_recipe(name, model, pairs, *RECIPES[name])
    done = run_recipe(recipe, tmp_path / "model")
    assert len(done.losses) == 8
    assert done.best_score is not None
    card = (tmp_path / "model" / "README.md").read_text()
    assert "mean cosine of token vectors" in card
    assert f'objective = "{recipe.training.loss.objective}"' in card
    code = (
        "import sys, asterism\n"
        f"with asterism.Retriever.create({str(tmp_path / 'x.ast')!r}, {str(tmp_path / 'model')!r}) as made:\n"
        "    made.add([asterism.Document('a', 'the quick brown fox'), asterism.Document('b', 'light speed of data')])\n"
        "    print(made.search('quick fox', method='lexical').ids[0])\n"
        "    print(*sorted(made.search('quick fox').ids), *sorted(made.search('quick fox', method='colbert').ids))\n"
        "print('torch' in sys.modules)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["a", "a", "b", "a", "b", "False"]
