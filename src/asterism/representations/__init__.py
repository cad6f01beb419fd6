"""Values that stand for a text: NumPy arrays with checked shapes."""

from .multi_vector import TokenVectors

__all__ = ["TokenVectors"]
