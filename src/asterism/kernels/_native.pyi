"""The compiled kernels; see native/*bindings.cpp."""

from typing import Any

import numpy as np
import numpy.typing as npt

class DamagedIndex(Exception): ...

class Centroids:
    def __init__(
        self,
        *,
        rows: npt.NDArray[np.uint8],
        scales: npt.NDArray[np.float32],
        half_norms: npt.NDArray[np.float32],
        group_rows: npt.NDArray[np.uint8],
        group_scales: npt.NDArray[np.float32],
        group_half_norms: npt.NDArray[np.float32],
        starts: npt.NDArray[np.uint32],
    ) -> None: ...

class SharedDirection:
    def __init__(self, *, mean: npt.NDArray[np.float32], axis: npt.NDArray[np.float32], stretch: float) -> None: ...

class Codec:
    def __init__(
        self,
        *,
        centroids: Centroids,
        shared: SharedDirection,
        signs: npt.NDArray[np.float32],
        levels: npt.NDArray[np.uint8],
        cutoffs: npt.NDArray[np.float32],
        dimensions: int,
        bits: int,
        step: float,
        zero: float,
        scales_whole_vector: bool,
    ) -> None: ...

class Segment:
    def __init__(
        self,
        *,
        documents: int,
        fixed: int,
        offsets: npt.NDArray[np.int64] | None,
        centroids: npt.NDArray[np.uint32],
        codes: npt.NDArray[Any],
        scales: npt.NDArray[np.uint16] | None,
        list_starts: npt.NDArray[np.int64],
        list_documents: npt.NDArray[np.uint32],
        list_places: npt.NDArray[np.unsignedinteger],
        fine: npt.NDArray[np.uint16] | None,
    ) -> None: ...

class SearchSettings:
    def __init__(
        self,
        *,
        method: str,
        probes: int,
        candidates: int,
        refine: int,
        confidence: float,
        rescore: int,
        imputation: str,
        retrieved: int,
        cluster_tokens: int,
        length_penalty: float,
        threads: int,
    ) -> None: ...

Found = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], dict[str, float]]

class TokenEngine:
    def __init__(self, codec: Codec, segments: list[Segment], kernels: str) -> None: ...
    def search(
        self, query: npt.NDArray[np.float32], k: int, settings: SearchSettings, eligible: npt.NDArray[np.uint8] | None
    ) -> Found: ...
    def scores(self, query: npt.NDArray[np.float32], documents: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]: ...
    def retrieval(
        self, query: npt.NDArray[np.float32], k: int, settings: SearchSettings, eligible: npt.NDArray[np.uint8] | None
    ) -> tuple[npt.NDArray[np.float32], list[npt.NDArray[np.uint32]]]: ...
    def search_many(
        self,
        tokens: npt.NDArray[np.float32],
        starts: npt.NDArray[np.int64],
        k: int,
        settings: SearchSettings,
        eligible: npt.NDArray[np.uint8] | None,
        threads: int,
    ) -> Found: ...

class TermCounts:
    def __init__(
        self,
        *,
        counts: npt.NDArray[np.uint8],
        lengths: npt.NDArray[np.uint32],
        longest: int,
        shares: npt.NDArray[np.uint8],
        gain: float,
        base: float,
        slope: float,
        lowest: float,
        highest: float,
    ) -> None: ...

class LexicalSegment:
    def __init__(
        self,
        *,
        documents: int,
        term_ids: npt.NDArray[np.int64],
        starts: npt.NDArray[np.int64],
        largest: npt.NDArray[np.float32],
        list: npt.NDArray[np.uint32],
        weights: npt.NDArray[np.float32] | None,
        counts: TermCounts | None,
        long_terms: npt.NDArray[np.uint32],
        rows: npt.NDArray[np.uint8],
        ranks: npt.NDArray[np.uint32],
    ) -> None: ...

class LexicalEngine:
    def __init__(self, segments: list[LexicalSegment], kernels: str) -> None: ...
    def weights_of(self, terms: npt.NDArray[np.int64], documents: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]: ...
    def search_many(
        self,
        terms: npt.NDArray[np.int64],
        weights: npt.NDArray[np.float32],
        starts: npt.NDArray[np.int64],
        k: int,
        eligible: npt.NDArray[np.uint8] | None,
        threads: int,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]: ...

def transformed(
    rows: npt.NDArray[np.uint16] | npt.NDArray[np.float32],
    shared: SharedDirection,
    signs: npt.NDArray[np.float32],
    out: npt.NDArray[np.float32],
    threads: int,
    kernels: str,
) -> None: ...
def to_signed_rows(
    rows: npt.NDArray[np.float32],
    bytes: npt.NDArray[np.int8],
    scales: npt.NDArray[np.float32],
    sums: npt.NDArray[np.int32],
    threads: int,
    kernels: str,
) -> None: ...
def assign(
    centroids: Centroids,
    bytes: npt.NDArray[np.int8],
    scales: npt.NDArray[np.float32],
    sums: npt.NDArray[np.int32],
    nearest: npt.NDArray[np.uint32],
    most_groups: int,
    reach: float,
    threads: int,
    kernels: str,
) -> None: ...
def sum_by_centroid(
    bytes: npt.NDArray[np.int8],
    scales: npt.NDArray[np.float32],
    nearest: npt.NDArray[np.uint32],
    sums: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
    threads: int,
    kernels: str,
) -> None: ...
def encode(
    codec: Codec,
    rows: npt.NDArray[np.float32],
    nearest: npt.NDArray[np.uint32],
    codes: npt.NDArray[np.uint8],
    scales: npt.NDArray[np.float32],
    threads: int,
    kernels: str,
) -> None: ...
def inverted_lists(
    nearest: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], centroids: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]: ...
def kernel_names() -> list[str]: ...
def map_file(descriptor: int, size: int, name: bytes) -> npt.NDArray[np.uint8]: ...
def forget_pages(array: npt.NDArray[Any]) -> None: ...
def lost_files() -> list[bytes]: ...
