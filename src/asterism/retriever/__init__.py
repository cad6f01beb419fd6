"""The retriever: combines encoders and collections to index and search texts."""

from .retriever import Retriever

__all__ = ["Retriever"]
