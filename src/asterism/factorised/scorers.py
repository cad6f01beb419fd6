"""Asks a scorer that may fail: a model, a judge behind a network, a paid interface."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import InputError, ScorerError
from ..settings import Settings, check_number, check_whole_number

Floats = npt.NDArray[np.float32]

SHOWN = 60  # characters of a text in a message
LONGEST_WAIT = 1e6


class Scorer(Protocol):
    """Anything that scores texts for a query; higher is better. A PairScorer is one."""

    def score(self, query: str, texts: Sequence[str], /) -> npt.ArrayLike:
        """(texts,) one score for each text."""


@dataclass(frozen=True)
class Asking(Settings):
    """How a scorer is asked.

    batch     texts of one call
    retries   further attempts after a failure
    timeout   seconds for one call; 0: no limit
    """

    batch: int = 64
    retries: int = 2
    timeout: float = 0.0

    def __post_init__(self) -> None:
        """Check every value."""
        object.__setattr__(self, "batch", check_whole_number("batch", self.batch, 1))
        object.__setattr__(self, "retries", check_whole_number("retries", self.retries, 0, 100))
        object.__setattr__(self, "timeout", check_number("timeout", self.timeout, 0, LONGEST_WAIT))


class CheckedScorer:
    """Asks in batches, again after a failure; what cannot be scored is a ScorerError that names the pair."""

    def __init__(self, scorer: Scorer, asking: Asking | None = None) -> None:
        """`scorer` has a method `score(query, texts)`."""
        if not callable(getattr(scorer, "score", None)):
            raise InputError(
                f"the scorer is a {type(scorer).__name__}, expected an object with score(query, texts), such as "
                "load_pair_scorer(...)"
            )
        self._scorer = scorer
        self._asking = asking or Asking()

    def score(self, query: str, texts: Sequence[str]) -> Floats:
        """(n,) float32, all of them finite."""
        size = self._asking.batch
        parts = [self._score_batch(query, texts[start : start + size]) for start in range(0, len(texts), size)]
        return np.concatenate([np.empty(0, np.float32), *parts])

    def _score_batch(self, query: str, texts: Sequence[str]) -> Floats:
        failure = ""
        for _ in range(1 + self._asking.retries):
            try:
                return self._ask(query, texts)
            except _Failed as error:
                failure = str(error)
        if len(texts) > 1:  # find the pair that fails
            return np.concatenate([self._score_batch(query, [text]) for text in texts])
        raise ScorerError(
            f"the scorer {failure} for the query {_shorten(query)} and the text {_shorten(texts[0])}, "
            f"asked {1 + self._asking.retries} times: try again when it answers"
        )

    def _ask(self, query: str, texts: Sequence[str]) -> Floats:
        try:
            found = _call(self._scorer, query, list(texts), self._asking.timeout)
        except _TooSlow as error:
            raise _Failed(f"took more than {self._asking.timeout:g} seconds") from error
        except Exception as error:
            raise _Failed(f"raised {type(error).__name__} ({' '.join(str(error).split())[:200]})") from error
        scores = _read_scores(found, len(texts))
        if scores.shape != (len(texts),):
            raise _Failed(f"returned shape {scores.shape}, expected ({len(texts)},)")
        if not np.isfinite(scores).all():
            raise _Failed(f"returned {scores[~np.isfinite(scores)][0]}, expected a number")
        return scores


class _Failed(Exception):
    """One attempt failed."""


class _TooSlow(Exception):
    """A call took longer than it may. Not a TimeoutError, which a scorer may raise itself."""


def _call(scorer: Scorer, query: str, texts: list[str], timeout: float) -> Any:
    """Call it here, or with a limit in a thread, which is left alone when the time is over."""
    if not timeout:
        return scorer.score(query, texts)
    result: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(scorer.score(query, texts))
        except BaseException as error:
            failure.append(error)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(timeout)
    if failure:
        raise failure[0]
    if not result:
        raise _TooSlow
    return result[0]


def _read_scores(found: Any, expected: int) -> Floats:
    """Whatever a scorer returned, as numbers; a tensor of another library may refuse to become an array."""
    try:
        values = np.asarray(found)
        if values.dtype.kind not in "biuf":
            values = values.astype(object)  # each on its own: complex numbers would lose a part
        with np.errstate(over="ignore"):  # infinite, which is refused
            return values.astype(np.float32)
    except Exception as error:
        raise _Failed(f"returned a {type(found).__name__}, expected {expected} numbers") from error


def _shorten(text: str) -> str:
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
