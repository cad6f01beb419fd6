"""Policies are checked when they are made."""

from __future__ import annotations

from typing import Any

import pytest

from asterism.collection.policy import Policy
from asterism.errors import SettingError


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch_documents": 0}, "batch_documents is 0, expected a number of at least 1"),
        ({"filters_kept": -1}, "filters_kept is -1"),
        ({"flat_tokens": True}, "flat_tokens is True"),
        ({"drifted": float("nan")}, "drifted is nan, expected a number of at least 0"),
        ({"most_segments": "4"}, "most_segments is '4'"),
        ({"most_segment": 4}, "did you mean 'most_segments'"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Policy(**given)
