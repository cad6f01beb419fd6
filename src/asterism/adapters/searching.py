"""What the adapters ask and how they describe what was found.

A method is any string: the retriever knows which there are, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..results import Hit, Ranking
from ..retriever import Retriever


def searched(index: Retriever, query: str, k: int, method: str | None, filter: Mapping[str, Any] | None) -> Ranking:
    """`Retriever.search`."""
    return index.search(query, k, method=cast(Any, method), filter=filter)


def searched_many(index: Retriever, queries: Sequence[str], k: int, method: str | None) -> list[Ranking]:
    """`Retriever.search_many`, on all cores."""
    return index.search_many(queries, k, method=cast(Any, method))


def titled(hit: Hit) -> dict[str, Any]:
    """The document's metadata, with its title as `title` if it has one and the metadata do not say otherwise."""
    title = {"title": hit.document.title} if hit.document.title else {}
    return {**title, **hit.document.metadata}
