"""Checkpoints on onnxruntime: sessions, and graphs in the cache."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import asterism
from asterism.encoders.checkpoints.layouts import open_checkpoint
from asterism.encoders.encoder import Encoder
from asterism.encoders.graph.heads import MultiVectorHead
from asterism.settings import EncoderSettings
from tests import layouts


def test_long_rows_need_no_mask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = layouts.bge_m3(tmp_path / "model")
    text = "fox dog " * 40
    expected = asterism.load_encoder(folder).encode_document([text])
    monkeypatch.setattr("asterism.encoders.runtimes.onnx.LONG_ROW", 16)
    found = asterism.load_encoder(folder).encode_document([text])
    np.testing.assert_allclose(found.multi.flat, expected.multi.flat, atol=1e-5)


def test_links_are_followed(good: Path, tmp_path: Path) -> None:
    """As in the hub's cache: the file behind a link has another name."""
    expected = asterism.load_encoder(good).encode_query(["fox"]).multi.flat
    linked = tmp_path / "snapshot"
    shutil.copytree(good, linked)
    (tmp_path / "blobs").mkdir()
    (linked / "model.safetensors").rename(tmp_path / "blobs" / "0123abc")
    (linked / "model.safetensors").symlink_to(tmp_path / "blobs" / "0123abc")
    np.testing.assert_array_equal(asterism.load_encoder(linked).encode_query(["fox"]).multi.flat, expected)
    np.testing.assert_array_equal(asterism.load_encoder(good).encode_query(["fox"]).multi.flat, expected)


def test_a_broken_memory_of_hashes(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASTERISM_CACHE", str(tmp_path))
    (tmp_path / "hashes.json").write_text("[]")
    assert asterism.load_encoder(good).views == ("multi",)
    (tmp_path / "hashes.json").write_text('{"x": 3}')
    for file in (tmp_path / "graphs").iterdir():
        file.write_bytes(file.read_bytes()[:-5])  # a damaged graph is written again
    assert len(asterism.load_encoder(good).encode_query(["fox"])) == 1


def test_the_same_files_read_in_two_ways(tmp_path: Path) -> None:
    """A graph in the cache belongs to the views it has, not to the files alone."""
    checkpoint = open_checkpoint(layouts.sentence_transformer(tmp_path / "model"))
    assert Encoder(checkpoint, EncoderSettings()).encode_document(["fox"]).multi is None
    more = replace(checkpoint, multi=MultiVectorHead(()))
    assert len(Encoder(more, EncoderSettings()).encode_document(["fox"]).multi) == 1


def test_fifos_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are passed by, and replaced."""
    folder = layouts.colbert(tmp_path / "model")
    monkeypatch.setenv("ASTERISM_CACHE", str(tmp_path / "cache"))
    asterism.load_encoder(folder)
    (graph,) = (tmp_path / "cache" / "graphs").iterdir()
    graph.unlink()
    os.mkfifo(graph)
    (tmp_path / "cache" / "hashes.json").unlink(missing_ok=True)
    os.mkfifo(tmp_path / "cache" / "hashes.json")
    assert len(asterism.load_encoder(folder).encode_query(["fox"])) == 1
