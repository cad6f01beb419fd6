"""A wrong byte is found by the checksum of the right content; nothing is guessed."""

from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from asterism.storage.byte_correction import correct_row, is_row_checksum, row_checksum

CONTENTS = st.binary(min_size=1, max_size=300)


def changed(content: bytes, place: int, change: int) -> bytes:
    return content[:place] + bytes([content[place] ^ change]) + content[place + 1 :]


@given(content=CONTENTS, place=st.integers(0, 299), change=st.integers(1, 255))
def test_one_wrong_byte_is_corrected(content: bytes, place: int, change: int) -> None:
    wrong = changed(content, place % len(content), change)
    assert correct_row(wrong, row_checksum(content)) == content


@given(content=CONTENTS, place=st.integers(0, 7), change=st.integers(1, 127))
def test_a_wrong_byte_of_the_checksum_leaves_the_content(content: bytes, place: int, change: int) -> None:
    checksum = row_checksum(content) ^ change << 8 * place
    assert correct_row(content, checksum) == content


@given(content=st.binary(min_size=2, max_size=300), data=st.data())
def test_two_wrong_bytes_are_not_explained(content: bytes, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(content) - 2))
    second = data.draw(st.integers(first + 1, len(content) - 1))
    wrong = changed(changed(content, first, data.draw(st.integers(1, 255))), second, data.draw(st.integers(1, 255)))
    assert correct_row(wrong, row_checksum(content)) is None


def test_long_contents_are_not_corrected_by_chance() -> None:
    """With a CRC alone, two wrong bytes of a long content are sometimes explained by a third one."""
    content = bytes(range(256)) * 4000
    for shift in range(3):
        wrong = changed(changed(content, 1000 + shift, 1), 900_000, 1 << shift)
        assert correct_row(wrong, row_checksum(content)) is None


def test_what_is_right_stays() -> None:
    assert correct_row(b"asterism", row_checksum(b"asterism")) == b"asterism"
    assert is_row_checksum(b"asterism", zlib.crc32(b"asterism"))  # of earlier formats
    assert not is_row_checksum(b"asterisk", row_checksum(b"asterism"))
    assert not is_row_checksum(b"asterism", None)
