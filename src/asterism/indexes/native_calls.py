"""What every call of a native engine needs around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import DamagedIndex, SettingError
from ..kernels import _native
from .storage import REMEDY


@contextmanager
def damage_reported(path: Path) -> Iterator[None]:
    """What the native code finds wrong in mapped files, as an error of ours."""
    try:
        yield
    except _native.DamagedIndex as error:
        raise DamagedIndex(f"{path}: {error}; {REMEDY}") from error


def checked_subset(subset: npt.ArrayLike | None, documents: int) -> npt.NDArray[np.uint8] | None:
    """(documents,) of bool, as the native code takes it; None for all."""
    if subset is None:
        return None
    mask = np.asarray(subset)
    if mask.dtype != np.bool_ or mask.shape != (documents,):
        expected = f"expected bool ({documents},)"
        raise SettingError(f"subset has type {mask.dtype} and shape {mask.shape}, {expected}")
    return np.ascontiguousarray(mask).view(np.uint8)
