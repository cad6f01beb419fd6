"""Parquet: each row is a passage."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from ...errors import UnreadableFile
from .chunking import Chunking
from .passages import Passage, Place
from .records import pack_records
from .unzipping import MOST_BYTES

MOST_CELLS = 1 << 24
BATCH = 1024  # rows


def read_parquet(data: bytes, chunking: Chunking) -> Iterator[Passage]:
    """The passages of all rows, as of JSON records, without columns of bytes; the places are rows, from 1."""
    from pyarrow import parquet

    file = parquet.ParquetFile(io.BytesIO(data))
    cells = file.metadata.num_rows * max(1, file.metadata.num_columns)
    size = sum(file.metadata.row_group(number).total_byte_size for number in range(file.metadata.num_row_groups))
    if cells > MOST_CELLS or size > MOST_BYTES:
        why = f"{cells:,} cells in {size:,} bytes, expected at most {MOST_CELLS:,} in {MOST_BYTES:,}: split it"
        raise UnreadableFile("too large", why)
    return pack_records(_read_rows(file), chunking)


def _read_rows(file: Any) -> Iterator[tuple[dict[str, Any], Place]]:
    number = 0
    for batch in file.iter_batches(batch_size=BATCH, use_threads=False):
        for row in batch.to_pylist():
            number += 1
            yield (
                {key: value for key, value in row.items() if value is not None and not isinstance(value, bytes)},
                Place(number, number),
            )
