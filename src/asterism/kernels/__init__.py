"""The compiled kernels, and which of them this process uses.

`reference` states every kernel in NumPy; `_native` is its compiled twin. The environment variable
ASTERISM_KERNELS ("scalar", "avx2") overrides the choice; results are the same bits either way.
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
        raise SettingError(f"ASTERISM_KERNELS is {name!r}, this machine has {', '.join(known)}: unset it")
    return name
