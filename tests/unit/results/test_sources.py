"""Where a passage of a file comes from, as people write it."""

from __future__ import annotations

from typing import Any

import pytest

from asterism.results.sources import name_source


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"lines": [12, 30]}, "a.md:12–30"),
        ({"lines": [12, 12]}, "a.md:12"),
        ({"page": 4}, "a.md, p. 4"),
        ({"sheet": "People", "lines": [2, 2]}, "a.md, People:2"),
        ({"sheet": 5, "lines": [2, 3]}, "a.md:2–3"),
        ({}, "a.md"),
        ({"lines": [1]}, "a.md"),
        ({"place": None}, ""),
        ({"file": 5}, ""),
    ],
)
def test_name_source(metadata: dict[str, Any], shown: str) -> None:
    assert name_source({"file": "a.md", "place": 1, **metadata}) == shown
