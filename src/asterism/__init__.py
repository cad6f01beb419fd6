"""Asterism: search beyond the single vector."""

from .corpus import Document, Query
from .encoders import load_encoder, load_pair_scorer
from .errors import AsterismError
from .indexes.collection import Collection
from .indexes.token_index import TokenIndex
from .indexes.token_searcher import TokenHits
from .readers import read_documents, read_jsonl, read_text_folder, read_tsv
from .representations import LexicalWeights, Representations, TokenVectors
from .results import Explanation, Hit, Match, Ranking
from .retriever import Retriever
from .settings import EncoderSettings, TokenBuild, TokenSearch

__version__ = "0.1.0"
__all__ = [
    "AsterismError",
    "Collection",
    "Document",
    "EncoderSettings",
    "Explanation",
    "Hit",
    "LexicalWeights",
    "Match",
    "Query",
    "Ranking",
    "Representations",
    "Retriever",
    "TokenBuild",
    "TokenHits",
    "TokenIndex",
    "TokenSearch",
    "TokenVectors",
    "__version__",
    "load_encoder",
    "load_pair_scorer",
    "read_documents",
    "read_jsonl",
    "read_text_folder",
    "read_tsv",
]
