"""The one writer of a collection. Add makes a segment, delete a tombstone; `settle` keeps the shape good.

A collection begins flat: floats, searched exactly, nothing clustered. When it has grown beyond FLAT_TOKENS, a codec is
trained on all of its vectors and everything is stored again as codes; from then on new vectors are coded as they come.
The codec is trained again when the corpus has outgrown it: eight times the vectors it was trained on, or the share of
their energy that its centroids leave over (measured on a sample of every segment) a quarter above that at its training.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from ..corpus import Document
from ..errors import DocumentError, IndexFolderError, UnknownDocument, VectorsError
from ..representations.multi_vector import FloatArray, TokenVectors
from ..settings import TokenBuild, cores
from .catalog import Catalog, CatalogEdit, Numbers, Part, State
from .codec_files import train_codec, write_codec
from .residual_codec import ResidualCodec, flat_codec
from .segment_merge import LivingVectors, merge_segments
from .snapshot import (
    CODEC_FACTS,
    CODEC_KIND,
    NUMBERS,
    SEGMENT_FACTS,
    SEGMENT_KIND,
    VERSION,
    Snapshot,
    StoredCodec,
    StoredSegment,
    open_stored_codec,
)
from .storage import write_arrays, write_manifest
from .token_segment import SegmentFacts, write_segment
from .token_stream import Sample, TokenStream

FLAT_TOKENS = 20_000
MOST_FLAT_TOKENS = 1 << 24  # in the middle of a long `add`: 4 GB of float16 at 128 dimensions
MOST_SEGMENTS = 64
OUTGROWN = 8
DRIFTED = 1.25
SAMPLED = 4096  # vectors of a segment that measure drift


class CollectionWriter:
    """Made by `Collection.writing`, which holds the lock."""

    def __init__(self, folder: Path, catalog: Catalog, snapshot: Callable[[], Snapshot], settings: TokenBuild) -> None:
        """`snapshot` gives the newest committed state."""
        self._folder = folder
        self._catalog = catalog
        self._snapshot = snapshot
        self._settings = settings
        self._threads = cores(settings.threads)

    def refuse(self, documents: Sequence[Document], update: bool) -> dict[str, int]:
        """Raise what `add` would, before anything is encoded; returns the numbers of those to be replaced."""
        ids = [document.id for document in documents]
        if len(set(ids)) < len(ids):
            twice = Counter(ids).most_common(1)[0][0]
            raise DocumentError(f"the id {twice!r} was given twice, expected each once: nothing of its batch was added")
        with self._catalog.reading() as view:
            known = view.numbers_of(ids)
        if known and not update:
            given = next(id for id in ids if id in known)
            advice = "pass update=True (--update) to replace it"
            raise DocumentError(f"the index has a document with the id {given!r} already: {advice}")
        return known

    def add(self, documents: Sequence[Document], vectors: TokenVectors, update: bool = False) -> None:
        """One batch, with the vectors of each document: all of it or nothing."""
        if len(documents) != len(vectors):
            raise VectorsError(f"{len(documents)} documents and vectors of {len(vectors)} were given, expected as many")
        if not documents:
            return
        replaced = self.refuse(documents, update)
        snapshot = self._snapshot()
        state = snapshot.state
        made: list[Path] = []
        try:
            codec = snapshot.codec
            if codec is None:
                bits = self._settings.bits if self._settings.bits >= 16 else 16
                flat = replace(self._settings, bits=bits, refinement="none", centroids=1)
                state, codec = self._new_codec(state, flat_codec(vectors.dimensions, flat.bits), flat, 0, 0.0, made)
            if vectors.dimensions != codec.codec.dimensions:
                given = f"the vectors have {vectors.dimensions} dimensions"
                raise VectorsError(f"{given}, the index has {codec.codec.dimensions}")
            numbers = np.arange(state.next_number, state.next_number + len(documents))
            state, part = self._coded(state, [vectors], numbers, len(vectors.flat), codec, made)
            new = replace(
                state,
                segments=(*state.segments, part),
                next_number=int(numbers[-1]) + 1,
                documents=state.documents + len(documents) - len(replaced),
            )
            with self._catalog.writing() as edit:
                edit.bury(list(replaced.values()))
                edit.insert(int(numbers[0]), documents)
                self._commit(edit, new)
        except BaseException:
            self._remove_uncommitted(made)
            raise
        self._settle_if_much()

    def delete(self, ids: Sequence[str], missing_ok: bool = False) -> int:
        """Remove documents; returns how many there were."""
        with self._catalog.writing() as edit:
            known = edit.numbers_of(list(dict.fromkeys(ids)))
            missing = [id for id in ids if id not in known]
            if missing and not missing_ok:
                raise UnknownDocument(f"there is no document with the id {missing[0]!r}: nothing was deleted")
            state = edit.state()
            edit.bury(list(known.values()))
            self._commit(edit, replace(state, documents=state.documents - len(known)))
        return len(known)

    def settle(self) -> None:
        """Cluster what has grown, retrain what has drifted, merge small segments: the documents stay the same."""
        snapshot = self._snapshot()
        if snapshot.codec is None:
            return
        if self._wants_training(snapshot):
            self._train_again(snapshot)
            return
        young = _young(snapshot)
        if len(young) > 1:
            self._merge(snapshot, young)

    def compact(self) -> None:
        """One segment, no tombstones; the codec is trained again if it was outgrown."""
        snapshot = self._snapshot()
        if snapshot.state.documents == 0:
            with self._catalog.writing() as edit:
                edit.clear_tombstones(edit.tombstones().tolist())
                self._commit(edit, replace(snapshot.state, codec=None, segments=()))
            self._remove_parts(snapshot.segments, snapshot.codec)
        elif self._wants_training(snapshot):
            self._train_again(snapshot)
        elif len(snapshot.segments) > 1 or not snapshot.alive.all():
            self._merge(snapshot, snapshot.segments)
        self._catalog.shrink()

    def _settle_if_much(self) -> None:
        """In the middle of a long add: bound the disk space of floats, and the number of open files."""
        snapshot = self._snapshot()
        tokens = sum(stored.segment.facts.tokens for stored in snapshot.segments)
        flat = snapshot.codec is not None and snapshot.codec.untrained
        if flat and tokens >= MOST_FLAT_TOKENS:
            self.settle()
        elif len(snapshot.segments) >= MOST_SEGMENTS and flat:
            self._merge(snapshot, _young(snapshot))
        elif len(snapshot.segments) >= MOST_SEGMENTS:
            self.settle()

    def _wants_training(self, snapshot: Snapshot) -> bool:
        if snapshot.codec is None:
            return False
        tokens = sum(int(snapshot.living(stored).lengths().sum()) for stored in snapshot.segments)
        if snapshot.codec.untrained:
            return tokens >= FLAT_TOKENS
        return tokens > 0 and (tokens >= OUTGROWN * snapshot.codec.tokens or drift(snapshot) >= DRIFTED)

    def _train_again(self, snapshot: Snapshot) -> None:
        """A new codec from all living vectors, and one segment of them; codes are decoded for it."""
        if snapshot.codec is None:
            return
        vectors = LivingVectors([snapshot.living(stored) for stored in snapshot.segments], snapshot.codec.codec)
        made: list[Path] = []
        try:
            sample = Sample(TokenStream(vectors, self._folder), self._settings.seed)
            trained = train_codec(sample, self._settings, self._threads)
            left_over = trained.left_over(_sampled(vectors, sample.tokens), self._threads)
            state, codec = self._new_codec(snapshot.state, trained, self._settings, sample.tokens, left_over, made)
            numbers = snapshot.numbers[snapshot.alive]
            state, part = self._coded(state, vectors, numbers, sample.tokens, codec, made)
            self._replace(snapshot, state, (part,), snapshot.numbers[~snapshot.alive])
        except BaseException:
            self._remove_uncommitted(made)
            raise
        self._remove_parts(snapshot.segments, snapshot.codec)

    def _merge(self, snapshot: Snapshot, young: Sequence[StoredSegment]) -> None:
        """The last segments as one, without their dead."""
        if snapshot.codec is None:
            return
        parts = [snapshot.living(stored) for stored in young]
        numbers = np.concatenate([stored.numbers for stored in young])
        alive = np.concatenate([part.alive for part in parts])
        tokens = [stored.segment.facts.tokens for stored in young]
        left_over = float(np.average([stored.left_over for stored in young], weights=np.maximum(tokens, 1)))
        kept = snapshot.state.segments[: len(snapshot.segments) - len(young)]
        made: list[Path] = []
        try:
            state, name = self._next_folder(snapshot.state, "segment", made)
            if alive.any():
                facts = merge_segments(self._folder, name, parts, snapshot.codec.codec)
                kept = (*kept, self._published(facts, numbers[alive], left_over, snapshot.codec))
            self._replace(snapshot, state, kept, numbers[~alive])
        except BaseException:
            self._remove_uncommitted(made)
            raise
        self._remove_parts(young, None)

    def _replace(self, snapshot: Snapshot, state: State, segments: tuple[Part, ...], buried: Numbers) -> None:
        with self._catalog.writing() as edit:
            edit.clear_tombstones(buried.tolist())
            self._commit(edit, replace(state, segments=segments))

    def _commit(self, edit: CatalogEdit, state: State) -> None:
        edit.put_state(replace(state, generation=state.generation + 1))

    def _next_folder(self, state: State, kind: str, made: list[Path]) -> tuple[State, str]:
        name = f"{kind}-{state.next_folder:06d}"
        made.append(self._folder / name)
        return replace(state, next_folder=state.next_folder + 1), name

    def _new_codec(
        self,
        state: State,
        codec: ResidualCodec,
        settings: TokenBuild,
        tokens: int,
        left_over: float,
        made: list[Path],
    ) -> tuple[State, StoredCodec]:
        state, name = self._next_folder(state, "codec", made)
        facts = write_codec(self._folder / name, codec)
        kept = {key: value for key, value in asdict(settings).items() if key != "threads"}
        content = {"kind": CODEC_KIND, "version": VERSION, "settings": kept, "tokens": tokens, "left_over": left_over}
        part = Part(name, write_manifest(self._folder / name, {**content, "codec": facts}, CODEC_FACTS))
        return replace(state, codec=part), open_stored_codec(self._folder, part)

    def _coded(
        self,
        state: State,
        vectors: Iterable[TokenVectors],
        numbers: Numbers,
        tokens: int,
        codec: StoredCodec,
        made: list[Path],
    ) -> tuple[State, Part]:
        """A segment of these vectors, coded with a codec."""
        state, name = self._next_folder(state, "segment", made)
        stream = TokenStream(vectors, self._folder)
        facts = write_segment(
            self._folder, name, stream, len(numbers), tokens, codec.codec, codec.settings, self._threads
        )
        left_over = 0.0
        if not codec.untrained and tokens:
            left_over = codec.codec.left_over(_sampled(vectors, tokens), self._threads)
        return state, self._published(facts, numbers, left_over, codec)

    def _published(self, facts: SegmentFacts, numbers: Numbers, left_over: float, codec: StoredCodec) -> Part:
        folder = self._folder / facts.name
        facts.files.update(write_arrays(folder, {NUMBERS: numbers}))
        content = {"kind": SEGMENT_KIND, "version": VERSION, "codec": codec.part.name, "left_over": left_over}
        return Part(facts.name, write_manifest(folder, {**content, "segment": facts.as_json()}, SEGMENT_FACTS))

    def _remove(self, made: Iterable[Path]) -> None:
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)

    def _remove_uncommitted(self, made: Iterable[Path]) -> None:
        """After an error; an interruption may have come just after the commit."""
        with suppress(IndexFolderError), self._catalog.reading() as view:  # otherwise they are swept later
            state = view.state()
            named = {part.name for part in (*state.segments, state.codec) if part}
            self._remove(folder for folder in made if folder.name not in named)

    def _remove_parts(self, segments: Sequence[StoredSegment], codec: StoredCodec | None) -> None:
        """Folders that the state no longer names; who has them mapped goes on reading them."""
        names = [stored.part.name for stored in segments] + ([codec.part.name] if codec else [])
        self._remove(self._folder / name for name in names)


def drift(snapshot: Snapshot) -> float:
    """What the codec leaves over now, as a multiple of that at its training; 1 for what was never trained."""
    codec = snapshot.codec
    if codec is None or codec.left_over <= 0 or not snapshot.segments:
        return 1.0
    weights = [max(1, stored.segment.facts.tokens) for stored in snapshot.segments]
    return float(np.average([stored.left_over for stored in snapshot.segments], weights=weights)) / codec.left_over


def _young(snapshot: Snapshot) -> tuple[StoredSegment, ...]:
    """The last segments, each no larger than all after it: merged, there are never more than log2(tokens) of them."""
    sizes = [stored.segment.facts.tokens for stored in snapshot.segments]
    first = len(sizes) - 1
    total = sizes[-1] if sizes else 0
    while first > 0 and sizes[first - 1] <= 2 * total:
        first -= 1
        total += sizes[first]
    return snapshot.segments[max(first, 0) :]


def _sampled(vectors: Iterable[TokenVectors], tokens: int) -> FloatArray:
    """Up to SAMPLED of the vectors, evenly spaced, so that it does not matter how they were chunked."""
    step = max(1, tokens // SAMPLED)
    done, rows = 0, []
    for chunk in vectors:
        rows.append(np.asarray(chunk.flat[(-done) % step :: step], np.float32))
        done += len(chunk.flat)
    return np.concatenate(rows)
