"""The retriever: combines encoders and collections to index and search texts."""

from .factorised_index import FactorisedIndex
from .retriever import Retriever

__all__ = ["FactorisedIndex", "Retriever"]
