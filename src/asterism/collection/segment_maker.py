"""Writes the folders of one commit: a codec if there is none yet, and a segment with all views of new documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import VectorsError
from ..representations import Representations
from ..representations.token_vectors import FloatArray, TokenVectors
from ..settings import TokenBuild
from ..storage.arrays import write_arrays
from ..storage.manifest import write_manifest
from ..views.dense.writer import write_dense
from ..views.lexical.bm25 import Bm25
from ..views.lexical.writer import write_lexical
from ..views.tokens.codec_files import write_codec
from ..views.tokens.residual_codec import ResidualCodec, make_flat_codec
from ..views.tokens.stream import TokenStream
from ..views.tokens.writer import write_tokens
from .base import Base, Size
from .kept_views import Views, drop_threads
from .policy import Policy
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
    open_stored_codec,
)

SAMPLED = 4096  # vectors of a segment that measure drift

T = TypeVar("T")


class SegmentMaker:
    """`state` includes what was written so far; `made` has the names of all new folders."""

    def __init__(self, folder: Path, base: Base, views: Views, policy: Policy, threads: int) -> None:
        """Build on top of a committed state."""
        self.folder = folder
        self.base = base
        self.state: State = base.state
        self.codec: StoredCodec | None = base.codec
        self.dense_dimensions = base.dense_dimensions
        self.made: list[str] = []
        self.views = views
        self.policy = policy
        self.threads = threads

    def write_segment(self, numbers: Numbers, content: Representations) -> tuple[Part, Size]:
        """Write a segment of new documents with all views of the collection."""
        name = self.make_folder("segment")
        inside, documents = self.folder / name, len(numbers)
        made: dict[str, Any] = {}
        size = Size(documents)
        if self.views.multi is not None:
            vectors = require_given(content.multi, "token vectors")
            codec = self._get_codec(vectors.flat.shape[1])
            made["multi"] = self.encode_tokens(name, [vectors], documents, len(vectors.flat), codec)
            size = replace(size, tokens=len(vectors.flat), left_over=made["multi"]["left_over"])
        if self.views.dense:
            rows = require_given(content.dense, "dense vectors")
            self.dense_dimensions = self.dense_dimensions or rows.shape[1]
            graph = documents >= self.policy.graph_documents
            facts = write_dense(inside / "dense", [rows], documents, self.dense_dimensions, graph, self.threads)
            made["dense"] = asdict(facts)
        if self.views.lexical:
            terms = require_given(content.lexical, "terms")
            bm25 = self.make_bm25(self.base.sizes, int(terms.weights.sum(dtype=np.float64)), documents)
            written = write_lexical(inside / "lexical", terms, bm25)
            made["lexical"] = asdict(written)
            size = replace(size, length=written.length)
        return self.publish(name, numbers, made), size

    def make_folder(self, kind: str) -> str:
        """Reserve the next folder name, and create the folder of a segment."""
        name = f"{kind}-{self.state.next_folder:06d}"
        self.made.append(name)
        self.state = replace(self.state, next_folder=self.state.next_folder + 1)
        if kind == "segment":
            (self.folder / name).mkdir()
        return name

    def publish(self, name: str, numbers: Numbers, views: Mapping[str, Any]) -> Part:
        """Write a segment's numbers and its manifest, which completes it."""
        files = write_arrays(self.folder / name, {NUMBERS: numbers})
        content = {"kind": SEGMENT_KIND, "version": SEGMENT_VERSION, "documents": len(numbers)}
        checksum = write_manifest(self.folder / name, {**content, "files": files, "views": views}, SEGMENT_FACTS)
        return Part(name, checksum)

    def write_codec(self, codec: ResidualCodec, build: TokenBuild, tokens: int, left_over: float) -> StoredCodec:
        """Write a codec that was trained on `tokens` vectors."""
        name = self.make_folder("codec")
        facts = write_codec(self.folder / name, codec)
        content = {"kind": CODEC_KIND, "version": CODEC_VERSION, "tokens": tokens, "left_over": left_over}
        content |= {"settings": drop_threads(build), "codec": facts}
        part = Part(name, write_manifest(self.folder / name, content, CODEC_FACTS))
        self.state = replace(self.state, codec=part)
        self.codec = open_stored_codec(self.folder, part)
        return self.codec

    def encode_tokens(
        self, name: str, vectors: Iterable[TokenVectors], documents: int, tokens: int, codec: StoredCodec
    ) -> dict[str, Any]:
        """Encode and write token vectors; returns their entry for the segment's manifest."""
        stream = TokenStream(vectors, self.folder)
        target = f"{name}/multi"
        facts = write_tokens(self.folder, target, stream, documents, tokens, codec.codec, codec.settings, self.threads)
        left_over = 0.0
        if codec.tokens and tokens:
            left_over = codec.codec.measure_left_over(sample_vectors(vectors, tokens), self.threads)
        return {"codec": codec.part.name, "left_over": left_over, "segment": asdict(facts)}

    def make_bm25(self, kept: Iterable[Size], length: int, documents: int) -> Bm25 | None:
        """BM25 for the documents in `kept` and `documents` more with `length` terms in total."""
        if self.views.counting is None:
            return None
        for size in kept:
            length += size.length
            documents += size.documents
        return Bm25.from_totals(self.views.counting, length, documents)

    def _get_codec(self, dimensions: int) -> StoredCodec:
        """The collection's codec; a new collection gets a flat one: floats with a single centroid."""
        codec = self.codec
        if codec is None:
            build = require_given(self.views.multi, "token vectors")
            flat = replace(build, bits=max(16, build.bits), refinement="none", centroids=1)
            codec = self.write_codec(make_flat_codec(dimensions, flat.bits), flat, 0, 0.0)
        known = codec.codec.centroids.dimensions
        if dimensions != known:
            raise VectorsError(f"the vectors have {dimensions} dimensions, the index has {known}")
        return codec


def require_given(value: T | None, what: str) -> T:
    """Return the value, or raise VectorsError if it is missing."""
    if value is None:
        raise VectorsError(f"no {what} were given, expected those of every document")
    return value


def sample_vectors(vectors: Iterable[TokenVectors], tokens: int) -> FloatArray:
    """About SAMPLED of the vectors, evenly spaced; the sample does not depend on chunking."""
    step = max(1, tokens // SAMPLED)
    done, rows = 0, []
    for chunk in vectors:
        rows.append(np.asarray(chunk.flat[(-done) % step :: step], np.float32))
        done += len(chunk.flat)
    return np.concatenate(rows)
