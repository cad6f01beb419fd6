"""Encoders: views, strange texts, long texts, endless streams of texts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest

import asterism
from asterism.encoders.encoder import Encoder
from asterism.errors import InputError, SettingError, TextError
from tests import layouts


@pytest.fixture(scope="module")
def m3(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return asterism.load_encoder(layouts.bge_m3(tmp_path_factory.mktemp("m3") / "model"))


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.sentence_transformer(tmp_path_factory.mktemp("st") / "model")


def test_views_in_one_pass(m3: Encoder) -> None:
    assert m3.views == ("dense", "lexical", "multi")
    found = m3.encode_document(["the quick fox", "a dog"])
    assert len(found) == 2
    assert found.dense.shape == (2, 32)
    assert found.dense.dtype == np.float32
    assert len(found.lexical) == 2
    assert len(found.multi) == 2
    np.testing.assert_allclose(np.linalg.norm(found.multi.flat, axis=1), 1, atol=1e-5)
    only = m3.encode_document(["the quick fox"], views=["lexical"])
    assert only.dense is None
    assert only.multi is None
    np.testing.assert_allclose(only.lexical.weights, found.lexical[0][1], atol=1e-5)


def test_describe(m3: Encoder) -> None:
    said = m3.describe()
    assert said["family"] == "bge-m3"
    assert said["views"]["dense"] == 32
    assert said["document_length"] == 128
    assert set(said["files"]) >= {"config.json", "pytorch_model.bin", "colbert_linear.pt", "sparse_linear.pt"}
    assert all(len(digest) == 64 for digest in said["files"].values())


@pytest.mark.parametrize("text", ["", "   \n\t ", "\x00\x00", "a\x00b", "\u200b", "𝔘𝔫𝔦", "東京" * 50, "x" * 10_000])
def test_strange_texts(m3: Encoder, text: str) -> None:
    found = m3.encode_document([text, "the fox", text])
    assert np.isfinite(found.dense).all()
    assert np.isfinite(found.multi.flat).all()
    np.testing.assert_allclose(found.dense[0], found.dense[2], atol=1e-5)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", 7], "text 1 is a int, expected a string"),
        (["a", None], "text 1 is a NoneType"),
        (["a", b"b"], "text 1 is a bytes"),
        (["fine", "half \ud800 here"], "text 1 has half a character .* at position 5"),
        ("one string", "one str was given"),
    ],
)
def test_no_texts(m3: Encoder, texts: object, message: str) -> None:
    with pytest.raises(TextError, match=message):
        m3.encode_document(texts)


def test_the_number_of_a_late_text(m3: Encoder) -> None:
    with pytest.raises(TextError, match="text 1500 is a float"):
        m3.encode_document([""] * 1500 + [1.5])


def test_nothing_and_much_of_nothing(m3: Encoder) -> None:
    empty = m3.encode_document([])
    assert empty.dense.shape == (0, 32)
    assert len(empty.multi) == len(empty.lexical) == 0
    found = m3.encode_document([""] * 5000)
    assert found.dense.shape == (5000, 32)


def test_views_that_are_not_there(single: Path) -> None:
    encoder = asterism.load_encoder(single)
    with pytest.raises(InputError, match="this model has dense"):
        encoder.encode_query(["a"], views=["lexical"])
    with pytest.raises(InputError, match="no such view"):
        encoder.encode_query(["a"], views=["sparse"])


def test_order_and_batches_do_not_matter(m3: Encoder) -> None:
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(layouts.WORDS, rng.integers(0, 60))) for _ in range(200)]
    whole = m3.encode_document(texts)
    for i in (0, 57, 199):
        alone = m3.encode_document([texts[i]])
        np.testing.assert_allclose(alone.dense[0], whole.dense[i], atol=2e-5)
        np.testing.assert_allclose(alone.multi[0], whole.multi[i], atol=2e-5)
        np.testing.assert_array_equal(alone.lexical[0][0], whole.lexical[i][0])


def test_endless_texts(m3: Encoder) -> None:
    done: list[int] = []
    texts = (f"document {number}" for number in count())
    parts = list(islice(m3.stream_documents(texts, progress=done.append), 3))
    assert [part.texts for part in parts] == [256] * 3
    assert done == [256, 512, 768]


@pytest.mark.parametrize("texts", [1, 255, 256, 257, 512])
def test_no_text_is_lost_between_chunks(m3: Encoder, texts: int) -> None:
    done: list[int] = []
    found = m3.encode_document(["fox"] * (texts - 1) + ["the dog"], views=["dense"], progress=done.append)
    assert found.dense.shape == (texts, 32)
    np.testing.assert_allclose(found.dense[-1], m3.encode_document(["the dog"]).dense[0], atol=1e-5)
    assert done == [*range(256, texts, 256), texts]


def test_a_single_chunk_starts_no_thread(m3: Encoder) -> None:
    before = threading.active_count()
    during: list[int] = []
    m3.encode_query(["fox"], progress=lambda _: during.append(threading.active_count()))
    assert during == [before]


def test_long_documents_lose_nothing(single: Path, tmp_path: Path) -> None:
    folder = layouts.bge_m3(tmp_path / "model")
    words = "fox " * 1000
    whole = asterism.load_encoder(folder).encode_document([words, "fox"])
    assert whole.truncated == 0
    assert len(whole.multi[0]) == 1001  # every token and one end, the beginning has no vector in this model
    cut = asterism.load_encoder(folder, long="truncate").encode_document([words, "fox"])
    assert cut.truncated == 1
    assert len(cut.multi[0]) == 127
    np.testing.assert_allclose(cut.multi[1], whole.multi[1], atol=1e-5)


def test_windows_of_a_short_text_change_nothing(single: Path) -> None:
    text = " ".join(["fox dog"] * 10)
    wide, narrow = asterism.load_encoder(single), asterism.load_encoder(single, document_length=20)
    assert not np.allclose(wide.encode_document([text]).dense, narrow.encode_document([text]).dense, atol=1e-4)
    np.testing.assert_allclose(wide.encode_document(["fox"]).dense, narrow.encode_document(["fox"]).dense, atol=1e-5)


def test_lengths_out_of_range(single: Path, tmp_path: Path) -> None:
    for length in (3, 5000):
        with pytest.raises(SettingError, match="document_length"):
            asterism.load_encoder(single, document_length=length)
    with pytest.raises(SettingError, match="always reads 32 tokens"):
        asterism.load_encoder(layouts.colbert(tmp_path / "colbert"), query_length=64)


def test_wrong_arguments_are_told_at_once(m3: Encoder) -> None:
    with pytest.raises(TextError, match="one str was given"):
        m3.stream_documents("text")
    with pytest.raises(TextError, match="one NoneType was given"):
        m3.encode_document(None)


def test_what_came_before_a_broken_source_is_not_lost(m3: Encoder) -> None:
    def source() -> Iterator[str]:
        yield from ["fox"] * 400
        raise OSError("the disk went away")

    parts = m3.stream_documents(source())
    assert next(parts).texts == 256
    with pytest.raises(OSError, match="went away"):
        next(parts)
