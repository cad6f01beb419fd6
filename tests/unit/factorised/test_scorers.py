"""A scorer that fails: retried, then one line that names the pair."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from asterism.errors import InputError, ScorerError, SettingError
from asterism.factorised.scorers import Asking, CheckedScorer


class Odd:
    """Answers with the next of some results; an exception is raised."""

    def __init__(self, *results: Any) -> None:
        self.results = list(results)
        self.calls: list[int] = []

    def score(self, query: str, texts: Sequence[str]) -> Any:
        self.calls.append(len(texts))
        result = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        if isinstance(result, Exception):
            raise result
        return result(texts) if callable(result) else result


class Tensor:
    """Cannot become an array, as one of torch that needs a gradient."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("requires grad")


def lengths(texts: Sequence[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def test_batches() -> None:
    scorer = Odd(lengths)
    found = CheckedScorer(scorer, Asking(batch=2)).score("q", ["a", "bb", "ccc", "dddd", "e"])
    assert found.tolist() == [1, 2, 3, 4, 1]
    assert scorer.calls == [2, 2, 1]
    assert CheckedScorer(scorer).score("q", []).shape == (0,)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (RuntimeError("no\nnetwork"), "raised RuntimeError (no network)"),
        ([1.0, 2.0, 3.0], "returned shape (3,), expected (1,)"),
        ([float("nan")], "returned nan, expected a number"),
        ("high", "returned a str, expected 1 numbers"),
        (None, "returned a NoneType, expected 1 numbers|returned shape"),
        ([1e300], "returned inf, expected a number"),
        ([10**400], "returned a list, expected 1 numbers"),
        (np.array([1j]), "returned a ndarray, expected 1 numbers"),
        (Tensor(), "returned a Tensor, expected 1 numbers"),
        ([[1.0]], "returned shape (1, 1), expected (1,)"),
        (TimeoutError("the server"), "raised TimeoutError (the server)"),
    ],
)
def test_what_cannot_be_scored(result: Any, said: str) -> None:
    scorer = Odd(result)
    with pytest.raises(ScorerError) as raised:
        CheckedScorer(scorer, Asking(retries=2)).score("how?", ["because"])
    assert any(one in str(raised.value) for one in said.split("|"))
    assert "'how?'" in str(raised.value)
    assert "'because'" in str(raised.value)
    assert "asked 3 times" in str(raised.value)
    assert scorer.calls == [1, 1, 1]


@pytest.mark.parametrize("result", [[2], [True], np.array([2], np.int64), np.array([2], np.float16), (2.0,)])
def test_any_numbers(result: Any) -> None:
    found = CheckedScorer(Odd(result)).score("q", ["a"])
    assert found.dtype == np.float32
    assert found.tolist() == [float(result[0])]


def test_a_failure_that_passes() -> None:
    scorer = Odd(RuntimeError("busy"), lengths)
    assert CheckedScorer(scorer, Asking(retries=1)).score("q", ["a", "bb"]).tolist() == [1, 2]


def test_the_pair_that_fails_is_found() -> None:
    class Picky:
        def score(self, query: str, texts: Sequence[str]) -> list[float]:
            if "bad" in texts:
                raise ValueError("cannot")
            return lengths(texts)

    checked = CheckedScorer(Picky(), Asking(retries=0))
    with pytest.raises(ScorerError, match="the text 'bad'"):
        checked.score("q", ["a", "bad", "c"])


def test_a_limit_of_time() -> None:
    class Slow:
        def score(self, query: str, texts: Sequence[str]) -> list[float]:
            time.sleep(5)
            return lengths(texts)

    with pytest.raises(ScorerError, match=r"took more than 0.05 seconds"):
        CheckedScorer(Slow(), Asking(retries=0, timeout=0.05)).score("q", ["a"])
    assert CheckedScorer(Odd(lengths), Asking(timeout=30)).score("q", ["a"]).tolist() == [1]


def test_no_scorer() -> None:
    with pytest.raises(InputError, match=r"the scorer is a str, expected an object with score"):
        CheckedScorer("model")
    with pytest.raises(SettingError):
        Asking(batch=0)
    assert np.isfinite(Asking().timeout)
