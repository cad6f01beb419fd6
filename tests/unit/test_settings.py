"""Settings refuse what they cannot use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from asterism import TermCounting, TokenSearch
from asterism.errors import SettingError


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k1": -0.1}, "k1 is -0.1, expected a number from 0 to 1000"),
        ({"k1": math.inf}, "k1 is inf"),
        ({"k1": math.nan}, "k1 is nan"),
        ({"k1": True}, "k1 is True"),
        ({"k1": "0.9"}, "k1 is '0.9'"),
        ({"b": 1.01}, "b is 1.01, expected a number from 0 to 1"),
        ({"b": -1}, "b is -1"),
        ({"b": None}, "b is None"),
        ({"k": 1}, "did you mean 'k1'"),
    ],
)
def test_counting_refuses(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        TermCounting(**given)


def test_counting_accepts_any_kind_of_number() -> None:
    assert TermCounting(k1=np.float32(0.5), b=np.int64(1)) == TermCounting(k1=0.5, b=1)
    assert (TermCounting(k1=0).k1, TermCounting(b=0).b) == (0, 0)


@pytest.mark.parametrize("given", [-0.01, 10.01, math.inf, math.nan, True, "0.03", None])
def test_a_length_penalty_is_a_number_from_0_to_10(given: Any) -> None:
    with pytest.raises(SettingError, match=f"length_penalty is {given!r}, expected a number from 0 to 10"):
        TokenSearch(length_penalty=given)
    assert TokenSearch(length_penalty=np.float32(0.5)) == TokenSearch(length_penalty=0.5)
    assert type(TokenSearch(length_penalty=10).length_penalty) is float
