"""One wrong byte, found by the CRC-32 of what was right.

The checksum of a message with one byte changed differs from that of the message by a number that tells, going back
from the end byte by byte, where the change is and what it was. In a message of 10,000 bytes about one wrong byte in two
thousand has a second explanation; then none is given.
"""

from __future__ import annotations

import zlib

TABLE = tuple(zlib.crc32(bytes([byte])) ^ zlib.crc32(b"\0") for byte in range(256))
CHANGE_OF = {difference: byte for byte, difference in enumerate(TABLE)}  # of a last byte
BYTE_OF = {value >> 24: byte for byte, value in enumerate(TABLE)}  # each has another first byte


def correct_byte(message: bytes, checksum: int) -> bytes | None:
    """The message with the one byte changed that its checksum asks for, or as it is if the checksum has a wrong byte.

    None if no change of one byte explains it, or more than one does.
    """
    difference = zlib.crc32(message) ^ checksum
    if difference == 0:
        return message
    found = [message] if _has_one_byte(difference) else []
    for place in range(len(message) - 1, -1, -1):
        change = CHANGE_OF.get(difference)
        if change:
            found.append(message[:place] + bytes([message[place] ^ change]) + message[place + 1 :])
        byte = BYTE_OF[difference >> 24]  # one step of the checksum, backwards
        difference = (difference ^ TABLE[byte]) << 8 & 0xFFFFFFFF | byte
    return found[0] if len(found) == 1 else None


def _has_one_byte(difference: int) -> bool:
    return sum(byte > 0 for byte in difference.to_bytes(4, "big")) == 1
