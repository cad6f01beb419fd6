"""Where the members of an uncompressed zip archive are in its file."""

from __future__ import annotations

import os
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ....errors import CheckpointError

LARGEST_DIRECTORY = 8 << 20  # bytes; about 80 per member
LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, …, lengths of name and extra field


@dataclass(frozen=True)
class Member:
    """The bytes of a member, without its header, and their checksum."""

    offset: int
    length: int
    checksum: int


class _BoundedReads:
    """The file for zipfile, which may read at most LARGEST_DIRECTORY bytes at once."""

    def __init__(self, stream: BinaryIO) -> None:
        self.seek, self.tell, self._stream = stream.seek, stream.tell, stream

    def read(self, size: int = -1) -> bytes:
        found = self._stream.read(LARGEST_DIRECTORY + 1 if size < 0 else min(size, LARGEST_DIRECTORY + 1))
        if len(found) > LARGEST_DIRECTORY:
            raise zipfile.BadZipFile(f"a directory of more than {LARGEST_DIRECTORY} bytes")
        return found


def list_members(file: Path, stream: BinaryIO) -> dict[str, Member]:
    """The members by name; they must be uncompressed, must not overlap and must be within the file."""
    try:
        with zipfile.ZipFile(_BoundedReads(stream)) as archive:
            entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    except Exception as error:  # BadZipFile, and whatever unpacking wrong numbers raises
        raise CheckpointError(
            f"{file} is not a file of torch 1.6 or later, or is damaged ({error}): save it again, best as safetensors"
        ) from error
    found: dict[str, Member] = {}
    end = 0
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size or entry.flag_bits & 1:
            raise CheckpointError(
                f"{file}: {entry.filename!r} is compressed, expected an uncompressed member, as torch.save writes it"
            )
        if entry.filename in found:
            raise CheckpointError(f"{file}: {entry.filename!r} occurs twice: the file is damaged")
        if entry.header_offset < end:
            raise CheckpointError(f"{file}: {entry.filename!r} overlaps the member before: the file is damaged")
        begin = _find_begin(file, stream, entry)
        end = begin + entry.file_size
        if end > os.fstat(stream.fileno()).st_size:
            raise CheckpointError(f"{file}: {entry.filename!r} reaches beyond the end of the file: the file is damaged")
        found[entry.filename] = Member(begin, entry.file_size, entry.CRC)
    return found


def _find_begin(file: Path, stream: BinaryIO, entry: zipfile.ZipInfo) -> int:
    """Where the bytes of a member begin; the extra field of its local header may differ from the directory's."""
    if entry.header_offset <= os.fstat(stream.fileno()).st_size:
        stream.seek(entry.header_offset)
        header = stream.read(LOCAL_HEADER.size)
        if len(header) == LOCAL_HEADER.size:
            signature, name_length, extra_length = LOCAL_HEADER.unpack(header)
            if signature == b"PK\x03\x04":
                return int(entry.header_offset + LOCAL_HEADER.size + name_length + extra_length)
    raise CheckpointError(f"{file}: {entry.filename!r} has no local header: the file is damaged")
