"""Asterism: search beyond the single vector."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .collection.collection import Collection
    from .collection.kept_views import Views
    from .documents.document import Document, Query
    from .documents.reading import read_documents, read_jsonl, read_text_folder, read_tsv
    from .encoders import load_encoder, load_pair_scorer
    from .errors import AsterismError
    from .factorised.scorers import Asking
    from .representations import LexicalWeights, Representations, TokenVectors
    from .results import Explanation, Hit, Match, Ranking
    from .retriever import FactorisedIndex, Retriever
    from .settings import CrossSearch, EncoderSettings, HybridSearch, TermCounting, TokenBuild, TokenSearch
    from .views.hits import SearchHits
    from .views.tokens.index import TokenIndex

__version__ = "0.1.0"
__all__ = [
    "Asking",
    "AsterismError",
    "Collection",
    "CrossSearch",
    "Document",
    "EncoderSettings",
    "Explanation",
    "FactorisedIndex",
    "Hit",
    "HybridSearch",
    "LexicalWeights",
    "Match",
    "Query",
    "Ranking",
    "Representations",
    "Retriever",
    "SearchHits",
    "TermCounting",
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
    "documents.document": ("Document", "Query"),
    "encoders": ("load_encoder", "load_pair_scorer"),
    "errors": ("AsterismError",),
    "factorised.scorers": ("Asking",),
    "collection.collection": ("Collection",),
    "views.hits": ("SearchHits",),
    "views.tokens.index": ("TokenIndex",),
    "collection.kept_views": ("Views",),
    "documents.reading": ("read_documents", "read_jsonl", "read_text_folder", "read_tsv"),
    "representations": ("LexicalWeights", "Representations", "TokenVectors"),
    "results": ("Explanation", "Hit", "Match", "Ranking"),
    "retriever": ("FactorisedIndex", "Retriever"),
    "settings": ("CrossSearch", "EncoderSettings", "HybridSearch", "TermCounting", "TokenBuild", "TokenSearch"),
}


def __getattr__(name: str) -> object:
    """Load a public name at its first use: importing Document does not load the engine."""
    for home, names in _HOMES.items():
        if name in names:
            value: object = getattr(import_module(f".{home}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
