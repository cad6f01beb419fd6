"""Texts in, answers out: where encoders and collections meet."""

from .retriever import Retriever

__all__ = ["Retriever"]
