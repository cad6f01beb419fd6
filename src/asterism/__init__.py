"""Asterism: search beyond the single vector."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .collection.catalog_reader import CatalogReader
    from .collection.collection import Collection, Found
    from .collection.kept_views import Views
    from .collection.metadata_changes import MetadataChange, Moved
    from .collection.policy import Policy
    from .collection.repair.repair import Repair
    from .collection.snapshot import Snapshot
    from .collection.writer import CollectionWriter
    from .documents.document import Document, Query
    from .documents.files.chunking import Chunking
    from .documents.folders.skipping import SkippedFile
    from .documents.reading import read_documents, read_jsonl, read_tsv
    from .encoders import load_encoder, load_pair_scorer
    from .encoders.encoder import Encoder
    from .encoders.pair_scorer import PairScorer
    from .encoders.spans import TokenSpan
    from .errors import AsterismError, QueryCut
    from .factorised.scorers import Asking, Scorer
    from .representations import LexicalWeights, Representations, TokenVectors
    from .results import Explanation, Hit, Match, Ranking, Share
    from .retriever import AddCounts, Backup, FactorisedIndex, ManyIndexes, Retriever, SyncReport, open_many
    from .retriever.cross_searching import CrossSearcher
    from .retriever.search_runner import SearchRunner
    from .search.profile import Profile, ViewProfile
    from .settings import CrossSearch, EncoderSettings, HybridSearch, TermCounting, TokenBuild, TokenSearch
    from .terms.counting import TermSpan
    from .views.hits import SearchHits
    from .views.tokens.index import TokenIndex

__version__ = "0.1.0"
__all__ = [
    "AddCounts",
    "Asking",
    "AsterismError",
    "Backup",
    "CatalogReader",
    "Chunking",
    "Collection",
    "CollectionWriter",
    "CrossSearch",
    "CrossSearcher",
    "Document",
    "Encoder",
    "EncoderSettings",
    "Explanation",
    "FactorisedIndex",
    "Found",
    "Hit",
    "HybridSearch",
    "LexicalWeights",
    "ManyIndexes",
    "Match",
    "MetadataChange",
    "Moved",
    "PairScorer",
    "Policy",
    "Profile",
    "Query",
    "QueryCut",
    "Ranking",
    "Repair",
    "Representations",
    "Retriever",
    "Scorer",
    "SearchHits",
    "SearchRunner",
    "Share",
    "SkippedFile",
    "Snapshot",
    "SyncReport",
    "TermCounting",
    "TermSpan",
    "TokenBuild",
    "TokenIndex",
    "TokenSearch",
    "TokenSpan",
    "TokenVectors",
    "ViewProfile",
    "Views",
    "__version__",
    "load_encoder",
    "load_pair_scorer",
    "open_many",
    "read_documents",
    "read_jsonl",
    "read_tsv",
]

_HOMES = {
    "collection.catalog_reader": ("CatalogReader",),
    "collection.collection": ("Collection", "Found"),
    "collection.kept_views": ("Views",),
    "collection.metadata_changes": ("MetadataChange", "Moved"),
    "collection.policy": ("Policy",),
    "collection.repair.repair": ("Repair",),
    "collection.snapshot": ("Snapshot",),
    "collection.writer": ("CollectionWriter",),
    "documents.document": ("Document", "Query"),
    "documents.files.chunking": ("Chunking",),
    "documents.folders.skipping": ("SkippedFile",),
    "documents.reading": ("read_documents", "read_jsonl", "read_tsv"),
    "encoders": ("load_encoder", "load_pair_scorer"),
    "encoders.encoder": ("Encoder",),
    "encoders.pair_scorer": ("PairScorer",),
    "encoders.spans": ("TokenSpan",),
    "errors": ("AsterismError", "QueryCut"),
    "factorised.scorers": ("Asking", "Scorer"),
    "representations": ("LexicalWeights", "Representations", "TokenVectors"),
    "results": ("Explanation", "Hit", "Match", "Ranking", "Share"),
    "retriever": ("AddCounts", "Backup", "FactorisedIndex", "ManyIndexes", "Retriever", "SyncReport", "open_many"),
    "retriever.cross_searching": ("CrossSearcher",),
    "retriever.search_runner": ("SearchRunner",),
    "search.profile": ("Profile", "ViewProfile"),
    "settings": ("CrossSearch", "EncoderSettings", "HybridSearch", "TermCounting", "TokenBuild", "TokenSearch"),
    "terms.counting": ("TermSpan",),
    "views.hits": ("SearchHits",),
    "views.tokens.index": ("TokenIndex",),
}


def __getattr__(name: str) -> object:
    """Load a public name at its first use: importing Document does not load the engine."""
    if name == "errors":
        return import_module(".errors", __name__)
    for home, names in _HOMES.items():
        if name in names:
            value: object = getattr(import_module(f".{home}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
