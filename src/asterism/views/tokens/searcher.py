"""A codec and its segments, opened: what `TokenIndex` and `Collection` search with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import SettingError, VectorsError
from ...kernels import _native, choose_kernels, reference
from ...representations.token_vectors import check_finite, check_matrix
from ...settings import MOST_THREADS, TokenSearch, whole_number
from ...storage.faults import damage_reported
from ..eligible import checked_subset
from ..hits import SearchHits
from .residual_codec import ResidualCodec
from .search_defaults import plan_of
from .segment import OpenSegment

LONGEST_QUERY = 1024

Floats = npt.NDArray[np.float32]


class TokenSearcher:
    """Documents are numbered through all segments, in their order."""

    def __init__(self, path: Path, codec: ResidualCodec, segments: Sequence[OpenSegment]) -> None:
        """`path` is for messages."""
        self.path = path
        self.codec = codec
        self.segments = list(segments)
        self.documents = sum(segment.facts.documents for segment in segments)
        self.tokens = sum(segment.facts.tokens for segment in segments)
        self._firsts = np.cumsum([0] + [segment.facts.documents for segment in segments])
        with damage_reported(self.path):
            parts = [segment.native() for segment in segments]
            self._engine = _native.TokenEngine(codec.native(), parts, choose_kernels())

    def search(
        self, query: npt.ArrayLike, k: int, settings: TokenSearch | None, subset: npt.ArrayLike | None
    ) -> SearchHits:
        """Query (tokens, d) -> the k best documents; subset (documents,) of bool restricts the search to them."""
        tokens = self._checked_query(query, "the query")
        wanted = whole_number("k", k, 1)
        native = self._native_settings(settings, wanted)
        checked = checked_subset(subset, self.documents)
        with damage_reported(self.path):
            ids, scores, timings = self._engine.search(tokens, wanted, native, checked)
        return SearchHits(ids, scores, timings)

    def search_many(
        self,
        queries: Sequence[npt.ArrayLike],
        k: int,
        settings: TokenSearch | None,
        subset: npt.ArrayLike | None,
        threads: int,
    ) -> SearchHits:
        """Queries, each (tokens, d) -> ids and scores (n, k), padded with -1 and -inf."""
        wanted = whole_number("k", k, 1)
        workers = whole_number("threads", threads, 1, MOST_THREADS)
        native = self._native_settings(settings, wanted)
        matrices = [self._checked_query(query, f"query {i}") for i, query in enumerate(queries)]
        starts = np.cumsum([0] + [len(matrix) for matrix in matrices], dtype=np.int64)
        flat = np.concatenate([np.empty((0, self.codec.dimensions), np.float32), *matrices])
        checked = checked_subset(subset, self.documents)
        with damage_reported(self.path):
            ids, scores, timings = self._engine.search_many(flat, starts, wanted, native, checked, workers)
        return SearchHits(ids, scores, timings)

    def similarities(self, query: npt.ArrayLike, document: int, finest: bool = True) -> Floats:
        """Query (q, d), a document's number -> (tokens, q), to the bit as a search computes them."""
        tokens = self._checked_query(query, "the query")
        segment, rows = self._place(document)
        stored: npt.NDArray[Any] = segment.fine[rows] if segment.fine is not None and finest else segment.codes[rows]
        if stored.dtype != np.uint8:
            return reference.compare_floats(stored, tokens)
        codec = self.codec
        rotated = codec.rotated(tokens, threads=1)
        levels = reference.to_signed_bytes(rotated, codec.centroids.rows.shape[1])
        used = segment.centroids_of(rows)
        table = reference.centroid_scores(codec.centroids.rows[used], codec.centroids.scales[used], levels)
        scales = segment.scales[rows] if segment.scales is not None else np.ones(len(used), np.float16)
        return reference.compare_codes(stored, scales, table, codec.code_format, levels)

    def retrieval(
        self, query: npt.ArrayLike, k: int, settings: TokenSearch, subset: npt.ArrayLike | None
    ) -> tuple[Floats, list[npt.NDArray[np.uint32]]]:
        """For XTR: what each query token imputes (q,), and the centroids that it probed."""
        tokens = self._checked_query(query, "the query")
        native = self._native_settings(settings, k)
        with damage_reported(self.path):
            imputed, probed = self._engine.retrieval(tokens, k, native, checked_subset(subset, self.documents))
        return imputed, probed

    def centroids_of(self, document: int) -> npt.NDArray[np.uint32]:
        """(tokens,) the centroid of each of a document's vectors."""
        segment, rows = self._place(document)
        return segment.centroids_of(rows)

    def _place(self, document: int) -> tuple[OpenSegment, slice]:
        number = int(np.searchsorted(self._firsts, document, side="right")) - 1
        segment = self.segments[number]
        return segment, segment.tokens_of(document - int(self._firsts[number]))

    def _native_settings(self, settings: TokenSearch | None, k: int) -> _native.SearchSettings:
        if settings is not None and not isinstance(settings, TokenSearch):
            raise SettingError(f"settings is a {type(settings).__name__}, expected TokenSearch(...)")
        plan = plan_of(settings or TokenSearch(), k, self.documents, self.tokens, len(self.codec.centroids))
        if self.codec.is_flat and plan["method"] == "colbert":
            plan["method"] = "exact"  # nothing was clustered, so nothing can be skipped
        return _native.SearchSettings(**plan)

    def _checked_query(self, query: npt.ArrayLike, name: str) -> Floats:
        matrix = check_matrix(query, name)
        if len(matrix) == 0:
            raise VectorsError(f"{name} has no vectors, expected at least one")
        if len(matrix) > LONGEST_QUERY:
            raise VectorsError(f"{name} has {len(matrix)} vectors, expected at most {LONGEST_QUERY}: shorten it")
        if matrix.shape[1] != self.codec.dimensions:
            raise VectorsError(f"{name} has {matrix.shape[1]} dimensions, the index has {self.codec.dimensions}")
        tokens = np.ascontiguousarray(matrix, np.float32)
        check_finite(tokens, name)
        return tokens
