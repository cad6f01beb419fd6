"""The retriever: combines encoders and collections to index and search texts."""

from .add_counts import AddCounts
from .factorised_index import FactorisedIndex
from .retriever import Retriever

__all__ = ["AddCounts", "FactorisedIndex", "Retriever"]
