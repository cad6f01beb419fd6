"""A wrong byte is found by the checksum of what was right; what cannot be told apart is not guessed."""

from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from asterism.storage.byte_correction import correct_byte

MESSAGES = st.binary(min_size=1, max_size=300)


@given(message=MESSAGES, place=st.integers(0, 299), change=st.integers(1, 255))
def test_one_wrong_byte_is_put_right(message: bytes, place: int, change: int) -> None:
    place %= len(message)
    wrong = message[:place] + bytes([message[place] ^ change]) + message[place + 1 :]
    assert correct_byte(wrong, zlib.crc32(message)) in (message, None)


def test_hardly_any_is_ambiguous() -> None:
    message = bytes(range(256)) * 8
    found = 0
    for place in range(0, len(message), 5):
        wrong = message[:place] + bytes([message[place] ^ 0x5A]) + message[place + 1 :]
        found += correct_byte(wrong, zlib.crc32(message)) == message
    assert found >= len(range(0, len(message), 5)) - 1


@given(message=MESSAGES, place=st.integers(0, 3), change=st.integers(1, 255))
def test_a_wrong_byte_of_the_checksum_leaves_the_message(message: bytes, place: int, change: int) -> None:
    assert correct_byte(message, zlib.crc32(message) ^ change << 8 * place) in (message, None)


def test_what_is_right_stays() -> None:
    assert correct_byte(b"asterism", zlib.crc32(b"asterism")) == b"asterism"
    assert correct_byte(b"", 0) == b""


def test_more_than_one_wrong_byte_is_not_explained() -> None:
    assert correct_byte(b"xsterisx", zlib.crc32(b"asterism")) is None
