"""What encoders make of texts: NumPy arrays with checked shapes."""

from .lexical import LexicalWeights
from .token_vectors import TokenVectors
from .views import Representations

__all__ = ["LexicalWeights", "Representations", "TokenVectors"]
