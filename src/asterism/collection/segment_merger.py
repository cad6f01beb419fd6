"""Merges segments and drops deleted documents; can train a new codec for the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ..views.dense.merge import merge_dense
from ..views.lexical.merge import merge_lexical
from ..views.tokens.codec_files import train_codec
from ..views.tokens.merge import KeptTokens, KeptVectors, merge_tokens
from ..views.tokens.stream import Sample, TokenStream
from .base import Size
from .segment_maker import SegmentMaker, require_given, sample_vectors
from .snapshot import Snapshot
from .state import Part
from .stored_parts import StoredSegment


class SegmentMerger:
    """Merges the last segments of a snapshot into folders of a SegmentMaker."""

    def __init__(self, maker: SegmentMaker, snapshot: Snapshot) -> None:
        """The maker must build on the state of the snapshot."""
        self._maker = maker
        self._snapshot = snapshot

    def train(self) -> None:
        """Train a new codec on the token vectors of all documents; codes are decoded first."""
        build = require_given(self._maker.views.multi, "token vectors")
        vectors = self._kept_vectors(self._snapshot.segments)
        sample = Sample(TokenStream(vectors, self._maker.folder), build.seed)
        codec = train_codec(sample, build, self._maker.threads)
        left_over = codec.measure_left_over(sample_vectors(vectors, sample.tokens), self._maker.threads)
        self._maker.write_codec(codec, build, sample.tokens, left_over)

    def merge(self, segments: Sequence[StoredSegment]) -> tuple[Part, ...]:
        """Write the last segments as one, with the codec of `train` if it ran; empty if every document is deleted."""
        maker = self._maker
        kept = [self._snapshot.kept_in(stored) for stored in segments]
        numbers = np.concatenate([stored.numbers[mask] for stored, mask in zip(segments, kept, strict=True)])
        if not len(numbers):
            return ()
        name = maker.make_folder("segment")
        inside = maker.folder / name
        made: dict[str, Any] = {}
        if maker.views.multi is not None:
            made["multi"] = self._merge_tokens(name, segments, len(numbers))
        if self._snapshot.dense is not None:
            dense = [(stored.dense, mask) for stored, mask in zip(segments, kept, strict=True) if stored.dense]
            graph = len(numbers) >= maker.policy.graph_documents
            made["dense"] = asdict(merge_dense(inside / "dense", dense, graph, maker.threads))
        if maker.views.lexical:
            before = [Size.from_stored(stored) for stored in self._snapshot.segments[: -len(segments)]]
            lexical = [(stored.lexical, mask) for stored, mask in zip(segments, kept, strict=True) if stored.lexical]
            length = sum(int(terms.read_lengths()[mask].sum()) for terms, mask in lexical)
            bm25 = maker.make_bm25(before, length, len(numbers))
            made["lexical"] = asdict(merge_lexical(inside / "lexical", lexical, bm25, maker.policy.chunk_postings))
        return (maker.publish(name, numbers, made),)

    def _merge_tokens(self, name: str, segments: Sequence[StoredSegment], documents: int) -> dict[str, Any]:
        codec = require_given(self._maker.codec, "codec")
        kept = self._kept_tokens(segments)
        if codec is not self._snapshot.codec:
            tokens = int(sum(part.lengths().sum() for part in kept))
            return self._maker.encode_tokens(name, self._kept_vectors(segments), documents, tokens, codec)
        facts = merge_tokens(self._maker.folder, f"{name}/multi", kept, codec.codec)
        sizes = [max(1, part.segment.facts.tokens) for part in kept]
        shares = [stored.multi.left_over for stored in segments if stored.multi is not None]
        left_over = float(np.average(shares, weights=sizes))
        return {"codec": codec.part.name, "left_over": left_over, "segment": asdict(facts)}

    def _kept_vectors(self, segments: Sequence[StoredSegment]) -> KeptVectors:
        return KeptVectors(self._kept_tokens(segments), require_given(self._snapshot.codec, "codec").codec)

    def _kept_tokens(self, segments: Sequence[StoredSegment]) -> list[KeptTokens]:
        return self._snapshot.kept_tokens(segments, self._maker.policy.chunk_tokens)
