"""Compares passages with the lines of the file that they say they are from."""

from __future__ import annotations

from asterism.documents.files.passages import FileContent


def assert_lines(data: bytes, content: FileContent) -> None:
    """The text of every passage is what stands in its lines; the first and the last line belong to it."""
    lines = data.decode(content.encoding or "utf-8-sig").replace("\r\n", "\n").split("\n")
    assert content.passages
    for passage in content.passages:
        first, last = passage.place.first_line, passage.place.last_line
        assert first is not None
        assert last is not None
        assert 1 <= first <= last <= len(lines)
        own = passage.text.split("\n")
        assert len(own) == last - first + 1
        assert own[0] in lines[first - 1]
        assert own[-1] in lines[last - 1]
        assert own[1:-1] == lines[first : last - 1]
