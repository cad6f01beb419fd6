"""Rankings with one hit for each group, or without near-identical texts; searched deeper until there are k."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from ..documents.near_duplicates import Shingles, make_shingles, measure_overlap
from ..errors import SettingError
from ..results import Hit, Ranking
from ..settings import check_whole_number

DEEPER = 4  # times as many hits at each further search
SAME = 0.8  # overlap of texts that are folded


def search_in_groups(
    search: Callable[[int], Ranking], k: int, offset: int, documents: int, group_by: str | None, fold: bool
) -> Ranking:
    """The k best hits after the first `offset`, each the first of its group and not nearly the text of a better one.

    group_by: a key of the metadata; a document without it is a group of its own · documents: the most that `search` can
    give.
    """
    if group_by is not None and (not isinstance(group_by, str) or not group_by):
        raise SettingError(f"group_by is {group_by!r}, expected a key of the metadata, such as 'file'")
    skipped = check_whole_number("offset", offset, 0)
    wanted = check_whole_number("k", k, 1) + skipped
    depth = min(DEEPER * wanted, max(1, documents))
    while True:
        found = search(depth)
        kept = _choose(found, wanted, group_by, fold)
        if len(kept) == wanted or len(found) < depth or depth >= documents:
            hits = tuple(replace(hit, rank=rank) for rank, hit in enumerate(kept[skipped:], skipped + 1))
            return replace(found, hits=hits)
        depth = min(DEEPER * depth, documents)


def _choose(found: Ranking, wanted: int, group_by: str | None, fold: bool) -> list[Hit]:
    kept: list[Hit] = []
    seen: set[str] = set()
    texts: list[Shingles] = []
    for hit in found:
        if len(kept) == wanted:
            break
        group = None if group_by is None else hit.document.metadata.get(group_by)
        name = json.dumps(group, sort_keys=True)
        if group is not None and name in seen:
            continue
        if fold:
            text = make_shingles(hit.document.text)
            if any(measure_overlap(text, other) >= SAME for other in texts):
                continue
            texts.append(text)
        seen.add(name)
        kept.append(hit)
    return kept
