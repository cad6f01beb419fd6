"""The folder of a run that is not done: what lies in it was made of one set of examples, with one set of settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import TrainingError
from ..files.whole_files import stream_whole_file
from .processes import find_own_number, wait_for_all
from .saving import refuse_other_run
from .training_set import Example

FACTS = "data.json"


def claim_folder(folder: Path, wanted: Mapping[str, Any]) -> None:
    """Write into an empty folder what its content will be made of; refuse one that is made of something else."""
    file = folder / FACTS
    if find_own_number() == 0 and not any(folder.iterdir()):
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
        return json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise TrainingError(f"{file} is damaged: remove its folder to begin anew") from error
