"""The largest sizes of a model: above every published model, and small enough that a short text needs little memory.

A file of a few megabytes can hold a layer of a million rows and one column, whose outputs take gigabytes.
"""

from __future__ import annotations

MOST_LAYERS = 64  # of a transformer; 48 in XLM-R XXL. A graph with hundreds takes minutes to write and load
WIDEST = 1 << 14  # numbers of a state or a vector
WIDEST_INNER = 1 << 17  # between the two products of a layer; 65,536 in T5-11B
MOST_HEADS = 256
WIDEST_HEAD = 512
MOST_BUCKETS, FARTHEST = 4096, 1 << 16  # T5's relative positions; 32 and 128 in all published models
LONGEST_TEXT = 1_000_000  # tokens, for models without a largest position
MOST_FILLED = 1024  # tokens that a row is filled up to; attention needs their square
LONGEST_PROMPT = 4096  # characters
MOST_POOLED = 1 << 24  # numbers that constant pooling makes of a document
