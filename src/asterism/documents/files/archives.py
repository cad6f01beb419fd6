"""Documents that are zip archives: checked to be no bomb before a library reads them."""

from __future__ import annotations

import io
import zipfile
import zlib

from ...errors import UnreadableFile
from .unzipping import check_size

MOST_MEMBERS = 10_000
BLOCK = 1 << 20


def open_archive(data: bytes) -> zipfile.ZipFile:
    """The archive, every member of which was unzipped once: directories of archives can lie about sizes."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = archive.infolist()
        if len(members) > MOST_MEMBERS:
            why = f"an archive of {len(members):,} files, expected at most {MOST_MEMBERS:,}: split it"
            raise UnreadableFile("too large", why)
        size = 0
        for member in members:
            with archive.open(member) as stream:
                while block := stream.read(BLOCK):
                    size += len(block)
                    check_size(size)
    except UnreadableFile:  # which is a ValueError too
        raise
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        # NotImplementedError: unusual compression; RuntimeError: a password
        raise UnreadableFile("damaged", f"not a complete archive that can be opened ({error}): get it again") from error
    return archive
