"""Where the members of an uncompressed zip archive lie in its file."""

from __future__ import annotations

import os
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ....errors import CheckpointError

LARGEST_DIRECTORY = 8 << 20  # bytes; about 80 a member
LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, …, lengths of name and extra field


@dataclass(frozen=True)
class Member:
    """Bytes of the file that belong to a member, its header not counted, and their checksum."""

    offset: int
    length: int
    checksum: int


class _BoundedReads:
    """The file as zipfile sees it: nothing larger than a directory is read at once."""

    def __init__(self, stream: BinaryIO) -> None:
        self.seek, self.tell, self._stream = stream.seek, stream.tell, stream

    def read(self, size: int = -1) -> bytes:
        found = self._stream.read(LARGEST_DIRECTORY + 1 if size < 0 else min(size, LARGEST_DIRECTORY + 1))
        if len(found) > LARGEST_DIRECTORY:
            raise zipfile.BadZipFile(f"a directory of more than {LARGEST_DIRECTORY} bytes")
        return found


def list_members(file: Path, stream: BinaryIO) -> dict[str, Member]:
    """By name; all of them stored as they are, apart from each other, and inside of the file."""
    try:
        with zipfile.ZipFile(_BoundedReads(stream)) as archive:
            entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    except Exception as error:  # besides BadZipFile, whatever unpacking of wrong numbers raises
        raise CheckpointError(
            f"{file} is no file of torch 1.6 or later, or is damaged ({error}): save it again, best as safetensors"
        ) from error
    found: dict[str, Member] = {}
    end = 0
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size or entry.flag_bits & 1:
            raise CheckpointError(f"{file}: {entry.filename!r} is compressed, expected it as torch.save writes it")
        if entry.filename in found:
            raise CheckpointError(f"{file}: {entry.filename!r} is there twice: it is damaged")
        if entry.header_offset < end:
            raise CheckpointError(f"{file}: {entry.filename!r} overlaps the member before: it is damaged")
        begin = _find_begin(file, stream, entry)
        end = begin + entry.file_size
        if end > os.fstat(stream.fileno()).st_size:
            raise CheckpointError(f"{file}: {entry.filename!r} reaches beyond the file: it is damaged")
        found[entry.filename] = Member(begin, entry.file_size, entry.CRC)
    return found


def _find_begin(file: Path, stream: BinaryIO, entry: zipfile.ZipInfo) -> int:
    """Where its bytes begin; the local header has its own idea of the extra field."""
    if entry.header_offset <= os.fstat(stream.fileno()).st_size:
        stream.seek(entry.header_offset)
        header = stream.read(LOCAL_HEADER.size)
        if len(header) == LOCAL_HEADER.size:
            signature, name_length, extra_length = LOCAL_HEADER.unpack(header)
            if signature == b"PK\x03\x04":
                return int(entry.header_offset + LOCAL_HEADER.size + name_length + extra_length)
    raise CheckpointError(f"{file}: {entry.filename!r} has no header of its own: it is damaged")
