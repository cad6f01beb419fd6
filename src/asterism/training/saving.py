"""The state of a run on disk: replaced as a whole, so that the last one is always complete."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from ..errors import OtherRun, TrainingError
from ..files.regular_files import stream_regular

CHECKPOINT = "checkpoint.pt"
BEST = "best.pt"


def save_state(file: Path, state: Mapping[str, Any]) -> None:
    """Write to a temporary file, then rename it; on an error, what was there stays."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        with open(temporary, "wb") as stream:
            torch.save(dict(state), stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error.__context__, KeyboardInterrupt):  # of which torch makes a RuntimeError
            raise error.__context__ from None
        if not isinstance(error, OSError | RuntimeError):  # torch raises RuntimeError for a full disk too
            raise
        kept = "the one before it is whole" if file.exists() else "there is none yet"
        raise TrainingError(f"{file} could not be written ({error}); {kept}: free some space and run again") from error


def load_state(file: Path) -> dict[str, Any] | None:
    """The state; None if there is none."""
    if not os.path.lexists(file):
        return None
    try:
        with stream_regular(file) as stream:
            if zipfile.ZipFile(stream).testzip() is not None:  # torch compares no checksum
                raise zipfile.BadZipFile
            stream.seek(0)
            found = torch.load(stream, map_location="cpu", weights_only=True)
    except Exception as error:  # of pickle, zip and torch, without a common base class
        raise TrainingError(f"{file} is damaged, expected the state of a run: remove it to begin anew") from error
    if not isinstance(found, dict):
        raise TrainingError(f"{file} has a {type(found).__name__}, expected the state of a run: remove it")
    return found


def refuse_other_run(file: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise if the state is of a run with other settings, data or another model; names the first difference."""
    stored = found.get("run")
    if not isinstance(stored, dict) or not all(isinstance(name, str) for name in stored):
        raise TrainingError(f"{file} does not say which run it is of: remove it to begin anew")
    for name in sorted({*stored, *wanted}):
        if type(stored.get(name)) is torch.Tensor or stored.get(name) != wanted.get(name):
            raise OtherRun(
                f"{file} is of another run: {name} was {stored.get(name)!r} and is {wanted.get(name)!r}; "
                "choose another folder, or remove it to begin anew"
            )
