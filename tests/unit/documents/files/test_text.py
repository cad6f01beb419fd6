"""Plain text: paragraphs, lines, limits."""

from __future__ import annotations

from itertools import pairwise

import pytest

from asterism.documents.files.chunking import Chunking, count_tokens
from asterism.documents.files.reading import read_file

from .lines import assert_lines


def test_paragraphs_share_a_passage_up_to_the_limit() -> None:
    data = b"One two three.\n\nFour five.\n\n\n" + b"word " * 30 + b"\n"
    content = read_file("a.txt", data, Chunking(tokens=20))
    assert content.format == "text"
    assert content.encoding is None
    assert [passage.text for passage in content.passages[:1]] == ["One two three.\n\nFour five."]
    assert [passage.place.format() for passage in content.passages] == ["1–3", "6", "6"]
    assert {passage.title for passage in content.passages} == {"a"}
    assert_lines(data, content)


@pytest.mark.parametrize("data", [b"", b"\n\n", b" \n\t\n", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_nothing_gives_no_passages(data: bytes) -> None:
    assert read_file("a.txt", data, Chunking()).passages == ()


def test_overlap_repeats_whole_sentences() -> None:
    sentences = [f"This is the sentence number {i} of a text." for i in range(60)]
    data = " ".join(sentences).encode()
    content = read_file("a.txt", data, Chunking(tokens=60, overlap=25))
    texts = [passage.text for passage in content.passages]
    assert len(texts) > 5
    for before, after in pairwise(texts):
        repeated = [sentence for sentence in sentences if sentence in before and sentence in after]
        assert len(repeated) == 2
        assert before.endswith(" ".join(repeated))
        assert after.startswith(" ".join(repeated))
    assert max(map(count_tokens, texts)) <= 60


@pytest.mark.parametrize("line", ["x" * 100_000, "word " * 20_000, "一二三四五" * 5_000, "." * 50_000, " " * 50_000])
def test_a_long_line_is_cut(line: str) -> None:
    content = read_file("a.txt", line.encode(), Chunking(tokens=100))
    assert all(passage.place.format() == "1" for passage in content.passages)
    assert all(0 < count_tokens(passage.text) <= 100 for passage in content.passages)
    assert "".join(passage.text for passage in content.passages).replace(" ", "") == line.replace(" ", "")
