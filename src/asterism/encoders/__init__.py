"""Text to representations, for models in every published layout."""

from .loading import load_encoder, load_pair_scorer

__all__ = ["load_encoder", "load_pair_scorer"]
