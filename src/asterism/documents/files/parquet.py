"""Parquet: each row is a passage."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from ...errors import UnreadableFile
from .chunking import Chunking
from .passages import Passage, Place
from .records import pack_records
from .unzipping import check_size

MOST_CELLS = 1 << 22
MOST_ROWS = 1024  # at a time
BATCH_BYTES = 1 << 28  # of a column at a time, if every row has all that the column has: a dictionary stores it once


def read_parquet(data: bytes, chunking: Chunking) -> Iterator[Passage]:
    """The passages of all rows, as of JSON records, without columns of bytes; the places are rows, from 1."""
    from pyarrow import parquet

    file = parquet.ParquetFile(io.BytesIO(data))
    cells = file.metadata.num_rows * max(1, file.metadata.num_columns)
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    if cells > MOST_CELLS:
        raise UnreadableFile("too large", f"{cells:,} cells, expected at most {MOST_CELLS:,}: split it")
    check_size(sum(group.total_byte_size for group in groups))
    columns = [group.column(number) for group in groups for number in range(group.num_columns)]
    largest = max((column.total_uncompressed_size for column in columns), default=0)
    return pack_records(_read_rows(file, min(MOST_ROWS, max(1, BATCH_BYTES // max(1, largest)))), chunking)


def _read_rows(file: Any, rows: int) -> Iterator[tuple[dict[str, Any], Place]]:
    number = 0
    for batch in file.iter_batches(batch_size=rows, use_threads=False):
        for row in batch.to_pylist():
            number += 1
            yield (
                {key: value for key, value in row.items() if value is not None and not isinstance(value, bytes)},
                Place(number, number),
            )
