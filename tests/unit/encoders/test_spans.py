"""The piece of the text that each vector stands for: one for each vector, in order, and at its place."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

import asterism
from asterism.encoders.assembling import Side
from asterism.encoders.encoder import Encoder
from asterism.encoders.spans import TokenSpan, find_token_spans
from asterism.encoders.tokens import TextRules, TextTokenizer, tokenise
from asterism.errors import InputError, TextError
from tests import layouts

TEXTS = [
    *layouts.TEXTS,
    "  \n The fox,\t(running) over  the dog!  ",
    "?!... ,;",
    "unread tests: " + " ".join(layouts.WORDS) * 4,
    "東京" * 30 + " fox",
    "İstanbul İİ foxİdog ΟΔΟΣ straße ﬁle",
    "cafe\u0301 n\u0303o\u0308 \u0301 e\u0323\u0301s",
    "\U0001f98a\U0001f98afox \U0001f469\u200d\U0001f4bb dog ❤\ufe0f",
    "무엇 fox 강\u0301 \u1112\u1161\u11ab",
    "a\x00b \u200bfox\u00a0dog\u3000time",
    "[CLS] fox [SEP] [MASK] <s> dog</s> [D] [unused1] ▁fox ##ing",
]


UNKNOWN = {"[UNK]", "<unk>"}


Make = Callable[[Path], Encoder]


def prompted(folder: Path, prompt: str = "İn: the ") -> Encoder:
    """Our own layout with everything done to a text."""
    layouts.full_constant_pooling(folder)
    own = json.loads((folder / "asterism.json").read_text())
    rules = {"length": 20, "strip": True, "lower": True}
    own["document"] = rules | {"prompt": prompt}
    own["query"] = rules | {"prompt": "who ", "marker": "[unused0]", "expand_to": 24, "filler": "[MASK]"}
    del own["multi_vector"]["pooling"]
    heads = load_file(folder / "heads.safetensors")
    layouts.save_weights(folder / "heads.safetensors", {n: w for n, w in heads.items() if n != "constant.weight"})
    layouts.write_json(folder / "asterism.json", own)
    return asterism.load_encoder(folder)


MAKERS: dict[str, Make] = {
    "bge_m3": lambda folder: asterism.load_encoder(layouts.bge_m3(folder)),
    "more than one cls": lambda folder: asterism.load_encoder(layouts.bge_m3(folder), cls_every=8),
    "cut": lambda folder: asterism.load_encoder(layouts.bge_m3(folder), long="truncate", document_length=20),
    "colbert": lambda folder: asterism.load_encoder(layouts.colbert(folder)),
    "narrow": lambda folder: asterism.load_encoder(layouts.colbert(folder), document_length=9),
    "all punctuation": lambda folder: asterism.load_encoder(layouts.colbert(folder, mask_punctuation=False)),
    "constbert": lambda folder: asterism.load_encoder(layouts.constbert(folder)),
    "xtr": lambda folder: asterism.load_encoder(layouts.xtr(folder)),
    "pylate": lambda folder: asterism.load_encoder(layouts.pylate(folder)),
    "multi_vector_modules": lambda folder: asterism.load_encoder(layouts.multi_vector_modules(folder)),
    "full_constant_pooling": lambda folder: asterism.load_encoder(layouts.full_constant_pooling(folder)),
    "prompted": prompted,
}


CONSTANT = {"constbert", "full_constant_pooling"}


@pytest.fixture(scope="module", params=MAKERS)
def named(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Encoder]:
    return request.param, MAKERS[request.param](tmp_path_factory.mktemp("spans") / "model")


def plain(text: str) -> str:
    """Without case, accents and what cannot be seen."""
    letters = unicodedata.normalize("NFD", text.casefold())
    return "".join(letter for letter in letters if unicodedata.category(letter)[0] not in "MC")


def piece_of(span: TokenSpan) -> tuple[int, int]:
    return span.begin, span.end


def check(text: str, spans: list[TokenSpan]) -> None:
    own = [span for span in spans if span.begin >= 0]
    shared = Counter(piece_of(span) for span in own)  # a Korean syllable may be three tokens
    assert all(piece_of(span) == (-1, -1) for span in spans if span.begin < 0)
    assert all(0 <= span.begin < span.end <= len(text) for span in own)
    assert [span.begin for span in own] == sorted(span.begin for span in own)
    for span in own:
        piece = text[span.begin : span.end]
        if piece.isspace():
            assert span.token in {"▁", *UNKNOWN}
        elif span.token not in UNKNOWN:
            said = {plain(span.token.removeprefix("##")), plain(span.token.lstrip("▁"))}
            assert plain(piece) in said or (shared[piece_of(span)] > 1 and any(part in plain(piece) for part in said))


def check_all(spans_of: Callable[[str], list[TokenSpan] | None], offsets: np.ndarray) -> None:
    for text, count in zip(TEXTS, np.diff(offsets), strict=True):
        spans = spans_of(text)
        assert spans is not None
        assert len(spans) == count, text
        check(text, spans)


def test_one_for_each_vector(named: tuple[str, Encoder]) -> None:
    name, encoder = named
    queries = encoder.encode_query(TEXTS, views=["multi"]).multi
    check_all(encoder.query_spans, queries.offsets)
    if name in CONSTANT:
        assert [encoder.document_spans(text) for text in TEXTS] == [None] * len(TEXTS)
        return
    documents = encoder.encode_document(TEXTS, views=["multi"]).multi
    check_all(encoder.document_spans, documents.offsets)


def test_the_default_model(minilm: Path) -> None:
    encoder = asterism.load_encoder()
    texts = [*TEXTS, "Unbelievable naïveté: Ångström's re-tokenisation of İzmir. " * 60]
    vectors = encoder.encode_document(texts, views=["multi"]).multi
    for text, count in zip(texts, np.diff(vectors.offsets), strict=True):
        spans = encoder.document_spans(text)
        assert spans is not None
        assert len(spans) == count
        assert encoder.query_spans(text) == spans
        check(text, spans)
    assert encoder.document_spans("  Re-tokenising") == [
        TokenSpan("re", 2, 4),
        TokenSpan("-", 4, 5),
        TokenSpan("token", 5, 10),
        TokenSpan("##ising", 10, 15),
    ]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("aeİΣ ▁\u0301\u0323.")), max_size=60))
def test_any_text(named: tuple[str, Encoder], text: str) -> None:
    name, encoder = named
    for spans in (encoder.query_spans(text), [] if name in CONSTANT else encoder.document_spans(text)):
        assert spans is not None
        check(text, spans)


def test_every_word_of_a_long_text_once(tmp_path: Path) -> None:
    text = ", ".join(word for word in layouts.WORDS if len(word) > 1) * 5
    for make in ("colbert", "narrow", "bge_m3", "more than one cls", "xtr"):
        spans = MAKERS[make](tmp_path / make).document_spans(text)
        assert spans is not None
        pieces = [text[span.begin : span.end] for span in spans if span.begin >= 0]
        expected = text.replace(" ", "") if "," in pieces else text.replace(", ", "")
        assert "".join(pieces) == expected


def test_what_is_not_of_the_text(tmp_path: Path) -> None:
    encoder = asterism.load_encoder(layouts.colbert(tmp_path / "model"))
    nowhere = {"begin": -1, "end": -1}
    assert encoder.document_spans(" Fox, dogs") == [
        TokenSpan("[CLS]", **nowhere),
        TokenSpan("[unused1]", **nowhere),
        TokenSpan("fox", 1, 4),
        TokenSpan("dog", 6, 9),
        TokenSpan("##s", 9, 10),
        TokenSpan("[SEP]", **nowhere),
    ]
    query = encoder.query_spans("fox [MASK]")
    assert query is not None
    assert query[2:5] == [TokenSpan("fox", 0, 3), TokenSpan("[MASK]", 4, 10), TokenSpan("[SEP]", **nowhere)]
    assert query[5:] == [TokenSpan("[MASK]", **nowhere)] * 27


def test_prompts(tmp_path: Path) -> None:
    encoder = prompted(tmp_path / "model", "İn: the do")  # runs into the first word
    spans = encoder.document_spans(" \tG İa")  # lower case of the last word: three characters
    assert spans is not None
    assert spans[-4:-1] == [TokenSpan("dog", 2, 3), TokenSpan("i", 4, 5), TokenSpan("##a", 5, 6)]
    assert {(span.begin, span.end) for span in spans[:-4]} == {(-1, -1)}
    query = encoder.query_spans("  Who")
    assert query is not None
    assert [span.token for span in query[:5]] == ["[CLS]", "[unused0]", "who", "who", "[SEP]"]
    assert [span.begin for span in query[:5]] == [-1, -1, -1, 2, -1]


def test_no_spans(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'multi' was requested, but this model has dense"):
        asterism.load_encoder(layouts.sentence_transformer(tmp_path / "dense")).document_spans("fox")
    encoder = asterism.load_encoder(layouts.colbert(tmp_path / "colbert"))
    with pytest.raises(TextError, match="text 0 is a list"):
        encoder.query_spans(["fox"])


def test_accents_that_are_dropped(tmp_path: Path) -> None:
    encoder = asterism.load_encoder(layouts.colbert(tmp_path / "model"))
    text = "e\u0301\u0323s \u0301fox"
    spans = encoder.document_spans(text)
    assert spans is not None
    assert [text[span.begin : span.end] for span in spans[2:-1]] == ["e\u0301\u0323", "s", "fox"]


def byte_level(prefix: bool) -> Tokenizer:
    """As RoBERTa: a token for each byte."""
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    return tokenizer


def metaspace(scheme: str) -> Tokenizer:
    """As XLM-RoBERTa: spaces are part of the tokens."""
    pieces = ["<unk>", "▁", "▁fox", "fox", "東", "\U0001f98a", "a", "f", "i"]
    tokenizer = Tokenizer(models.Unigram([(piece, -2.0) for piece in pieces], unk_id=0))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    return tokenizer


def pieces_of(tokenizer: Tokenizer, folder: Path, text: str) -> list[tuple[str, str | None]]:
    tokenizer.post_processor = processors.TemplateProcessing("$A", "$A $B", [])
    tokenizer.save(str(folder / "tokenizer.json"))
    opened, rules = TextTokenizer(folder), TextRules(100)
    none = np.zeros(opened.vocabulary, bool)
    spans = find_token_spans(opened, Side(rules, none, none, False, None, "cls", {}), text)
    ids = tokenise(opened, rules, [text]).rows[0].ids
    assert [span.token for span in spans] == [opened.find_token(int(number)) for number in ids]
    return [(span.token, text[span.begin : span.end] if span.begin >= 0 else None) for span in spans]


def test_bytes(tmp_path: Path) -> None:
    for prefix in (False, True):
        found = pieces_of(byte_level(prefix), tmp_path, "f 東\U0001f98ae\u0301")
        expected = ["f", " ", *["東"] * 3, *["\U0001f98a"] * 4, *["e\u0301"] * 2]
        assert [piece for _, piece in found] == [None] * prefix + expected


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
def test_spaces_of_words(tmp_path: Path, scheme: str) -> None:
    found = pieces_of(metaspace(scheme), tmp_path, "東  fox \U0001f98aﬁ")
    put = [("▁", None)] if scheme != "never" else []
    expected = [("東", "東"), ("▁", " "), ("▁fox", "fox"), ("▁", " "), ("\U0001f98a", "\U0001f98a")]
    assert found == [*put, *expected, ("f", "ﬁ"), ("i", "ﬁ")]
