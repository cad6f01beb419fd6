"""The largest sizes of a model: beyond all that are published, and small enough that a short text costs little memory.

A file of a few megabytes can hold a layer of a million rows and one column, whose outputs take gigabytes.
"""

from __future__ import annotations

MOST_LAYERS = 64  # of a transformer; 48 in XLM-R XXL. A graph of hundreds takes minutes to make and to load
WIDEST = 1 << 14  # states and vectors
WIDEST_INNER = 1 << 17  # between the two products of a layer; 65,536 in T5-11B
MOST_HEADS = 256
WIDEST_HEAD = 512
MOST_BUCKETS, FARTHEST = 4096, 1 << 16  # T5's relative positions; 32 and 128 in all that are published
LONGEST_TEXT = 1_000_000  # tokens, for models whose positions have no end
MOST_FILLED = 1024  # tokens of a row that is filled up whatever the text: attention needs their square
LONGEST_PROMPT = 4096  # characters
MOST_POOLED = 1 << 24  # numbers that constant pooling makes of a document
