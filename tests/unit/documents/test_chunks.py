"""How texts are cut into chunks."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from asterism.documents.chunks import CHUNK, OVERLAP, cut_chunks


def chunks(content: str) -> list[str]:
    return [content[begin:end] for begin, end in cut_chunks(content)]


WORDS = st.text(st.sampled_from("abcé学。！.? "), min_size=1, max_size=12)


PARAGRAPHS = st.lists(st.builds(lambda text, times: text * times, WORDS, st.integers(1, 400)), max_size=8)


CONTENT = st.builds(
    lambda parts, gap: gap.join(parts), PARAGRAPHS, st.sampled_from(["\n\n", "\r\n\r\n", "\n \n\n", "\n"])
)


@settings(deadline=None)
@given(CONTENT | st.text())
def test_chunks(content: str) -> None:
    """All that is not blank is in a chunk; none is too long, blank at an end, or within another."""
    spans = cut_chunks(content)
    covered = set()
    for begin, end in spans:
        assert 0 < end - begin <= CHUNK
        assert content[begin:end] == content[begin:end].strip()
        covered.update(range(begin, end))
    left = {content[i] for i in range(len(content)) if i not in covered}
    assert all(character.isspace() or character == "\ufeff" for character in left)
    for (begin, end), (next_begin, next_end) in pairwise(spans):
        assert begin < next_begin
        assert end < next_end
        assert end - next_begin <= OVERLAP


@settings(deadline=None)
@given(st.lists(st.text("abcd.", min_size=1, max_size=40), max_size=300))
def test_words_stay_whole(words: list[str]) -> None:
    content = " ".join(words)
    assert [word for chunk in chunks(content) for word in chunk.split()] == content.split()


def test_packing_and_overlap() -> None:
    a, b, c = "a" * 700, "b" * 300, "c" * 700
    assert chunks(f"{a}\n\n{b}\n\n{c}") == [f"{a}\n\n{b}", f"{b}\n\n{c}"]
    assert chunks(f"{a}\n\n{b}b\n\n{c}") == [f"{a}\n\n{b}b", c]  # too long to be repeated
    assert chunks(f"{a}\n\n{b}\n\n{c}{c}") == [f"{a}\n\n{b}", "c" * 1200, "c" * 200]  # no room to repeat it


def test_long_paragraphs() -> None:
    sentence = "It was said (and heard) by all. "
    first, *_, last = chunks(sentence * 100)
    assert first.endswith("all.")
    assert len(first) > 1100
    assert last.endswith("all.")
    assert chunks("word " * 1000)[0] == ("word " * 240).strip()
    chinese = chunks("这是一个很长的句子。" * 200)
    assert [len(chunk) for chunk in chinese] == [1200, 800]
    assert [len(chunk) for chunk in chunks("这是一个很长的句子吗！" * 200)] == [1199, 1001]
    assert [len(chunk) for chunk in chunks("字" * 2500)] == [1200, 1200, 100]
    assert chunks("a " + "b" * 1300) == ["a", "b" * 1200, "b" * 100]


def test_a_large_file_is_quick() -> None:
    assert len(cut_chunks("word " * 400_000)) > 1600
    assert len(cut_chunks("\n \n".join(["word"] * 100_000))) > 500
    assert cut_chunks("\n" + " " * 1_000_000) == []
