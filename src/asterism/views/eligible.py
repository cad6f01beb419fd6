"""Which documents count in a search: one mask over all documents of an index."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import SettingError

Mask = npt.NDArray[np.bool_]


def check_eligible(eligible: npt.ArrayLike | None, documents: int) -> npt.NDArray[np.uint8] | None:
    """(documents,) bool -> (documents,) uint8 for the native code; None if every document counts."""
    if eligible is None:
        return None
    mask = np.asarray(eligible)
    if mask.dtype != np.bool_ or mask.shape != (documents,):
        given = f"eligible has type {mask.dtype} and shape {mask.shape}"
        raise SettingError(f"{given}, expected bool ({documents},)")
    return np.ascontiguousarray(mask).view(np.uint8)
