"""A query and four texts, with the scores that each view gives them."""

from __future__ import annotations

import numpy as np

from .by_hand import Text, axis

QUERY = Text(dense=axis(1), terms={1: 1.0, 2: 0.5}, tokens=np.stack([axis(1), axis(0, 1)]))
FEW = [
    Text("a", axis(1.0), {}, np.stack([axis(0.5), axis(0, 0.25)])),  # dense finds it; no words
    Text("b", axis(0.5), {1: 1.0, 2: 1.0}, np.stack([axis(0.25)])),  # words find it
    Text("c", axis(0.25), {2: 0.5, 9: 3.0}, np.stack([axis(1.0, 1.0)]), kind=1),  # token vectors find it
    Text("d", axis(0.125), {9: 1.0}, kind=1),  # nothing in common; no token vectors
]
# By hand: dense, lexical, mean of the best similarity of each query vector (-1 where there are none).
SCORES = {"a": (1.0, 0.0, 0.375), "b": (0.5, 1.5, 0.125), "c": (0.25, 0.25, 1.0), "d": (0.125, 0.0, -1.0)}
