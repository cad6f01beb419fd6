"""Asterism: search beyond the single vector."""

from .errors import AsterismError
from .indexes.token_index import TokenHits, TokenIndex
from .representations import TokenVectors
from .settings import TokenBuild, TokenSearch

__version__ = "0.1.0"
__all__ = ["AsterismError", "TokenBuild", "TokenHits", "TokenIndex", "TokenSearch", "TokenVectors", "__version__"]
