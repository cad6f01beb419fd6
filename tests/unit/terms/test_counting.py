"""Words of many languages as terms: what is one word, and that counts and places agree."""

from __future__ import annotations

import unicodedata
from collections import Counter
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asterism.errors import TextError
from asterism.terms.characters import LONGEST, LONGEST_UNSPACED, fold
from asterism.terms.counting import TermSpan, count_words, find_word_spans

SAMPLES = (
    "aZéİıßΣςﬁ½①㎏㍿™Ａ９ｶﾞがー漢々⼈東ก็น้ำကျ្មकि́مَـ한ᄒ\u1161\u11abㅋ_'’-. \u00ad\u200b\u200c\u200d\ufe0f\U000e0100𝐀🦊١²"
)


TEXT = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(SAMPLES)), max_size=40)


def words(text: str) -> list[str]:
    return [span.word for span in find_word_spans(text)]


def counted(text: str) -> dict[int, float]:
    terms, counts = count_words([text])[0]
    return dict(zip(terms.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \n.,;!?", ""),
        ("The fox, the DOG", "the fox the dog"),
        ("snake_case re-use a+b", "snake case re use a b"),
        ("don't l’avion rock'n'roll", "don t l avion rock n roll"),
        ("B2B 2024 3.14 1,000 x86_64", "b2b 2024 3 14 1 000 x86 64"),
        ("Straße STRASSE Übung U\u0308bung", "strasse strasse übung übung"),  # German
        ("ısı İzmir IŞIK", "ısı i\u0307zmir işik"),  # Turkish: no language is known, so I is i
        ("Σίσυφος ΣΊΣΥΦΟΣ", "σίσυφοσ σίσυφοσ"),  # Greek: the last sigma has another form
        ("кни\u0301га Ёж", "кни\u0301га ёж"),  # Russian with stress
        ("أَهْلًا وسهلا كـــتاب", "أَهْلًا وسهلا كتاب"),  # Arabic: vowel signs stay, lengthening goes
        ("می\u200cخواهم", "میخواهم"),  # Persian
        ("हिन्दी में क्षत्रिय।", "हिन्दी में क्षत्रिय"),  # Hindi
        ("தமிழ் বাংলা", "தமிழ் বাংলা"),
        ("שָׁלוֹם", fold("שָׁלוֹם")),
        ("Tiếng Việt", "tiếng việt"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ　１２", "full width 12"),
        ("ﬁle 𝐁old Ⅳ x²", "file bold iv x2"),
        ("Java™ 10㎏ №5", "java tm 10 kg no 5"),
        ("1½", "11 2"),
        ("co\u00adoperate", "cooperate"),
        ("a\u200bb", "a b"),
        ("🦊 fox❤\ufe0f 👩\u200d💻", "fox"),
        ("\u0301 \u0301a", "a"),
    ],
)
def test_words_with_spaces(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ภาษาไทย", "ภาษ าษา ษาไ าไท ไทย"),  # Thai: three letters or signs
        ("ที่ กิน๒๕", "ที่ กิน ๒๕"),
        ("ลาว", "ลาว"),
        ("ខ្មែរ", "ខ្ម ្មែ មែរ"),
        ("မြန်မာ", "မြန ြန် န်မ ်မာ"),
        ("中文字", "中 中文 文 文字 字"),
        ("人", "人"),
        ("2024年GPU显卡", "2024 年 gpu 显 显卡 卡"),
        ("東京タワーへ行く", "東 東京 京 京タ タ タワ ワ ワー ー ーへ へ へ行 行 行く く"),
        ("東京、大阪", "東 東京 京 大 大阪 阪"),
        ("ｶﾞｽ", "ガ ガス ス"),
        ("か\u3099", "が"),
        ("⼈㍿", "人 株 株式 式 式会 会 会社 社"),
        ("葛\U000e0100城", "葛 葛城 城"),
        ("서울에서 한 GPU를", "서울 울에 에서 한 gpu 를"),  # Korean: particles stick to words
        ("\u1112\u1161\u11ab국", "한국"),
    ],
)
def test_words_without_spaces(text: str, expected: str) -> None:
    assert Counter(words(text)) == Counter(expected.split())


def test_terms_are_the_same_everywhere() -> None:
    def expected(word: str) -> int:
        return int.from_bytes(blake2b(word.encode()).digest()[:8], "big") >> 1

    weights = count_words(["Fox fox dog", "", "東京"])
    assert weights.terms.dtype == np.int64
    assert weights.offsets.tolist() == [0, 2, 2, 5]
    assert counted("Fox fox dog") == {expected("fox"): 2, expected("dog"): 1}
    assert counted("東京") == {expected("東"): 1, expected("京"): 1, expected("東京"): 1}
    assert expected("fox") == FOX


FOX = 8755243308689124779  # stored in indexes: may not change


def test_endings() -> None:
    spans = find_word_spans("Measured measurement measure 20240101 20240102 libfoo12a libfoo12b Измерение измерением")
    terms = [span.term for span in spans]
    assert terms[0] == terms[1] == terms[2]
    assert len(set(terms[2:7])) == 5
    assert terms[7] == terms[8]
    assert spans[1].word == "measurement"


def test_none() -> None:
    assert len(count_words([])) == 0
    assert count_words(["", "?"]).offsets.tolist() == [0, 0, 0]


def test_places() -> None:
    text = "Ein ﬁx: Ｓｔｒａße, ｶﾞｽ½"
    assert [(span.word, text[span.begin : span.end]) for span in find_word_spans(text)] == [
        ("ein", "Ein"),
        ("fix", "ﬁx"),
        ("strasse", "Ｓｔｒａße"),
        ("ガ", "ｶﾞ"),
        ("ガス", "ｶﾞｽ"),
        ("ス", "ｽ"),
        ("1", "½"),
        ("2", "½"),
    ]
    assert find_word_spans(" fox")[0] == TermSpan(FOX, "fox", 1, 4)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(TEXT)
def test_counts_and_places_agree(text: str) -> None:
    spans = find_word_spans(text)
    assert Counter(span.term for span in spans) == counted(text)
    assert all(0 <= span.begin < span.end <= len(text) and span.term >= 0 for span in spans)
    assert [span.begin for span in spans] == sorted(span.begin for span in spans)
    for span in spans:
        assert fold(span.word) == span.word
        assert span.word in fold(text[span.begin : span.end])


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(TEXT, max_size=5))
def test_texts_do_not_mind_each_other(texts: list[str]) -> None:
    weights = count_words(texts)
    for i, text in enumerate(texts):
        alone = count_words([text])
        np.testing.assert_array_equal(weights[i][0], alone.terms)
        np.testing.assert_array_equal(weights[i][1], alone.weights)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(TEXT)
def test_forms_are_the_same(text: str) -> None:
    """However accents are written."""
    assert counted(unicodedata.normalize("NFC", text)) == counted(unicodedata.normalize("NFD", text))


def test_endless_runs() -> None:
    for text in ("a" * 10**6, "é" * 10**6, "a" + "\u0301" * 10**6):
        (span,) = find_word_spans(text)
        assert len(span.word) <= LONGEST
        assert counted(text) == {span.term: 1}
    text = "क्षि" * 10**5
    assert counted(text) == Counter(span.term for span in find_word_spans(text))
    assert counted("東" * 10**5) == Counter(span.term for span in find_word_spans("東" * 10**5))
    assert sum(counted("東" * LONGEST_UNSPACED).values()) == 2 * LONGEST_UNSPACED - 1


def test_no_texts() -> None:
    with pytest.raises(TextError, match="text 1 is a int"):
        count_words(["a", 1])
    with pytest.raises(TextError, match="half a character"):
        find_word_spans("\ud800")
