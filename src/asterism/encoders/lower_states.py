"""States below the layers that are trained: computed once, kept as float16 on disk.

The file has each distinct row once, the longest first, which is the order of the batches. So it is written from front
to back, and neither the order of the given rows nor repeated ones change it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import CheckpointError, EncodingError, InputError
from ..models.file_hashes import find_hashes
from ..settings import EncoderSettings, count_threads
from .batching import make_batches
from .checkpoints.checkpoint import Checkpoint
from .graph.bert import Bert
from .graph.graph import Graph
from .runtimes.onnx import OnnxSession, SessionPair, find_weights_folder, write_states
from .state_folder import FORMAT, HALF, Halves, StateFolder
from .tokens import Row

Numbers = npt.NDArray[np.int64]

LARGEST_HALF = float(np.finfo(np.float16).max)


class LowerStates:
    """The states of some rows. Made by `open_lower_states`.

    states[i]   (tokens, hidden) float16, all tokens of row i with its fillers: a view of a mapped file, read-only
    hidden      the width of a state
    bytes       size on disk
    """

    def __init__(self, flat: Halves, begins: Numbers, ends: Numbers, size: int) -> None:
        """flat (all tokens, hidden); begins and ends (rows,) of each row in it."""
        self._flat: Halves | None = flat
        self._begins, self._ends = begins, ends
        self.hidden, self.bytes = flat.shape[1], size

    def __len__(self) -> int:
        """The number of rows that were given."""
        return len(self._begins)

    def __getitem__(self, number: int) -> Halves:
        """(tokens, hidden) of one row, not copied."""
        if self._flat is None:
            raise InputError("these states are closed, expected open ones: open them again")
        return self._flat[self._begins[number] : self._ends[number]]

    def gather(self, numbers: Sequence[int] | Numbers) -> tuple[Halves, Numbers]:
        """(n, longest, hidden) the states of some rows, padded with zeros, and lengths (n,) in tokens."""
        rows = [self[number] for number in numbers]
        lengths = np.array([len(row) for row in rows], np.int64)
        padded = np.zeros((len(rows), lengths.max(initial=0), self.hidden), np.float16)
        for line, row in zip(padded, rows, strict=True):
            line[: len(row)] = row
        return padded, lengths

    def close(self) -> None:
        """Let go of the file; it stays mapped while there are views of it."""
        self._flat = None


def open_lower_states(
    cache: Path,
    checkpoint: Checkpoint,
    layers: int,
    rows: Sequence[Row],
    *,
    threads: int = 0,
    batch_tokens: int = EncoderSettings.batch_tokens,
    progress: Callable[[int], None] | None = None,
) -> LowerStates:
    """The states of `rows` after the model's first `layers` layers: from `cache`, else computed and put there.

    The name of their folder stands for the weights, the sizes, `layers` and the rows. Tokenizer and heads do not count:
    several models on one transformer share their states. `progress` is a callback that receives the count of rows so
    far; it is not called if nothing is computed.
    """
    settings = EncoderSettings(threads=threads, batch_tokens=batch_tokens)
    if not isinstance(checkpoint.transformer, Bert):
        raise CheckpointError(
            f"{checkpoint.folder}: the layers of this architecture cannot be computed one by one, "
            "expected BERT, RoBERTa or XLM-RoBERTa: train all layers of this model"
        )
    model = checkpoint.transformer.keep_layers(layers)
    longest, most = max((len(row.ids) for row in rows), default=0), model.most_tokens
    if most is not None and longest > most:
        raise InputError(
            f"a row has {longest} tokens, expected at most {most}, the positions of {checkpoint.folder}: cut its text"
        )
    distinct = _find_distinct(rows)
    folder = StateFolder(cache, _name_states(model, distinct), distinct.offsets, model.hidden)
    flat = folder.open_or_make(lambda: _compute_states(model, checkpoint.folder, distinct, settings, progress))
    begins, ends = distinct.offsets[:-1], distinct.offsets[1:]
    return LowerStates(flat, begins[distinct.places], ends[distinct.places], folder.bytes)


@dataclass(frozen=True)
class DistinctRows:
    """Rows without repetition, the longest first.

    rows              n of them
    keys              what each is recognised by
    offsets (n + 1,)  sums of their lengths
    places (given,)   which of them each given row is
    """

    rows: list[Row]
    keys: list[bytes]
    offsets: Numbers
    places: Numbers


def _find_distinct(rows: Sequence[Row]) -> DistinctRows:
    keys = [(-len(row.ids), _make_key(row)) for row in rows]
    first = dict(zip(reversed(keys), reversed(rows), strict=True))  # of equal rows, so that errors name the first text
    order = sorted(first)
    place = {key: number for number, key in enumerate(order)}
    return DistinctRows(
        [first[key] for key in order],
        [key for _, key in order],
        np.cumsum([0, *(-length for length, _ in order)], dtype=np.int64),
        np.array([place[key] for key in keys], np.int64),
    )


def _make_key(row: Row) -> bytes:
    """16 bytes for everything about a row that its states depend on."""
    content = row.attended.to_bytes(8, "little") + row.ids.astype("<i8").tobytes()
    return hashlib.blake2b(content, digest_size=16).digest()


def _name_states(model: Bert, distinct: DistinctRows) -> str:
    """64 hexadecimal digits for everything that determines the states."""
    hashes = find_hashes(sorted({tensor.file for tensor in model.list_tensors()}))
    name = hashlib.sha256("\n".join([f"lower states {FORMAT}", repr(model.shape), *sorted(hashes.values())]).encode())
    name.update(b"".join(distinct.keys))
    return name.hexdigest()


def _compute_states(
    model: Bert, folder: Path, distinct: DistinctRows, settings: EncoderSettings, progress: Callable[[int], None] | None
) -> Iterator[Halves]:
    """(tokens of a batch, hidden) for one batch after another, in the order of the distinct rows."""
    weights = find_weights_folder(model.list_tensors(), folder)

    def open_session(masked: bool) -> OnnxSession:
        graph = Graph()
        graph.add_output("states", write_states(graph, model, masked=masked), ["rows", "tokens", model.hidden])
        # Always with weights of float32, because models are trained on these states.
        return OnnxSession(
            graph.serialise(), weights, count_threads(settings.threads), keep_weights_in_place=not masked
        )

    sessions = SessionPair(open_session)
    repetitions = np.bincount(distinct.places, minlength=len(distinct.rows))  # progress counts rows as they were given
    done = 0
    for batch in make_batches(distinct.rows, settings.batch_tokens):
        rows = [distinct.rows[number] for number in batch.numbers]
        states = sessions.run(["states"], batch)["states"]
        yield np.concatenate([_round_to_half(one[: len(row.ids)], row) for one, row in zip(states, rows, strict=True)])
        done += int(repetitions[batch.numbers].sum())
        if progress:
            progress(done)


def _round_to_half(states: npt.NDArray[np.float32], row: Row) -> Halves:
    """(tokens, hidden) as float16; refuses what it cannot hold."""
    largest = np.abs(states).max(initial=0)
    if not largest <= LARGEST_HALF:  # also if it is NaN
        raise EncodingError(
            f"text {row.text} has a state of {largest:g}, expected at most {LARGEST_HALF:g}, float16's largest number: "
            "train all layers of this model"
        )
    return states.astype(HALF)
