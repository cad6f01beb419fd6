"""Merges segments and drops deleted documents, or copies some; can train a new codec for the result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ..storage.faults import damaged
from ..views.dense.merge import merge_dense
from ..views.eligible import Mask
from ..views.lexical.merge import merge_lexical
from ..views.tokens.codec_files import train_codec
from ..views.tokens.merge import KeptTokens, KeptVectors, merge_tokens
from ..views.tokens.stream import Sample, TokenStream
from .base import Size
from .segment_maker import SegmentMaker, require_given, sample_vectors
from .snapshot import Snapshot
from .state import Numbers, Part
from .stored_parts import StoredSegment

Chosen = Sequence[tuple[StoredSegment, Mask]]  # segments, and which of their documents (documents,)


class SegmentMerger:
    """Merges the last segments of a snapshot into folders of a SegmentMaker."""

    def __init__(self, maker: SegmentMaker, snapshot: Snapshot) -> None:
        """The maker must build on the state of the snapshot."""
        self._maker = maker
        self._snapshot = snapshot

    def train(self) -> None:
        """Train a new codec on the token vectors of all documents; codes are decoded first."""
        build = require_given(self._maker.views.multi, "token vectors")
        kept = self._snapshot.kept_tokens(self._snapshot.segments, self._maker.policy.chunk_tokens)
        vectors = self._decode(kept)
        sample = Sample(TokenStream(vectors, self._maker.folder), build.seed)
        codec = train_codec(sample, build, self._maker.threads)
        left_over = codec.measure_left_over(sample_vectors(vectors, sample.tokens), self._maker.threads)
        self._maker.write_codec(codec, build, sample.tokens, left_over)

    def merge(self, segments: Sequence[StoredSegment]) -> tuple[Part, ...]:
        """Write the last segments as one, with the codec of `train` if it ran; empty if every document is deleted."""
        kept = [(stored, self._snapshot.kept_in(stored)) for stored in segments]
        numbers = np.concatenate([stored.numbers[mask] for stored, mask in kept])
        if not len(numbers):
            return ()
        return (self._write(kept, numbers, self._snapshot.segments[: -len(segments)]),)

    def copy(self, segments: Sequence[StoredSegment], wanted: Numbers, numbers: Numbers) -> Part:
        """Write the documents `wanted` (n,), which these segments hold, once more, with other numbers (n,).

        Both are ascending.
        """
        chosen = [(stored, np.isin(stored.numbers, wanted)) for stored in segments]
        if sum(int(mask.sum()) for _, mask in chosen) < len(wanted):
            raise damaged(self._maker.folder, "has documents in its catalog that no segment holds")
        return self._write(chosen, numbers, self._snapshot.segments)

    def _write(self, chosen: Chosen, numbers: Numbers, others: Iterable[StoredSegment]) -> Part:
        """A new segment of the chosen documents; `others` are the segments that will be there beside it."""
        maker = self._maker
        name = maker.make_folder("segment")
        inside = maker.folder / name
        made: dict[str, Any] = {}
        if maker.views.multi is not None:
            made["multi"] = self._merge_tokens(name, chosen, len(numbers))
        if self._snapshot.dense is not None:
            dense = [(stored.dense, mask) for stored, mask in chosen if stored.dense]
            graph = len(numbers) >= maker.policy.graph_documents
            made["dense"] = asdict(merge_dense(inside / "dense", dense, graph, maker.threads))
        if maker.views.lexical:
            beside = [Size.from_stored(stored) for stored in others]
            lexical = [(stored.lexical, mask) for stored, mask in chosen if stored.lexical]
            length = sum(int(terms.read_lengths()[mask].sum()) for terms, mask in lexical)
            bm25 = maker.make_bm25(beside, length, len(numbers))
            made["lexical"] = asdict(merge_lexical(inside / "lexical", lexical, bm25, maker.policy.chunk_postings))
        return maker.publish(name, numbers, made)

    def _merge_tokens(self, name: str, chosen: Chosen, documents: int) -> dict[str, Any]:
        codec = require_given(self._maker.codec, "codec")
        found = [(stored.multi, mask) for stored, mask in chosen if stored.multi is not None]
        kept = [KeptTokens(multi.segment, mask, self._maker.policy.chunk_tokens) for multi, mask in found]
        if codec is not self._snapshot.codec:
            tokens = int(sum(part.lengths().sum() for part in kept))
            return self._maker.encode_tokens(name, self._decode(kept), documents, tokens, codec)
        facts = merge_tokens(self._maker.folder, f"{name}/multi", kept, codec.codec)
        sizes = [max(1, part.segment.facts.tokens) for part in kept]
        left_over = float(np.average([multi.left_over for multi, _ in found], weights=sizes))
        return {"codec": codec.part.name, "left_over": left_over, "segment": asdict(facts)}

    def _decode(self, kept: Sequence[KeptTokens]) -> KeptVectors:
        return KeptVectors(kept, require_given(self._snapshot.codec, "codec").codec)
