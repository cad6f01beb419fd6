"""A sentence taken out of a text: of a usual length, in any script, and nothing of the text is lost."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.documents.held_out import (
    LEAST_REST,
    LONGEST,
    LONGEST_SPAN,
    SHORTEST_SPAN,
    take_out_sentence,
)

ENGLISH = "The quick brown fox jumps. Who measured the speed of light? A lazy dog sleeps under a tree! Yes."
CHINESE = (
    "月球是地球唯一的天然卫星，也是太阳系中第五大的卫星。",
    "它的直径大约是地球的四分之一左右，质量约为八十一分之一！",
    "第一个登上月球并且在那里行走过的人究竟是谁呢？",
)
HINDI = "चंद्रमा पृथ्वी का एकमात्र प्राकृतिक उपग्रह है। यह सौरमंडल का पाँचवाँ सबसे बड़ा उपग्रह है। इसका व्यास बड़ा है।"
ARABIC = "من أول من قاس سرعة الضوء في التاريخ؟ القمر هو التابع الطبيعي الوحيد للأرض. إنه خامس أكبر قمر."
THAI = "ดวงจันทร์เป็นดาวบริวารเพียงดวงเดียวของโลกและเป็นดาวบริวารที่ใหญ่เป็นอันดับห้าในระบบสุริยะ" * 3


def take(text: str, seed: int = 0) -> tuple[str, str] | None:
    return take_out_sentence(text, np.random.default_rng(seed))


def count_visible(*texts: str) -> Counter[str]:
    return Counter(letter for text in texts for letter in text if not letter.isspace())


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            ENGLISH,
            {"The quick brown fox jumps.", "Who measured the speed of light?", "A lazy dog sleeps under a tree!"},
        ),
        ("".join(CHINESE), set(CHINESE)),
        (HINDI, {f"{part.strip()}।" for part in HINDI.split("।")[:2]}),
        (ARABIC, {"من أول من قاس سرعة الضوء في التاريخ؟", "القمر هو التابع الطبيعي الوحيد للأرض."}),
        ("a line that has no full stop\nanother line without one\n\n\nand a third one, the last", None),
    ],
    ids=["English", "Chinese", "Hindi", "Arabic", "lines"],
)
def test_a_whole_sentence_is_taken(text: str, sentences: set[str] | None) -> None:
    expected = set(text.split("\n")) - {""} if sentences is None else sentences
    found = set()
    for seed in range(40):
        taken = take(text, seed)
        assert taken is not None
        sentence, rest = taken
        found.add(sentence)
        assert sentence not in rest
        assert count_visible(sentence, rest) == count_visible(text)
    assert found == expected  # each is taken at times, those of less than 20 characters never


@pytest.mark.parametrize(
    "text", [THAI, "x" * 400, "one long text without an end of a sentence " * 9], ids=["Thai", "letters", "words"]
)
def test_a_text_without_sentences_gives_a_piece(text: str) -> None:
    width = min(LONGEST_SPAN, max(SHORTEST_SPAN, len(text) // 6))
    begins = set()
    for seed in range(30):
        taken = take(text, seed)
        assert taken is not None
        piece, rest = taken
        assert count_visible(piece, rest) == count_visible(text)
        assert len(piece) + len(rest) >= len(text) - 2  # spaces around it
        assert width - 1 <= len(piece) <= width + 10
        if " " in text:
            assert set(piece.split()) | set(rest.split()) == set(text.split())  # no word is cut
        begins.add(text.find(piece))
    assert len(begins) > 1 or text == "x" * 400


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\n \n",
        "short",
        "Two. Short.",
        "x" * (SHORTEST_SPAN + LEAST_REST - 1),
        "a b " * 10,
        "A sentence that is long enough. Short.",
        "字" * 40,
        "。" * 3,
    ],
)
def test_a_text_that_is_too_short(text: str) -> None:
    assert all(take(text, seed) is None for seed in range(10))


def test_a_sentence_that_is_too_long_is_not_taken() -> None:
    long = "word " * (LONGEST // 5 + 10) + "end."
    text = f"{long} A sentence of a usual length."
    assert {taken[0] for seed in range(20) if (taken := take(text, seed))} == {"A sentence of a usual length."}


@pytest.mark.parametrize(
    "text", ["a short beginning of it " + "x" * 9000, "字" * 5000 + " " + "字" * 5000, "x" * 5000 + " the end of it"]
)
def test_a_piece_is_short_where_spaces_are_far_apart(text: str) -> None:
    for seed in range(20):
        taken = take(text, seed)
        assert taken is not None
        assert len(taken[0]) <= LONGEST
        assert count_visible(*taken) == count_visible(text)


def test_only_long_sentences_give_a_piece() -> None:
    text = f"{'long ' * 80}end. {'wide ' * 80}end."
    taken = take(text)
    assert taken is not None
    assert len(taken[0]) < 200
    assert count_visible(*taken) == count_visible(text)


def test_the_same_generator_takes_the_same() -> None:
    for text in (ENGLISH, "".join(CHINESE), THAI):
        assert take(text, 3) == take(text, 3)
        assert len({take(text, seed) for seed in range(20)}) > 1


ALPHABET = st.sampled_from("ab cd.!?\n\t。！？؟।月ดวก้\u0301é🦊\u3000")


@given(st.text(ALPHABET, max_size=500) | st.text(max_size=300), st.integers(0, 5))
def test_nothing_is_lost(text: str, seed: int) -> None:
    taken = take(text, seed)
    if taken is not None:
        sentence, rest = taken
        assert sentence == sentence.strip() != ""
        assert len(rest) >= LEAST_REST
        assert count_visible(sentence, rest) == count_visible(text)
