"""Lower states: equal to BERT's formulas in NumPy, computed once, and never half there."""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from asterism.encoders.checkpoints.checkpoint import Checkpoint
from asterism.encoders.checkpoints.layouts import open_checkpoint
from asterism.encoders.encoder import Encoder
from asterism.encoders.graph.bert import Bert
from asterism.encoders.lower_states import LowerStates, open_lower_states
from asterism.encoders.tokens import Row, tokenise
from asterism.errors import CheckpointError, EncodingError, InputError, SettingError
from asterism.settings import EncoderSettings
from tests import layouts
from tests.layouts import HEADS, HIDDEN, LAYERS, TEXTS

ROUNDING = {"rtol": 2**-10, "atol": 2e-4}  # of float16, and of float32 sums before it


# BERT in NumPy, from the formulas -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumpyBert:
    """Layers over one row (tokens, hidden), in float64."""

    weights: dict[str, np.ndarray]
    epsilon: float
    first_position: int

    def embed(self, ids: np.ndarray) -> np.ndarray:
        words, positions, types = (
            self.weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
        )
        places = np.arange(len(ids)) + self.first_position
        return self.normalise(words[ids] + positions[places].astype(np.float64) + types[0], "embeddings")

    def run_layer(self, layer: int, x: np.ndarray, attended: int) -> np.ndarray:
        at = f"encoder.layer.{layer}."
        query, key, value = (self.multiply(x, f"{at}attention.self.{part}") for part in ("query", "key", "value"))
        mixed = np.zeros_like(x)
        for head in range(HEADS):
            own = slice(head * HIDDEN // HEADS, (head + 1) * HIDDEN // HEADS)
            similarities = query[:, own] @ key[:attended, own].T / math.sqrt(HIDDEN // HEADS)
            shares = np.exp(similarities - similarities.max(axis=1, keepdims=True))
            mixed[:, own] = shares @ value[:attended, own] / shares.sum(axis=1, keepdims=True)
        x = self.normalise(x + self.multiply(mixed, f"{at}attention.output.dense"), f"{at}attention.output")
        inner = self.multiply(x, f"{at}intermediate.dense")
        inner = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
        return self.normalise(x + self.multiply(inner, f"{at}output.dense"), f"{at}output")

    def multiply(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].astype(np.float64).T + self.weights[f"{name}.bias"]

    def normalise(self, x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + self.epsilon)
        scale, shift = (self.weights[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        return centred / deviation * scale + shift

    def run(self, row: Row, layers: int) -> np.ndarray:
        x = self.embed(row.ids)
        for layer in range(layers):
            x = self.run_layer(layer, x, row.attended)
        return x


@dataclass(frozen=True)
class Model:
    """A checkpoint, the same in NumPy, and some rows."""

    checkpoint: Checkpoint
    numpy: NumpyBert
    rows: list[Row]


def make_rows(checkpoint: Checkpoint, texts: list[str], side: str = "document") -> list[Row]:
    rules = replace(getattr(checkpoint, side), windows=False)
    return tokenise(checkpoint.tokenizer, rules, texts).rows


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


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return open_checkpoint(layouts.colbert(tmp_path_factory.mktemp("bert") / "model"))


class Counter:
    """Receives progress, and remembers it."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def __call__(self, count: int) -> None:
        self.counts.append(count)


def open_states(cache: Path, checkpoint: Checkpoint, layers: int, rows: list[Row], **more: Any) -> LowerStates:
    return open_lower_states(cache, checkpoint, layers, rows, threads=1, **more)


def find_folders(cache: Path) -> list[Path]:
    return sorted(path for path in cache.iterdir() if path.name != "lock")


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


# The cache ------------------------------------------------------------------------------------------------------------


def test_a_second_open_computes_nothing(bert: Checkpoint, tmp_path: Path) -> None:
    rows, first, second = make_rows(bert, TEXTS), Counter(), Counter()
    made = open_states(tmp_path, bert, 2, rows, progress=first, batch_tokens=50)
    assert len(first.counts) > 1
    assert first.counts == sorted(first.counts)
    assert first.counts[-1] == len(rows)
    (folder,) = find_folders(tmp_path)
    times = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    found = open_states(tmp_path, bert, 2, rows, progress=second)
    assert second.counts == []
    assert {file.name: file.stat().st_mtime_ns for file in folder.iterdir()} == times
    for number in range(len(rows)):
        np.testing.assert_array_equal(made[number], found[number])
        assert not found[number].flags.owndata
        assert not found[number].flags.writeable
    assert found.bytes == sum(file.stat().st_size for file in folder.iterdir())
    facts = json.loads((folder / "facts.json").read_text())
    offsets = np.load(folder / "offsets.npy")
    assert (facts["rows"], facts["tokens"], facts["hidden"]) == (len(offsets) - 1, offsets[-1], HIDDEN)
    assert (folder / "states.f16").stat().st_size == offsets[-1] * HIDDEN * 2


def test_equal_rows_are_computed_once(bert: Checkpoint, tmp_path: Path) -> None:
    rows = make_rows(bert, ["the fox", "a dog", "the fox", "the fox"])
    states = open_states(tmp_path, bert, 2, rows)
    assert len(states) == 4
    np.testing.assert_array_equal(states[0], states[3])
    once = open_states(tmp_path, bert, 2, rows[:2])
    assert once.bytes == states.bytes
    assert np.shares_memory(states[0], states[2])
    assert len(find_folders(tmp_path)) == 1


def test_another_order_of_rows_finds_the_same_states(bert: Checkpoint, tmp_path: Path) -> None:
    rows, counter = make_rows(bert, TEXTS), Counter()
    states = open_states(tmp_path, bert, 2, rows)
    backwards = open_states(tmp_path, bert, 2, rows[::-1], progress=counter)
    assert counter.counts == []
    for number in range(len(rows)):
        np.testing.assert_array_equal(states[number], backwards[-1 - number])


def test_other_layers_rows_and_models_have_other_states(bert: Checkpoint, tmp_path: Path) -> None:
    rows = make_rows(bert, ["the fox"])
    open_states(tmp_path, bert, 2, rows)
    open_states(tmp_path, bert, 1, rows)
    open_states(tmp_path, bert, 2, make_rows(bert, ["the dog"]))
    open_states(tmp_path, bert, 2, [replace(rows[0], attended=2)])
    folder = layouts.colbert(tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    weights["bert.encoder.layer.0.output.dense.bias"] *= -1
    save_file(weights, folder / "model.safetensors")
    other = open_states(tmp_path, open_checkpoint(folder), 2, rows)
    assert not np.allclose(other[0], open_states(tmp_path, bert, 2, rows)[0], atol=0.1)
    assert len(find_folders(tmp_path)) == 5 + 1  # the model


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 1)


def lengthen(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\0")


def change(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)


def link(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        *(("states.f16", damage) for damage in (cut, lengthen, Path.unlink)),
        *(("offsets.npy", damage) for damage in (cut, change, Path.unlink)),
        *(("facts.json", damage) for damage in (cut, change, Path.unlink)),
    ],
)
def test_damaged_files_are_made_again(bert: Checkpoint, tmp_path: Path, file: str, damage: Any) -> None:
    rows, counter = make_rows(bert, TEXTS[:2]), Counter()
    expected = [np.array(state) for state in open_states(tmp_path, bert, 2, rows)]
    (folder,) = find_folders(tmp_path)
    damage(folder / file)
    found = open_states(tmp_path, bert, 2, rows, progress=counter)
    assert counter.counts == [2]
    assert find_folders(tmp_path) == [folder]
    for state, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(state, right)


def test_a_folder_with_foreign_files_is_left_alone(bert: Checkpoint, tmp_path: Path) -> None:
    rows = make_rows(bert, ["the fox"])
    open_states(tmp_path, bert, 2, rows)
    (folder,) = find_folders(tmp_path)
    link(folder / "states.f16")
    with pytest.raises(EncodingError, match=r"cannot be written \(Directory not empty\)"):
        open_states(tmp_path, bert, 2, rows)
    assert (folder / "elsewhere").is_file()


def test_close(bert: Checkpoint, tmp_path: Path) -> None:
    states = open_states(tmp_path, bert, 2, make_rows(bert, ["the fox"]))
    view = states[0]
    expected = view.copy()
    states.close()
    states.close()
    shutil.rmtree(tmp_path)
    np.testing.assert_array_equal(view, expected)
    with pytest.raises(InputError, match="closed"):
        states.gather([0])


def test_two_at_once_compute_once(bert: Checkpoint, tmp_path: Path) -> None:
    rows, counters, found = make_rows(bert, TEXTS), [Counter(), Counter()], []

    def work(counter: Counter) -> None:
        found.append(open_states(tmp_path, bert, 3, rows, progress=counter))

    threads = [threading.Thread(target=work, args=(counter,)) for counter in counters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(len(counter.counts) for counter in counters) == [0, 1]
    np.testing.assert_array_equal(found[0][5], found[1][5])


# Disks, kills ---------------------------------------------------------------------------------------------------------


def test_too_little_space(bert: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=500))
    with pytest.raises(EncodingError, match=r"has 0.0 MB of free space, but the states of 5 tokens need 0.0 MB: free"):
        open_states(tmp_path, bert, 2, make_rows(bert, ["the fox"]))
    assert find_folders(tmp_path) == []


@contextmanager
def limit_file_size(most: int) -> Iterator[None]:
    """A write beyond `most` bytes fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_failed_write(bert: Checkpoint, tmp_path: Path) -> None:
    rows, counter = make_rows(bert, TEXTS), Counter()
    with (
        limit_file_size(5000),
        pytest.raises(EncodingError, match=r"states of 1\d\d tokens .* cannot be written \(File too large\)"),
    ):
        open_states(tmp_path, bert, 2, rows, progress=counter, batch_tokens=10)
    assert counter.counts  # it failed in the middle
    assert find_folders(tmp_path) == []
    assert len(open_states(tmp_path, bert, 2, rows)) == len(rows)


def test_a_cache_that_is_a_file(bert: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(EncodingError, match=r"cannot be written \(File exists\)"):
        open_states(tmp_path / "cache", bert, 2, [])


def test_an_interruption_leaves_nothing(bert: Checkpoint, tmp_path: Path) -> None:
    def interrupt(count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_states(tmp_path, bert, 2, make_rows(bert, TEXTS), progress=interrupt)
    assert find_folders(tmp_path) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from asterism.encoders.checkpoints.layouts import open_checkpoint
from tests.unit.encoders.test_lower_states import TEXTS, make_rows, open_states
checkpoint = open_checkpoint(Path(sys.argv[1]))
kill = lambda count: os.kill(os.getpid(), signal.SIGKILL)
open_states(Path(sys.argv[2]), checkpoint, 2, make_rows(checkpoint, TEXTS), batch_tokens=10, progress=kill)
"""


def test_a_killed_run_begins_again(bert: Checkpoint, tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(bert.folder), str(tmp_path)]
    killed = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (part,) = find_folders(tmp_path)
    assert part.suffix == ".part"
    rows, counter = make_rows(bert, TEXTS), Counter()
    assert len(open_states(tmp_path, bert, 2, rows, progress=counter)) == len(rows)
    assert counter.counts[-1] == len(rows)
    (folder,) = find_folders(tmp_path)
    assert folder.name == part.stem
