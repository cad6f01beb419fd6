"""What every call of a native engine needs before it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import SettingError


def checked_subset(subset: npt.ArrayLike | None, documents: int) -> npt.NDArray[np.uint8] | None:
    """(documents,) of bool, as the native code takes it; None for all."""
    if subset is None:
        return None
    mask = np.asarray(subset)
    if mask.dtype != np.bool_ or mask.shape != (documents,):
        expected = f"expected bool ({documents},)"
        raise SettingError(f"subset has type {mask.dtype} and shape {mask.shape}, {expected}")
    return np.ascontiguousarray(mask).view(np.uint8)
