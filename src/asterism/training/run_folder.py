"""The folder of a run that is not done: what lies in it was made of one set of examples, with one set of settings."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import InputError, TrainingError
from ..files.file_locks import hold_file_lock
from ..files.json_text import parse_json
from ..files.regular_files import read_regular
from ..files.whole_files import stream_whole_file
from .processes import find_own_number, wait_for_all
from .saving import refuse_other_run
from .training_set import Example

FACTS, LOCK = "data.json", "lock"
LARGEST_FACTS = 1 << 24  # bytes


@contextmanager
def hold_run_folder(folder: Path) -> Iterator[None]:
    """Make the folder and be the only run in it. It goes again if the run ends before it has made anything."""
    if find_own_number():  # the first process holds it for all
        yield
        return
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(hold_file_lock(folder / LOCK, wait=False))
        except BlockingIOError:
            raise TrainingError(
                f"{folder} is in use by another run: wait until that ends, or choose another folder for the model"
            ) from None
        except OSError as error:
            raise InputError(f"{folder} cannot be made ({error.strerror}), where a run keeps its state") from error
        try:
            yield
        finally:
            _remove_if_empty(folder)


def remove_run_folder(folder: Path) -> None:
    """Remove what a run that is done leaves behind; the folder may be a link to another disk."""
    shutil.rmtree(folder.resolve())
    if folder.is_symlink():
        folder.unlink()


def _remove_if_empty(folder: Path) -> None:
    """What was refused must not be in the way of the corrected command."""
    with suppress(OSError):
        names = os.listdir(folder)
        if all(name == FACTS or _is_leftover(name) for name in names) and not folder.is_symlink():
            for name in names:
                (folder / name).unlink(missing_ok=True)
            folder.rmdir()


def _is_leftover(name: str) -> bool:
    """The lock, and what a run leaves that is killed while it claims the folder."""
    return name == LOCK or name.startswith(f".{FACTS}.")


def claim_folder(folder: Path, wanted: Mapping[str, Any]) -> None:
    """Write into an empty folder what its content will be made of; refuse one that is made of something else."""
    file = folder / FACTS
    if find_own_number() == 0 and all(map(_is_leftover, os.listdir(folder))):
        with stream_whole_file(file) as write:
            write([json.dumps(dict(wanted), ensure_ascii=False, indent=2).encode() + b"\n"])
    wait_for_all()
    refuse_other_run(folder, {"run": _read_facts(file)}, wanted)


def hash_examples(queries: Sequence[str], passages: Sequence[str], examples: Sequence[Example]) -> str:
    """64 hexadecimal digits for texts, examples and scores."""
    digest = hashlib.sha256()
    for texts in (queries, passages):
        digest.update(f"{len(texts)}\n".encode())
        for text in texts:
            digest.update(text.encode() + b"\0")
    for one in examples:
        digest.update(repr((one.query, one.positives, one.negatives, sorted(one.scores.items()))).encode())
    return digest.hexdigest()


def _read_facts(file: Path) -> Any:
    """What was written; None if there is nothing."""
    try:
        return parse_json(read_regular(file, LARGEST_FACTS))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise TrainingError(f"{file} is damaged ({error}): remove its folder to begin anew") from error
