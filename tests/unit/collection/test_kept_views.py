"""The views of a collection, as they are stored."""

from __future__ import annotations

from typing import Any

import pytest

from asterism import TermCounting, TokenBuild, Views
from asterism.errors import SettingError

CHOSEN = TermCounting(k1=1.5, b=0.25)


@pytest.mark.parametrize(
    "views",
    [
        Views(lexical="words"),
        Views(TokenBuild(bits=2), True, "tokens", 9, CHOSEN),
        Views(lexical="model"),
        Views(TokenBuild()),
    ],
)
def test_they_are_read_as_they_were_written(views: Views) -> None:
    assert Views.from_json(views.to_json()) == views


def test_earlier_formats_counted_with_fixed_settings() -> None:
    """Even if the defaults of new indexes are others one day."""
    stored = Views(lexical="words", counting=CHOSEN).to_json()
    del stored["counting"]
    assert Views.from_json(stored).counting == TermCounting(k1=0.9, b=0.75, language="none")
    assert Views.from_json({**stored, "lexical": "model"}).counting is None


@pytest.mark.parametrize(
    ("lexical", "counting", "message"),
    [
        (None, CHOSEN, "there is no lexical view"),
        ("model", CHOSEN, "a lexical view of the model's own weights"),
        ("words", {"k1": 1}, "counting is a dict, expected TermCounting"),
    ],
)
def test_settings_that_would_be_ignored_are_refused(lexical: Any, counting: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Views(TokenBuild(), lexical=lexical, counting=counting)
