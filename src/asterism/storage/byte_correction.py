"""Corrects one wrong byte: a CRC-32 locates it, and a hash confirms the correction.

A row's checksum has 63 bits: the CRC-32 of its content in the lower 32, and 31 bits of a BLAKE2b above. If one byte
changes, the CRC changes by a difference that depends only on the byte's change and its distance from the end. Running
the CRC backwards from the end therefore gives candidates for both; the hash decides which one is right.
"""

from __future__ import annotations

import hashlib
import zlib

TABLE = tuple(zlib.crc32(bytes([byte])) ^ zlib.crc32(b"\0") for byte in range(256))
CHANGE_OF = {difference: byte for byte, difference in enumerate(TABLE)}  # if the last byte changes
BYTE_OF = {value >> 24: byte for byte, value in enumerate(TABLE)}  # the first bytes are all different


def row_checksum(content: bytes) -> int:
    """63 bits: the CRC-32, and 31 bits of BLAKE2b above it."""
    digest = int.from_bytes(hashlib.blake2b(content, digest_size=4).digest(), "big") >> 1
    return digest << 32 | zlib.crc32(content)


def is_row_checksum(content: bytes, checksum: object) -> bool:
    """Whether the checksum matches the content; earlier formats stored only the CRC-32."""
    if not isinstance(checksum, int):
        return False
    return checksum == (row_checksum(content) if checksum >> 32 else zlib.crc32(content))


def correct_row(content: bytes, checksum: int) -> bytes | None:
    """The content, or the content with one byte corrected, that matches the checksum; None if there is none.

    If the checksum itself has a single wrong byte, the content is accepted as it is.
    """
    if is_row_checksum(content, checksum) or _differ_in_one_byte(row_checksum(content), checksum):
        return content
    difference = zlib.crc32(content) ^ (checksum & 0xFFFFFFFF)
    for place in range(len(content) - 1, -1, -1):
        change = CHANGE_OF.get(difference)
        if change:
            corrected = content[:place] + bytes([content[place] ^ change]) + content[place + 1 :]
            if row_checksum(corrected) == checksum:
                return corrected
        byte = BYTE_OF[difference >> 24]  # one step of the CRC, backwards
        difference = (difference ^ TABLE[byte]) << 8 & 0xFFFFFFFF | byte
    return None


def _differ_in_one_byte(a: int, b: int) -> bool:
    return 0 <= b < 2**63 and sum(byte > 0 for byte in (a ^ b).to_bytes(8, "big")) == 1
