"""Lower states: equal to BERT's formulas in NumPy; which layers and rows can be asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from asterism.encoders.checkpoints.checkpoint import Checkpoint
from asterism.encoders.checkpoints.layouts import open_checkpoint
from asterism.encoders.encoder import Encoder
from asterism.encoders.graph.bert import Bert
from asterism.encoders.tokens import Row
from asterism.errors import CheckpointError, EncodingError, InputError, SettingError
from asterism.settings import EncoderSettings
from tests import layouts
from tests.layouts import HIDDEN, LAYERS, TEXTS
from tests.unit.encoders.numpy_bert import NumpyBert
from tests.unit.encoders.rows_and_states import find_folders, make_rows, open_states

ROUNDING = {"rtol": 2**-10, "atol": 2e-4}  # of float16, and of float32 sums before it


@dataclass(frozen=True)
class Model:
    """A checkpoint, the same in NumPy, and some rows."""

    checkpoint: Checkpoint
    numpy: NumpyBert
    rows: list[Row]


@pytest.fixture(scope="module", params=["bert", "roberta"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp(request.param) / "model"
    if request.param == "bert":
        checkpoint = open_checkpoint(layouts.colbert(folder))
        numpy = NumpyBert(layouts.bert_weights(checkpoint.transformer.vocabulary, 256, 2), 1e-12, 0)
    else:
        checkpoint = open_checkpoint(layouts.bge_m3(folder))
        numpy = NumpyBert(layouts.bert_weights(checkpoint.transformer.vocabulary, 130, 1), 1e-5, 2)
    rows = make_rows(checkpoint, TEXTS) + make_rows(checkpoint, TEXTS, "query")
    return Model(checkpoint, numpy, rows)


# Values ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", range(LAYERS + 1))
def test_the_first_layers_are_the_formulas(model: Model, layers: int, tmp_path: Path) -> None:
    states = open_states(tmp_path, model.checkpoint, layers, model.rows)
    assert len(states) == len(model.rows)
    assert states.hidden == HIDDEN
    for number, row in enumerate(model.rows):
        assert states[number].dtype == np.float16
        np.testing.assert_allclose(states[number], model.numpy.run(row, layers), **ROUNDING)


@pytest.mark.parametrize("layers", range(LAYERS + 1))
def test_the_layers_above_lead_to_the_whole_models_states(model: Model, layers: int, tmp_path: Path) -> None:
    lower = open_states(tmp_path, model.checkpoint, layers, model.rows)
    whole = open_states(tmp_path, model.checkpoint, LAYERS, model.rows)
    for number, row in enumerate(model.rows):
        x = lower[number].astype(np.float64)
        for layer in range(layers, LAYERS):
            x = model.numpy.run_layer(layer, x, row.attended)
        np.testing.assert_allclose(x, whole[number], atol=0.02)


def test_all_layers_lead_to_the_encoders_views(model: Model, tmp_path: Path) -> None:
    """The states under the encoder's own head give the encoder's own vectors."""
    texts = ["the quick fox", "How do I run a function?"]
    checkpoint = model.checkpoint
    states = open_states(tmp_path, checkpoint, LAYERS, make_rows(checkpoint, texts, "query"))
    found = Encoder(checkpoint, EncoderSettings(threads=1)).encode_query(texts).multi
    for number in range(len(texts)):
        x = states[number].astype(np.float32)
        for layer in checkpoint.multi.layers:
            x = layer(x)
        np.testing.assert_allclose(x[0 if checkpoint.query.first_counts else 1 :], found[number], atol=5e-3)


def test_fillers_are_not_attended_to(bert: Checkpoint, tmp_path: Path) -> None:
    (row,) = make_rows(bert, ["the quick fox"], "query")
    assert row.attended < len(row.ids) == bert.query.expand_to
    other = replace(row, ids=np.where(np.arange(len(row.ids)) < row.attended, row.ids, 50))
    both = open_states(tmp_path, bert, 2, [row, other, replace(row, attended=len(row.ids))])
    np.testing.assert_allclose(both[0][: row.attended], both[1][: row.attended], **ROUNDING)
    assert np.abs(both[0][row.attended :] - both[1][row.attended :]).max() > 0.1
    assert np.abs(both[0][: row.attended] - both[2][: row.attended]).max() > 0.1


@pytest.mark.parametrize("batch_tokens", [1, 50, 10_000])
def test_batches_do_not_matter(model: Model, batch_tokens: int, tmp_path: Path) -> None:
    together = open_states(tmp_path / str(batch_tokens), model.checkpoint, 3, model.rows, batch_tokens=batch_tokens)
    for number, row in enumerate(model.rows):
        alone = open_states(tmp_path / "alone", model.checkpoint, 3, [row])
        np.testing.assert_allclose(together[number], alone[0], **ROUNDING)


def test_long_rows_need_no_mask(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = make_rows(model.checkpoint, ["fox dog " * 40])
    expected = open_states(tmp_path / "masked", model.checkpoint, 2, rows)
    monkeypatch.setattr("asterism.encoders.runtimes.onnx.LONG_ROW", 16)
    found = open_states(tmp_path / "unmasked", model.checkpoint, 2, rows)
    np.testing.assert_allclose(found[0], expected[0], **ROUNDING)


@settings(max_examples=15, deadline=None)
@given(
    drawn=st.lists(
        st.lists(st.integers(0, 150), max_size=20).flatmap(
            lambda ids: st.tuples(st.just(ids), st.integers(min(1, len(ids)), len(ids)))
        ),
        max_size=8,
    ),
    layers=st.integers(0, 2),
)
def test_any_rows(
    bert: Checkpoint,
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[list[int], int]],
    layers: int,
) -> None:
    numpy = NumpyBert(layouts.bert_weights(bert.transformer.vocabulary, 256, 2), 1e-12, 0)
    rows = [Row(i, np.array(ids, np.int64), attended, 0, len(ids)) for i, (ids, attended) in enumerate(drawn)]
    states = open_states(tmp_path_factory.mktemp("any"), bert, layers, rows, batch_tokens=40)
    assert len(states) == len(rows)
    for number, row in enumerate(rows):
        assert states[number].shape == (len(row.ids), HIDDEN)
        if len(row.ids):
            np.testing.assert_allclose(states[number], numpy.run(row, layers), **ROUNDING)
    padded, lengths = states.gather(range(len(rows)))
    assert lengths.tolist() == [len(row.ids) for row in rows]
    assert padded.shape == (len(rows), max(lengths, default=0), HIDDEN)


def test_gather(bert: Checkpoint, tmp_path: Path) -> None:
    rows = make_rows(bert, TEXTS)
    states = open_states(tmp_path, bert, 1, rows)
    padded, lengths = states.gather(np.array([5, 0, 5, 2]))
    assert padded.dtype == np.float16
    assert lengths.tolist() == [len(rows[number].ids) for number in (5, 0, 5, 2)]
    assert padded.shape == (4, lengths.max(), HIDDEN)
    for line, length, number in zip(padded, lengths, (5, 0, 5, 2), strict=True):
        np.testing.assert_array_equal(line[:length], states[number])
        assert not line[length:].any()


# The model's layers ---------------------------------------------------------------------------------------------------


def test_a_model_of_fewer_layers(bert: Checkpoint) -> None:
    whole = bert.transformer
    assert isinstance(whole, Bert)
    kept = whole.keep_layers(1)
    assert (kept.shape.layers, whole.shape.layers) == (1, LAYERS)
    names = {tensor.name for tensor in kept.list_tensors()}
    assert names < {tensor.name for tensor in whole.list_tensors()}
    assert not any(".layer.1." in name for name in names)
    assert kept.keep_layers(0).shape.layers == 0


@pytest.mark.parametrize("layers", [-1, LAYERS + 1])
def test_layers_that_the_model_does_not_have(bert: Checkpoint, layers: int, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=f"{layers} layers were requested, expected from 0 to {LAYERS}"):
        open_states(tmp_path, bert, layers, [])


def test_another_architecture(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(layouts.xtr(tmp_path / "model"))
    with pytest.raises(CheckpointError, match="expected BERT, RoBERTa or XLM-RoBERTa"):
        open_states(tmp_path / "cache", checkpoint, 1, [])


def test_bad_arguments(bert: Checkpoint, tmp_path: Path) -> None:
    row = Row(0, np.full(257, 9), 257, 0, 257)
    with pytest.raises(InputError, match="a row has 257 tokens, expected at most 256"):
        open_states(tmp_path, bert, 1, [row])
    with pytest.raises(SettingError, match="batch_tokens is 0"):
        open_states(tmp_path, bert, 1, [], batch_tokens=0)
    assert list(tmp_path.iterdir()) == []


def test_states_too_large_for_float16(tmp_path: Path) -> None:
    folder = layouts.colbert(tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    weights["bert.embeddings.LayerNorm.weight"] *= 1e6
    save_file(weights, folder / "model.safetensors")
    checkpoint = open_checkpoint(folder)
    with pytest.raises(EncodingError, match=r"text 0 has a state of .*, expected at most 65504, float16's largest"):
        open_states(tmp_path / "cache", checkpoint, 0, make_rows(checkpoint, ["the fox"]))
    assert find_folders(tmp_path / "cache") == []
    assert len(open_states(tmp_path / "cache", checkpoint, 1, make_rows(checkpoint, ["the fox"]))) == 1
