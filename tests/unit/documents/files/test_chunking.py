"""Limits of passages: tokens, code blocks, overlap; every line of a file is in one of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from asterism.documents.files.chunking import Chunking, count_tokens
from asterism.documents.files.reading import read_file
from asterism.errors import SettingError

from .lines import assert_lines

ROOT = Path(__file__).parents[4]
TEXTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "LICENSE", *sorted((ROOT / "docs").glob("*.md"))]


def test_tokens_are_about_those_of_the_default_model(minilm: Path) -> None:
    """On English texts within 5 % in all, and within 15 % for 19 of 20 passages."""
    tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    shares, counted, true = [], 0, 0
    for file in TEXTS:
        for passage in read_file(file.name, file.read_bytes(), Chunking()).passages:
            tokens = len(tokenizer.encode(passage.text, add_special_tokens=False).ids)
            counted, true = counted + count_tokens(passage.text), true + tokens
            if tokens >= 50:
                shares.append(count_tokens(passage.text) / tokens)
    assert len(shares) > 200
    assert abs(counted / true - 1) <= 0.05
    assert np.mean(np.abs(np.array(shares) - 1) <= 0.15) >= 0.95


def test_the_settings_are_checked() -> None:
    with pytest.raises(SettingError, match="did you mean 'tokens'"):
        Chunking(token=3)  # type: ignore[call-arg]
    with pytest.raises(SettingError, match="tokens is 7, expected a whole number from 8"):
        Chunking(tokens=7)
    with pytest.raises(SettingError, match=r"overlap is 60, expected at most half of tokens \(50\)"):
        Chunking(tokens=100, overlap=60)


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_fence_is_whole_up_to_four_times_the_limit(fence: str) -> None:
    code = "\n".join(f"call({number})" for number in range(15))  # 60 tokens
    data = f"Before.\n\n{fence}\n{code}\n{fence}\n\nAfter.\n".encode()
    content = read_file("a.md", data, Chunking(tokens=20))
    assert [passage.text for passage in content.passages] == ["Before.", f"{fence}\n{code}\n{fence}", "After."]
    assert all(passage.metadata == {} for passage in content.passages)
    assert_lines(data, content)


def test_a_longer_fence_is_cut_at_lines_and_says_so() -> None:
    code = "\n".join(f"  call({number})" for number in range(100))
    data = f"- in a list\n\n  ```\n{code}\n  ```\n".encode()
    content = read_file("a.md", data, Chunking(tokens=50))
    parts = [passage.metadata for passage in content.passages[1:]]
    assert len(parts) > 5
    assert parts == [{"part": number, "parts": len(parts)} for number in range(1, len(parts) + 1)]
    assert all(count_tokens(passage.text) <= 50 for passage in content.passages)
    assert_lines(data, content)


@pytest.mark.parametrize("tokens", [30, 200])
def test_every_line_is_in_a_passage_or_a_title(tokens: int) -> None:
    """Of the project's own texts and code; each at the line where it says it is."""
    files = [*TEXTS, *sorted((ROOT / "src").rglob("*.py"))[::9], *sorted((ROOT / "native").rglob("*.cpp"))]
    for file in files:
        data = file.read_bytes()
        content = read_file(str(file), data, Chunking(tokens=tokens))
        assert_lines(data, content)
        found = {
            number
            for passage in content.passages
            for number in range(passage.place.first_line or 0, (passage.place.last_line or 0) + 1)
        }
        titles = {part for passage in content.passages for part in passage.title.split(" › ")}
        for number, line in enumerate(data.decode().split("\n"), 1):
            heading = line.strip("# ").replace("`", "")
            assert not line.strip() or number in found or heading in titles, f"{file}:{number}"


PARTS = st.sampled_from(
    ["# a", "## b", "", "words. More words.", "```", "- item", "> quote", "    code", "| a |", "===", "::"]
)


@settings(deadline=None, max_examples=200)
@given(
    name=st.sampled_from(["a.txt", "a.md", "a.rst", "a.c", "a.py"]),
    lines=st.lists(PARTS, min_size=1, max_size=30),
    tokens=st.integers(8, 40),
    overlap=st.integers(0, 4),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_lines_of_any_text(name: str, lines: list[str], tokens: int, overlap: int, newline: str) -> None:
    data = newline.join(lines).encode()
    content = read_file(name, data, Chunking(tokens=tokens, overlap=overlap))
    if any(line.strip() for line in lines):
        assert_lines(data, content)


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.rst"])
def test_a_passage_has_at_most_the_tokens_that_were_asked_for(name: str) -> None:
    data = (ROOT / "docs" / "design.md").read_bytes().replace(b"```", b"")
    for passage in read_file(name, data, Chunking(tokens=64, overlap=16)).passages:
        assert count_tokens(passage.text) <= 64 + 4, passage  # marks of a list between blocks are not counted
