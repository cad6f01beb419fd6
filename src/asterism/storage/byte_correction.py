"""One wrong byte, found by a checksum of what was right, and proved by another.

A row's checksum has 63 bits: the CRC-32 of its content, and above it 31 bits of a BLAKE2b. The CRC of a content with
one byte changed differs from the right one by a number that tells, going back from the end byte by byte, where the
change is and what it was; the other half says whether that explanation is true.
"""

from __future__ import annotations

import hashlib
import zlib

TABLE = tuple(zlib.crc32(bytes([byte])) ^ zlib.crc32(b"\0") for byte in range(256))
CHANGE_OF = {difference: byte for byte, difference in enumerate(TABLE)}  # of a last byte
BYTE_OF = {value >> 24: byte for byte, value in enumerate(TABLE)}  # each has another first byte


def row_checksum(content: bytes) -> int:
    """63 bits."""
    digest = int.from_bytes(hashlib.blake2b(content, digest_size=4).digest(), "big") >> 1
    return digest << 32 | zlib.crc32(content)


def is_row_checksum(content: bytes, checksum: object) -> bool:
    """Whether it is the content's; earlier formats had the lower half alone."""
    if not isinstance(checksum, int):
        return False
    return checksum == (row_checksum(content) if checksum >> 32 else zlib.crc32(content))


def correct_row(content: bytes, checksum: int) -> bytes | None:
    """The content, or the content with one byte changed, that the checksum proves; None if there is none.

    A checksum that itself has one wrong byte proves the content as it is.
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
        byte = BYTE_OF[difference >> 24]  # one step of the checksum, backwards
        difference = (difference ^ TABLE[byte]) << 8 & 0xFFFFFFFF | byte
    return None


def _differ_in_one_byte(a: int, b: int) -> bool:
    return 0 <= b < 2**63 and sum(byte > 0 for byte in (a ^ b).to_bytes(8, "big")) == 1
