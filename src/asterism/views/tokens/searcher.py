"""Searches token segments for the documents with the largest sum of each query token's best similarity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import SettingError, VectorsError
from ...kernels import _native, choose_kernels, reference
from ...representations import Representations, TokenVectors
from ...representations.token_vectors import FloatArray, check_matrix, find_unusable_row
from ...settings import MOST_THREADS, TokenSearch, check_whole_number
from ...storage.faults import report_damage
from ..eligible import Mask, check_eligible
from ..hits import SearchHits
from .residual_codec import ResidualCodec
from .search_defaults import fill_in_defaults
from .segment import OpenTokens

LONGEST_QUERY = 1024

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]


class TokenSearcher:
    """A ViewSearcher of token vectors; queries are TokenVectors, one query is a matrix (tokens, d)."""

    def __init__(self, path: Path, codec: ResidualCodec, segments: Sequence[OpenTokens]) -> None:
        """`path` is for messages."""
        self.path = path
        self.codec = codec
        self.segments = list(segments)
        self.documents = sum(segment.facts.documents for segment in segments)
        self.tokens = sum(segment.facts.tokens for segment in segments)
        self.settings = TokenSearch()
        self._firsts = np.cumsum([0] + [segment.facts.documents for segment in segments])
        with report_damage(self.path):
            parts = [segment.to_native() for segment in segments]
            self._engine = _native.TokenEngine(codec.to_native(), parts, choose_kernels())

    def with_settings(self, settings: TokenSearch | None) -> TokenSearcher:
        """A searcher of the same segments with other settings."""
        if settings is None or settings is self.settings:
            return self
        if not isinstance(settings, TokenSearch):
            raise SettingError(f"settings is a {type(settings).__name__}, expected TokenSearch(...)")
        twin = TokenSearcher.__new__(TokenSearcher)
        twin.__dict__.update(self.__dict__, settings=settings)
        return twin

    def prepare(self, queries: Representations) -> TokenVectors:
        """The queries' token vectors, checked."""
        if queries.multi is None:
            raise VectorsError("the queries have no token vectors")
        return self._check(queries.multi)

    def gather(self, queries: Sequence[npt.ArrayLike]) -> TokenVectors:
        """Check matrices (tokens, d) and join them as queries."""
        matrices = [check_matrix(query, _name(i, len(queries))) for i, query in enumerate(queries)]
        for i, matrix in enumerate(matrices):
            self._refuse_width(matrix.shape[1], _name(i, len(queries)))
        if len(matrices) == 1:
            return self._check(TokenVectors(matrices[0], [0, len(matrices[0])]))
        flat = np.concatenate([np.empty((0, self.codec.dimensions), np.float32), *matrices], dtype=np.float32)
        return self._check(TokenVectors(flat, np.cumsum([0] + [len(matrix) for matrix in matrices])))

    def search(self, queries: TokenVectors, k: int, eligible: Mask | None = None, threads: int = 1) -> SearchHits:
        """Queries -> ids and scores (n, up to k); `threads` share the queries, settings.threads share a single one."""
        wanted = check_whole_number("k", k, 1)
        workers = check_whole_number("threads", threads, 1, MOST_THREADS)
        native, mask = self._make_native_settings(wanted), check_eligible(eligible, self.documents)
        flat = np.asarray(queries.flat, np.float32)
        with report_damage(self.path):
            if len(queries) == 1:
                ids, scores, timings = self._engine.search(flat, wanted, native, mask)
                return SearchHits(ids[None], scores[None], timings)
            return SearchHits(*self._engine.search_many(flat, queries.offsets, wanted, native, mask, workers))

    def scores(self, query: FloatArray, documents: Numbers) -> Floats:
        """Query (tokens, d), documents (m,) -> (m,); -inf for a document without vectors."""
        with report_damage(self.path):
            return self._engine.scores(np.asarray(query, np.float32), np.ascontiguousarray(documents, np.int64))

    def explain(self, query: FloatArray, document: int) -> Floats:
        """Query (q, d), a document -> similarities (tokens, q), bit for bit those of a search.

        XTR uses the codes; the other methods use the finer copy if there is one.
        """
        segment, rows = self._locate(document)
        finest = segment.fine is not None and self.settings.method != "xtr"
        stored: npt.NDArray[Any] = segment.fine[rows] if finest and segment.fine is not None else segment.codes[rows]
        tokens = np.asarray(query, np.float32)
        if stored.dtype != np.uint8:
            return reference.compare_floats(stored, tokens)
        codec = self.codec
        balanced, with_mean = reference.balance_queries(tokens, codec.shared)
        levels = reference.to_signed_bytes(reference.rotate(balanced, codec.signs), codec.centroids.rows.shape[1])
        used = segment.read_centroids(rows)
        table = reference.centroid_scores(codec.centroids.rows[used], codec.centroids.scales[used], levels) + with_mean
        scales = segment.scales[rows] if segment.scales is not None else np.ones(len(used), np.float16)
        return reference.compare_codes(stored, scales, table, codec.code_format, levels)

    def retrieval(
        self, query: FloatArray, k: int, eligible: Mask | None
    ) -> tuple[Floats, list[npt.NDArray[np.uint32]]]:
        """For XTR: the imputed similarity of each query token (q,), and the centroids that it probed."""
        native, mask = self._make_native_settings(k), check_eligible(eligible, self.documents)
        with report_damage(self.path):
            return self._engine.retrieval(np.asarray(query, np.float32), k, native, mask)

    def penalise_length(self, query: FloatArray, document: int) -> float:
        """What the length of a document takes from its score for a query (q, d), in a search with these settings."""
        rows = self._locate(document)[1]
        return float(reference.penalise_length(len(query), rows.stop - rows.start, self.settings.length_penalty))

    def read_centroids(self, document: int) -> npt.NDArray[np.uint32]:
        """(tokens,) the centroid of each of a document's vectors."""
        segment, rows = self._locate(document)
        return segment.read_centroids(rows)

    def _locate(self, document: int) -> tuple[OpenTokens, slice]:
        number = int(np.searchsorted(self._firsts, document, side="right")) - 1
        segment = self.segments[number]
        return segment, segment.locate_tokens(document - int(self._firsts[number]))

    def _make_native_settings(self, k: int) -> _native.SearchSettings:
        plan = fill_in_defaults(self.settings, k, self.documents, self.tokens, len(self.codec.centroids))
        if self.codec.is_flat and plan["method"] == "colbert":
            plan["method"] = "exact"  # without clusters, no document can be skipped
        return _native.SearchSettings(**plan)

    def _check(self, queries: TokenVectors) -> TokenVectors:
        lengths = (queries.offsets[1:] - queries.offsets[:-1]).tolist()
        if 0 in lengths:
            raise VectorsError(f"{_name(lengths.index(0), len(queries))} has no vectors, expected at least one")
        if max(lengths, default=0) > LONGEST_QUERY:
            longest = max(lengths)
            name = _name(lengths.index(longest), len(queries))
            raise VectorsError(f"{name} has {longest} vectors, expected at most {LONGEST_QUERY}: shorten it")
        self._refuse_width(queries.flat.shape[1], _name(0, len(queries)))
        row = find_unusable_row(queries.flat)
        if row is not None:
            i = int(np.searchsorted(queries.offsets, row, side="right")) - 1
            given = f"{_name(i, len(queries))}: row {row - queries.offsets[i]}"
            raise VectorsError(f"{given} has NaN, infinity or numbers of about 1e15, expected none")
        return queries

    def _refuse_width(self, dimensions: int, name: str) -> None:
        if dimensions != self.codec.dimensions:
            raise VectorsError(f"{name} has {dimensions} dimensions, the index has {self.codec.dimensions}")


def _name(query: int, queries: int) -> str:
    return "the query" if queries == 1 else f"query {query}"
