"""The share of a text that a model can read: by small tokenizers of each kind, and by the default model's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

import asterism
from asterism.encoders.readability import ENOUGH_IDEOGRAPHS, Readability
from asterism.encoders.tokens import TextRules, TextTokenizer
from tests import layouts

IDEOGRAPHS = [chr(code) for code in range(0x4E00, 0x4E00 + ENOUGH_IDEOGRAPHS)]


def save(folder: Path, tokenizer: Tokenizer, first: str, last: str) -> TextTokenizer:
    ids = [(token, tokenizer.token_to_id(token)) for token in (first, last)]
    tokenizer.post_processor = processors.TemplateProcessing(f"{first} $A {last}", None, ids)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return TextTokenizer(folder)


def make_wordpiece(folder: Path, *pieces: str) -> TextTokenizer:
    names = ["[UNK]", "[CLS]", "[SEP]", *dict.fromkeys(["a", "fox", "##es", "##e", "##s", *pieces])]
    tokenizer = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return save(folder, tokenizer, "[CLS]", "[SEP]")


def make_unigram(folder: Path, *pieces: str, unknown: str = "<unk>") -> TextTokenizer:
    names = ["<s>", "</s>", unknown, *dict.fromkeys(["a", "▁fox", "▁", "es", "x", *pieces])]
    scores = [(name, -1.0 - len(names) / (1 + len(name)) / 100) for name in names]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return save(folder, tokenizer, "<s>", "</s>")


def make_byte_level(folder: Path) -> TextTokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = ["<s>", "</s>", *alphabet, "fo", "fox", "Ġfox"]
    merges = [("f", "o"), ("fo", "x"), ("Ġ", "fox")]
    tokenizer = Tokenizer(models.BPE({name: i for i, name in enumerate(names)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return save(folder, tokenizer, "<s>", "</s>")


def read(tokenizer: TextTokenizer, text: str, rules: TextRules | None = None) -> float:
    return Readability(tokenizer, rules or TextRules(100)).measure(text)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 1.0),
        (" \n", 1.0),
        ("fox", 1.0),
        ("Foxes foxes", 1.0),  # fox ##es fox ##es
        ("foxs", 1 / 2),  # fox and a single letter
        ("foxse", 1 / 3),
        ("zebra", 0.0),  # one unknown token
        ("fox zebra", 1 / 2),
        ("a fox", 1 / 2),
        ("fox, fox!", 1 / 2),  # two words, two unknown marks
        ("fóx", 1.0),  # the tokenizer drops the accent
    ],
)
def test_wordpiece(tmp_path: Path, text: str, share: float) -> None:
    assert read(make_wordpiece(tmp_path), text) == pytest.approx(share)


def test_marks_and_digits_are_read_if_they_are_known(tmp_path: Path) -> None:
    """A single one is not a word that was spelled out."""
    assert read(make_wordpiece(tmp_path, "?", "7", "€"), "7 € fox?") == 1.0


@pytest.mark.parametrize("letter", ["ж", "ا", "ก", "ㄱ", "ぁ"])
def test_a_script_spelled_by_letters_is_not_read(tmp_path: Path, letter: str) -> None:
    tokenizer = make_wordpiece(tmp_path, letter, f"##{letter}")
    assert read(tokenizer, letter * 5) == 0.0
    assert read(tokenizer, f"fox {letter * 3}") == pytest.approx(1 / 4)


def test_ideographs_are_letters_to_a_tokenizer_that_knows_few(tmp_path: Path) -> None:
    tokenizer = make_wordpiece(tmp_path, "月", "球", "日")
    assert tokenizer.count_ideographs() == 3
    assert read(tokenizer, "月球 fox") == pytest.approx(1 / 3)
    assert read(tokenizer, "月火 fox") == pytest.approx(1 / 3)


def test_ideographs_are_words_to_a_tokenizer_that_knows_many(tmp_path: Path) -> None:
    many = make_wordpiece(tmp_path / "many", *IDEOGRAPHS)
    fewer = make_wordpiece(tmp_path / "fewer", *IDEOGRAPHS[1:])
    assert (many.count_ideographs(), fewer.count_ideographs()) == (ENOUGH_IDEOGRAPHS, ENOUGH_IDEOGRAPHS - 1)
    text = "".join(IDEOGRAPHS[5:9])
    assert (read(many, text), read(fewer, text)) == (1.0, 0.0)
    assert read(many, text + "鿿") == pytest.approx(4 / 5)  # unknown
    assert read(many, text + "s") == pytest.approx(4 / 5)  # unknown: no word begins with it
    assert read(many, text + "a") == pytest.approx(4 / 5)  # a letter, which is not an ideograph


def test_ideographs_count_with_the_tokenizers_own_marks(tmp_path: Path) -> None:
    assert make_unigram(tmp_path / "u", "▁月", "球", "月球", "ж").count_ideographs() == 2
    assert make_wordpiece(tmp_path / "w", "月", "##球", "月球").count_ideographs() == 2


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 1.0),
        ("fox fox", 1.0),
        ("foxes", 1.0),
        ("fox жж", 1 / 2),  # unknown letters are one token; the space before them is not part of the text
        ("foxa", 1 / 2),
        ("жfox", 0.0),
    ],
)
def test_unigram(tmp_path: Path, text: str, share: float) -> None:
    """A unigram model does not name its unknown token, which is <unk> by convention."""
    tokenizer = make_unigram(tmp_path)
    assert tokenizer.unknown == 2
    assert read(tokenizer, text) == pytest.approx(share)


def test_a_tokenizer_without_an_unknown_token(tmp_path: Path) -> None:
    assert make_byte_level(tmp_path).unknown is None


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 1.0),
        ("fox fox", 1.0),
        ("foxs", 1 / 2),
        ("s", 0.0),
        ("ж", 0.0),  # two bytes of one letter
        ("月", 0.0),  # three
        ("foxж", 1 / 3),
        ("foxжж", 1 / 5),
        ("fox🦊", 2 / 5),  # four bytes: those after the first are fragments
    ],
)
def test_fragments_of_letters_are_not_read(tmp_path: Path, text: str, share: float) -> None:
    assert read(make_byte_level(tmp_path), text) == pytest.approx(share)


def test_the_prompt_does_not_count(tmp_path: Path) -> None:
    tokenizer = make_wordpiece(tmp_path)
    for prompt in ("zebra ", "fox fox "):
        assert read(tokenizer, "fox a", TextRules(100, prompt)) == pytest.approx(1 / 2)
        assert read(tokenizer, "", TextRules(100, prompt)) == 1.0


def test_a_text_longer_than_a_row_is_measured_as_a_whole(tmp_path: Path) -> None:
    assert read(make_wordpiece(tmp_path), "fox " * 50 + "zebra " * 50, TextRules(8)) == pytest.approx(1 / 2)


def test_an_encoder_measures_each_text(tmp_path: Path) -> None:
    encoder = asterism.load_encoder(layouts.colbert(tmp_path / "colbert"))
    found = encoder.measure_readable(["the quick fox", "", "東京", "the 東 fox"])
    assert found.dtype == np.float64
    assert found.tolist() == pytest.approx([1.0, 1.0, 0.0, 2 / 3])
    assert encoder.measure_readable([]).shape == (0,)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("the speed of light was first measured by whom?", 1.0, 1.0),
        ("photosynthesis and mitochondria", 1.0, 1.0),
        ("How do I run a function every few seconds?", 0.8, 0.8),  # I and a are single letters
        ("Wie lautet die Hauptstadt von Frankreich?", 0.7, 0.95),  # words of more than one letter each
        ("Столица России", 0.0, 0.2),
        ("η πρωτεύουσα της ελλάδας", 0.0, 0.2),
        ("भारत की राजधानी नई दिल्ली है", 0.0, 0.2),
        ("ما هي عاصمة مصر", 0.0, 0.0),
        ("เมืองหลวงของประเทศไทยคือกรุงเทพ", 0.0, 0.0),
        ("北京是中国的首都", 0.0, 0.0),
        ("대한민국의 수도는", 0.0, 0.0),
    ],
)
def test_the_default_model_reads_english(minilm: Path, text: str, least: float, most: float) -> None:
    found = read(TextTokenizer(minilm), text)
    assert least - 1e-9 <= found <= most + 1e-9
