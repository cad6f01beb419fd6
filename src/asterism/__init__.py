"""Asterism: search beyond the single vector."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .corpus import Document, Query
    from .encoders import load_encoder, load_pair_scorer
    from .errors import AsterismError
    from .indexes.collection import Collection
    from .indexes.hits import SearchHits
    from .indexes.token_index import TokenIndex
    from .indexes.views import Views
    from .readers import read_documents, read_jsonl, read_text_folder, read_tsv
    from .representations import LexicalWeights, Representations, TokenVectors
    from .results import Explanation, Hit, Match, Ranking
    from .retriever import Retriever
    from .settings import EncoderSettings, HybridSearch, TokenBuild, TokenSearch

__version__ = "0.1.0"
__all__ = [
    "AsterismError",
    "Collection",
    "Document",
    "EncoderSettings",
    "Explanation",
    "Hit",
    "HybridSearch",
    "LexicalWeights",
    "Match",
    "Query",
    "Ranking",
    "Representations",
    "Retriever",
    "SearchHits",
    "TokenBuild",
    "TokenIndex",
    "TokenSearch",
    "TokenVectors",
    "Views",
    "__version__",
    "load_encoder",
    "load_pair_scorer",
    "read_documents",
    "read_jsonl",
    "read_text_folder",
    "read_tsv",
]

_HOMES = {
    "corpus": ("Document", "Query"),
    "encoders": ("load_encoder", "load_pair_scorer"),
    "errors": ("AsterismError",),
    "indexes.collection": ("Collection",),
    "indexes.hits": ("SearchHits",),
    "indexes.token_index": ("TokenIndex",),
    "indexes.views": ("Views",),
    "readers": ("read_documents", "read_jsonl", "read_text_folder", "read_tsv"),
    "representations": ("LexicalWeights", "Representations", "TokenVectors"),
    "results": ("Explanation", "Hit", "Match", "Ranking"),
    "retriever": ("Retriever",),
    "settings": ("EncoderSettings", "HybridSearch", "TokenBuild", "TokenSearch"),
}


def __getattr__(name: str) -> object:
    """A public name is loaded when it is first used: who wants documents need not wait for the engine."""
    for home, names in _HOMES.items():
        if name in names:
            value: object = getattr(import_module(f".{home}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
