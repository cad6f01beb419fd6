"""Asterism: search beyond the single vector."""

from .encoders import load_encoder, load_pair_scorer
from .errors import AsterismError
from .indexes.token_index import TokenHits, TokenIndex
from .representations import LexicalWeights, Representations, TokenVectors
from .settings import EncoderSettings, TokenBuild, TokenSearch

__version__ = "0.1.0"
__all__ = [
    "AsterismError",
    "EncoderSettings",
    "LexicalWeights",
    "Representations",
    "TokenBuild",
    "TokenHits",
    "TokenIndex",
    "TokenSearch",
    "TokenVectors",
    "__version__",
    "load_encoder",
    "load_pair_scorer",
]
