"""Values that are not JSON, but have one obvious form in it: dates, tuples, and NumPy's scalars and arrays."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np


def to_json_value(value: Any) -> Any:
    """Dates and times in ISO 8601, NumPy's scalars as Python's, tuples and arrays as lists; others as they are."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, datetime.date | datetime.time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, tuple):
        return list(value)
    return value.tolist() if isinstance(value, np.ndarray) else value
