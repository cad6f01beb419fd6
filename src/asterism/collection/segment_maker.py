"""Folders for one commit: a codec, and segments with all views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import VectorsError
from ..representations import Representations
from ..representations.token_vectors import FloatArray, TokenVectors
from ..settings import TokenBuild
from ..storage.arrays import write_arrays
from ..storage.manifest import write_manifest
from ..views.dense.segment import merge_dense, write_dense
from ..views.lexical.merge import merge_lexical
from ..views.lexical.writer import write_lexical
from ..views.tokens.codec_files import train_codec, write_codec
from ..views.tokens.merge import LivingVectors, merge_segments
from ..views.tokens.residual_codec import ResidualCodec, flat_codec
from ..views.tokens.segment import SegmentFacts, write_segment
from ..views.tokens.stream import Sample, TokenStream
from .kept_views import Views, without_threads
from .snapshot import Snapshot
from .state import Numbers, Part, State
from .stored_parts import (
    CODEC_FACTS,
    CODEC_KIND,
    CODEC_VERSION,
    NUMBERS,
    SEGMENT_FACTS,
    SEGMENT_KIND,
    SEGMENT_VERSION,
    StoredCodec,
    StoredSegment,
    open_stored_codec,
)

SAMPLED = 4096  # vectors of a segment that measure drift

T = TypeVar("T")


class SegmentMaker:
    """`state` names what was made so far; `made` are the names of the folders."""

    def __init__(self, folder: Path, snapshot: Snapshot, views: Views, threads: int) -> None:
        """On top of a committed state."""
        self.state: State = snapshot.state
        self.made: list[str] = []
        self._folder = folder
        self._snapshot = snapshot
        self._codec = snapshot.codec
        self._views = views
        self._threads = threads

    def segment_of(self, numbers: Numbers, content: Representations) -> Part:
        """New documents: every view that the collection keeps."""
        name = self._next_folder("segment")
        inside = self._folder / name
        inside.mkdir()
        made: dict[str, Any] = {}
        if self._views.multi is not None:
            vectors = _given(content.multi, "token vectors")
            codec = self._codec_for(vectors.dimensions)
            made["multi"] = self._coded(name, [vectors], len(numbers), len(vectors.flat), codec)
        if self._views.dense:
            rows = _given(content.dense, "dense vectors")
            dimensions = self._snapshot.dense.dimensions if self._snapshot.dense is not None else rows.shape[1]
            made["dense"] = write_dense(inside / "dense", [rows], len(numbers), dimensions, self._threads).as_json()
        if self._views.lexical:
            terms = _given(content.lexical, "terms")
            mean = self._mean_length(self._snapshot.segments, int(terms.weights.sum()), len(numbers))
            made["lexical"] = write_lexical(inside / "lexical", terms, mean).as_json()
        return self._published(name, numbers, made)

    def trained(self) -> None:
        """A new codec, from all living token vectors; codes are decoded for it."""
        build = _given(self._views.multi, "token vectors")
        vectors = self._living(self._snapshot.segments)
        sample = Sample(TokenStream(vectors, self._folder), build.seed)
        codec = train_codec(sample, build, self._threads)
        left_over = codec.left_over(_sampled(vectors, sample.tokens), self._threads)
        self._codec = self._new_codec(codec, build, sample.tokens, left_over)

    def merged(self, segments: Sequence[StoredSegment]) -> tuple[Part, ...]:
        """The living documents of the last segments as one, coded as `trained` says; none if nobody lives."""
        alive = [self._snapshot.alive_in(stored) for stored in segments]
        numbers = np.concatenate([stored.numbers[mask] for stored, mask in zip(segments, alive, strict=True)])
        if not len(numbers):
            return ()
        name = self._next_folder("segment")
        inside = self._folder / name
        inside.mkdir()
        made: dict[str, Any] = {}
        if self._views.multi is not None:
            made["multi"] = self._merged_tokens(name, segments, len(numbers))
        if self._snapshot.dense is not None:
            parts = [(stored.dense, mask) for stored, mask in zip(segments, alive, strict=True) if stored.dense]
            made["dense"] = merge_dense(inside / "dense", parts, self._threads).as_json()
        if self._views.lexical:
            made["lexical"] = self._merged_terms(inside / "lexical", segments)
        return (self._published(name, numbers, made),)

    def _merged_tokens(self, name: str, segments: Sequence[StoredSegment], documents: int) -> dict[str, Any]:
        codec = _given(self._codec, "codec")
        living = self._snapshot.living_tokens(segments)
        if codec is not self._snapshot.codec:
            tokens = int(sum(part.lengths().sum() for part in living))
            return self._coded(name, self._living(segments), documents, tokens, codec)
        facts = merge_segments(self._folder, f"{name}/multi", living, codec.codec)
        sizes = [max(1, part.segment.facts.tokens) for part in living]
        shares = [stored.multi.left_over for stored in segments if stored.multi is not None]
        return _token_facts(codec, facts, float(np.average(shares, weights=sizes)))

    def _merged_terms(self, target: Path, segments: Sequence[StoredSegment]) -> dict[str, Any]:
        parts = [(stored.lexical, self._snapshot.alive_in(stored)) for stored in segments if stored.lexical is not None]
        kept = self._snapshot.segments[: len(self._snapshot.segments) - len(segments)]
        length = sum(int(terms.lengths()[mask].sum()) for terms, mask in parts)
        mean = self._mean_length(kept, length, sum(int(mask.sum()) for _, mask in parts))
        return merge_lexical(target, parts, mean).as_json()

    def _mean_length(self, kept: Sequence[StoredSegment], length: int, documents: int) -> float | None:
        """Of all documents, for BM25: those of segments that stay, and `documents` of `length` terms together."""
        if not self._views.counted:
            return None
        total = length + sum(stored.lexical.facts.length for stored in kept if stored.lexical is not None)
        return max(1.0, total / (documents + sum(len(stored.numbers) for stored in kept)))

    def _living(self, segments: Sequence[StoredSegment]) -> LivingVectors:
        codec = _given(self._snapshot.codec, "codec")
        return LivingVectors(self._snapshot.living_tokens(segments), codec.codec)

    def _codec_for(self, dimensions: int) -> StoredCodec:
        """The collection's, which begins flat: floats under one centroid."""
        if self._codec is None:
            build = _given(self._views.multi, "token vectors")
            flat = replace(build, bits=max(16, build.bits), refinement="none", centroids=1)
            self._codec = self._new_codec(flat_codec(dimensions, flat.bits), flat, 0, 0.0)
        if dimensions != self._codec.codec.dimensions:
            expected = f"the index has {self._codec.codec.dimensions}"
            raise VectorsError(f"the vectors have {dimensions} dimensions, {expected}")
        return self._codec

    def _new_codec(self, codec: ResidualCodec, build: TokenBuild, tokens: int, left_over: float) -> StoredCodec:
        name = self._next_folder("codec")
        facts = write_codec(self._folder / name, codec)
        content = {"kind": CODEC_KIND, "version": CODEC_VERSION, "tokens": tokens, "left_over": left_over}
        content |= {"settings": without_threads(build), "codec": facts}
        part = Part(name, write_manifest(self._folder / name, content, CODEC_FACTS))
        self.state = replace(self.state, codec=part)
        return open_stored_codec(self._folder, part)

    def _coded(
        self, name: str, vectors: Iterable[TokenVectors], documents: int, tokens: int, codec: StoredCodec
    ) -> dict[str, Any]:
        """Token vectors, written with a codec."""
        stream = TokenStream(vectors, self._folder)
        facts = write_segment(
            self._folder, f"{name}/multi", stream, documents, tokens, codec.codec, codec.settings, self._threads
        )
        left_over = 0.0
        if not codec.untrained and tokens:
            left_over = codec.codec.left_over(_sampled(vectors, tokens), self._threads)
        return _token_facts(codec, facts, left_over)

    def _published(self, name: str, numbers: Numbers, views: Mapping[str, Any]) -> Part:
        files = write_arrays(self._folder / name, {NUMBERS: numbers})
        content = {"kind": SEGMENT_KIND, "version": SEGMENT_VERSION, "documents": len(numbers)}
        return Part(
            name, write_manifest(self._folder / name, {**content, "files": files, "views": views}, SEGMENT_FACTS)
        )

    def _next_folder(self, kind: str) -> str:
        name = f"{kind}-{self.state.next_folder:06d}"
        self.made.append(name)
        self.state = replace(self.state, next_folder=self.state.next_folder + 1)
        return name


def _given(value: T | None, what: str) -> T:
    """What every document must have in this collection."""
    if value is None:
        raise VectorsError(f"no {what} were given, expected those of every document")
    return value


def _token_facts(codec: StoredCodec, facts: SegmentFacts, left_over: float) -> dict[str, Any]:
    return {"codec": codec.part.name, "left_over": left_over, "segment": facts.as_json()}


def _sampled(vectors: Iterable[TokenVectors], tokens: int) -> FloatArray:
    """Up to SAMPLED of the vectors, evenly spaced, so that it does not matter how they were chunked."""
    step = max(1, tokens // SAMPLED)
    done, rows = 0, []
    for chunk in vectors:
        rows.append(np.asarray(chunk.flat[(-done) % step :: step], np.float32))
        done += len(chunk.flat)
    return np.concatenate(rows)
