"""Documents without words are kept, and found by nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism import Document
from tests.unit.retriever.all_views import METHODS, PutWith

DOCUMENTS = [
    Document("empty", ""),
    Document("fox", "The quick brown fox jumps over the lazy dog."),
    Document("blank", " \n\t", metadata={"year": 2020}),
    Document("light", "Who first measured the speed of light?"),
]


@pytest.mark.parametrize("method", METHODS)
def test_no_method_finds_them(put_with: PutWith, m3: Path, method: str) -> None:
    made = put_with(m3, DOCUMENTS)
    for _ in range(2):
        assert set(made.search("fox", 10, method=method).ids) <= {"fox", "light"}
        assert made.search("fox", 10, method=method, filter={"year": 2020}).ids == []
        made.add([Document(f"more{len(made)}", "")])
        made.compact()
    made.check()
    assert made.get("empty").text == ""
    assert len(made) == 6


def test_they_do_not_take_the_place_of_others(put_with: PutWith, single: Path) -> None:
    made = put_with(single, [*(Document(f"e{i}", "") for i in range(20)), *DOCUMENTS])
    assert sorted(made.search("fox", 2, method="dense").ids) == ["fox", "light"]


def test_a_re_ranking_does_not_see_them(put_with: PutWith, tokens: Path) -> None:
    class Counting:
        def score(self, query: str, texts: list[str]) -> list[float]:
            assert all(text.strip() for text in texts)
            return [1.0] * len(texts)

    made = put_with(tokens, DOCUMENTS)
    assert sorted(made.search("fox", 10, rerank=Counting()).ids) == ["fox", "light"]  # type: ignore[arg-type]
