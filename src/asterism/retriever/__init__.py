"""The retriever: combines encoders and collections to index and search texts."""

from .add_counts import AddCounts
from .factorised_index import FactorisedIndex
from .retriever import Retriever
from .syncing.report import SyncReport

__all__ = ["AddCounts", "FactorisedIndex", "Retriever", "SyncReport"]
