"""The compiled kernels, and the choice between them.

`reference` has every kernel in NumPy; `_native` has the compiled ones. The environment variable
ASTERISM_KERNELS ("scalar", "avx2") overrides the choice; the results are the same to the bit.
"""

from __future__ import annotations

import os

from ..errors import SettingError
from . import _native

__all__ = ["_native", "choose_kernels"]


def choose_kernels() -> str:
    """The name of the kernel table to use."""
    name = os.environ.get("ASTERISM_KERNELS", "auto")
    known = _native.kernel_names()
    if name != "auto" and name not in known:
        raise SettingError(
            f"ASTERISM_KERNELS is {name!r}, expected one of {', '.join(known)} on this machine: unset it"
        )
    return name
