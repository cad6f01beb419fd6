"""LlamaIndex's VectorStoreQuery as a search of an index."""

from __future__ import annotations

from dataclasses import replace

from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from ...errors import SettingError
from ...results import Ranking
from ...retriever import Retriever
from ...retriever.diverse_search import search_diverse
from ...settings import HybridSearch, check_number
from .filters import Filter, translate_filters
from .nodes import NODE_ID, SOURCE_ID

METHODS = {
    VectorStoreQueryMode.HYBRID: "hybrid",
    VectorStoreQueryMode.SPARSE: "lexical",
    VectorStoreQueryMode.TEXT_SEARCH: "lexical",
}
MODES = (VectorStoreQueryMode.DEFAULT, *METHODS, VectorStoreQueryMode.MMR)
NEVER = ("output_fields", "embedding_field", "sparse_top_k")
MORE_CANDIDATES = 4  # times as many as nodes are wanted


def run_request(index: Retriever, query: VectorStoreQuery, method: str | None, prefetched: int | None) -> Ranking:
    """Search by the text of a query; its embedding is ignored.

    method: of the mode "default"; prefetched: candidates of the mode "mmr", None for four times the wanted nodes.
    """
    refuse_request(query, prefetched)
    filter = gather_filters(query)
    k = query.similarity_top_k
    text: str = query.query_str or ""
    if query.mode == VectorStoreQueryMode.MMR:
        balance = 0.5 if query.mmr_threshold is None else query.mmr_threshold
        candidates = MORE_CANDIDATES * k if prefetched is None else prefetched
        return search_diverse(index, text, k, candidates=candidates, balance=balance, method=method, filter=filter)
    if query.mode == VectorStoreQueryMode.HYBRID:
        k = k if query.hybrid_top_k is None else query.hybrid_top_k
        settings = None if query.alpha is None else weigh_words(index, query.alpha)
        return index.search(text, k, method="hybrid", settings=settings, filter=filter)
    return index.search(text, k, method=METHODS.get(query.mode, method), filter=filter)


def refuse_request(query: VectorStoreQuery, prefetched: int | None) -> None:
    """Refuse what would be ignored, and a query without a text."""
    if query.mode not in MODES:
        known = ", ".join(mode.value for mode in MODES)
        raise SettingError(f"mode is {query.mode!r}, expected one of {known}")
    if query.query_str is None:
        raise SettingError(
            "query_str is None, expected a text: an index encodes queries with its own model, and ignores embeddings"
        )
    for name in NEVER:
        if getattr(query, name) is not None:
            raise SettingError(f"{name} is {getattr(query, name)!r}, expected None: an index has no use for it")
    hybrid, mmr = VectorStoreQueryMode.HYBRID, VectorStoreQueryMode.MMR
    for name, value, mode in (
        ("alpha", query.alpha, hybrid),
        ("hybrid_top_k", query.hybrid_top_k, hybrid),
        ("mmr_threshold", query.mmr_threshold, mmr),
        ("mmr_prefetch_k", prefetched, mmr),
    ):
        if value is not None and query.mode != mode:
            asked = VectorStoreQueryMode(query.mode).value  # it may be a plain string
            raise SettingError(f"{name} is {value!r}, but the mode is {asked!r}: only {mode.value!r} has it")


def gather_filters(query: VectorStoreQuery) -> Filter | None:
    """The filters of a query, and its ids of nodes and of their sources, as one filter.

    Only what the vector store wrote has these ids: documents of another origin match none. An empty list of ids is no
    restriction: a VectorStoreIndex passes one with every query.
    """
    parts = [translate_filters(query.filters)]
    parts += [{NODE_ID: {"$in": query.node_ids}}] if query.node_ids else []
    parts += [{SOURCE_ID: {"$in": query.doc_ids}}] if query.doc_ids else []
    given = [part for part in parts if part is not None]
    return {"$and": given} if given else None


def weigh_words(index: Retriever, alpha: float) -> HybridSearch:
    """Hybrid search with weight `alpha` for all views of vectors together, and the rest for words."""
    share = check_number("alpha", alpha, 0, 1)
    vectors = [view for view in index.views if view != "lexical"]
    each = share / max(1, len(vectors))
    return replace(index.fusion, weights=(each * ("dense" in vectors), 1 - share, each * ("multi" in vectors)))
