"""Adding, deleting, merging, retraining: each call ends with one commit, and what it makes is new until then.

Token vectors begin flat: floats, searched exactly, nothing clustered. When there are more than FLAT_TOKENS, a codec is
trained on all of them and everything is stored again as codes; from then on new vectors are coded as they come. The
codec is trained again when the corpus has outgrown it: eight times the vectors it was trained on, or the share of their
energy that its centroids leave over (measured on a sample of every segment) a quarter above that at its training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..documents.document import Document
from ..errors import DocumentError, IndexFolderError, UnknownDocument, VectorsError
from ..representations import Representations
from ..settings import cores
from ..storage.arrays import verify_folders
from ..storage.faults import refuse_lost_pages
from ..storage.folders import remove_part
from ..views.tokens.merge import first_young
from .catalog import Catalog, CatalogEdit
from .kept_views import Views
from .segment_maker import SegmentMaker
from .snapshot import Snapshot
from .state import State
from .stored_parts import StoredSegment

FLAT_TOKENS = 20_000
MOST_FLAT_TOKENS = 1 << 24  # in the middle of a long `add`: 4 GB of float16 at 128 dimensions
MOST_SEGMENTS = 64
OUTGROWN = 8
DRIFTED = 1.25


class CollectionWriter:
    """Made by `Collection.writing`, which holds the lock."""

    def __init__(self, folder: Path, catalog: Catalog, snapshot: Callable[[], Snapshot], views: Views) -> None:
        """`snapshot` gives the newest committed state."""
        self._folder = folder
        self._catalog = catalog
        self._snapshot = snapshot
        self._views = views
        self._threads = cores(views.multi.threads if views.multi is not None else 0)

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

    def add(self, documents: Sequence[Document], content: Representations, update: bool = False) -> None:
        """One batch, with all views of each document: all of it or nothing."""
        if len(documents) != len(content):
            raise VectorsError(f"{len(documents)} documents and vectors of {len(content)} were given, expected as many")
        if not documents:
            return
        replaced = self.refuse(documents, update)
        self._add_segment(documents, content, len(replaced), lambda edit: edit.bury(list(replaced.values())))

    def add_again(self, documents: Mapping[int, Document], content: Representations) -> None:
        """Documents of the catalog, by their numbers, that no segment holds any more: they get new numbers."""
        self._add_segment(list(documents.values()), content, 0, lambda edit: edit.remove(list(documents)))

    def _add_segment(
        self,
        documents: Sequence[Document],
        content: Representations,
        replaced: int,
        make_way: Callable[[CatalogEdit], None],
    ) -> None:
        """A segment and a commit; `make_way` removes what the documents replace."""
        with self._making(self._snapshot()) as making:
            first = making.state.next_number
            numbers = np.arange(first, first + len(documents))
            part = making.segment_of(numbers, content)
            state = making.state
            new = replace(
                state,
                segments=(*state.segments, part),
                next_number=first + len(documents),
                documents=state.documents + len(documents) - replaced,
            )
            with self._catalog.writing() as edit:
                make_way(edit)
                edit.insert(first, documents)
                self._commit(edit, new)
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
        if self._wants_training(snapshot):
            self._rewrite(snapshot, snapshot.segments, training=True)
        elif len(young := _young(snapshot)) > 1:
            self._rewrite(snapshot, young)

    def compact(self) -> None:
        """One segment, no tombstones; the codec is trained again if it was outgrown."""
        snapshot = self._snapshot()
        if snapshot.state.documents == 0:
            with self._catalog.writing() as edit:
                edit.clear_tombstones(edit.tombstones())
                self._commit(edit, replace(snapshot.state, codec=None, segments=()))
            self._remove(snapshot.state.folders)
        elif self._wants_training(snapshot):
            self._rewrite(snapshot, snapshot.segments, training=True)
        elif len(snapshot.segments) > 1 or not snapshot.alive.all():
            self._rewrite(snapshot, snapshot.segments)
        self._catalog.shrink()

    def _settle_if_much(self) -> None:
        """In the middle of a long add: bound the disk space of floats, and the number of open files."""
        snapshot = self._snapshot()
        flat = snapshot.codec is None or snapshot.codec.untrained
        if flat and sum(stored.tokens for stored in snapshot.segments) >= MOST_FLAT_TOKENS:
            self.settle()
        elif len(snapshot.segments) >= MOST_SEGMENTS and flat:
            self._rewrite(snapshot, _young(snapshot))
        elif len(snapshot.segments) >= MOST_SEGMENTS:
            self.settle()

    def _wants_training(self, snapshot: Snapshot) -> bool:
        if snapshot.codec is None:
            return False
        tokens = sum(int(part.lengths().sum()) for part in snapshot.living_tokens(snapshot.segments))
        if snapshot.codec.untrained:
            return tokens >= FLAT_TOKENS
        return tokens > 0 and (tokens >= OUTGROWN * snapshot.codec.tokens or snapshot.drift() >= DRIFTED)

    def _rewrite(self, snapshot: Snapshot, young: Sequence[StoredSegment], training: bool = False) -> None:
        """The last segments as one, without their dead; if they are all, perhaps with a new codec.

        What is read is verified first: damage is not copied under a new checksum.
        """
        verify_folders((folder for stored in young for folder in stored.folders), self._threads)
        with self._making(snapshot) as making:
            if training:
                making.trained()
            parts = making.merged(young)
            kept = snapshot.state.segments[: len(snapshot.segments) - len(young)]
            buried = np.concatenate([stored.numbers[~snapshot.alive_in(stored)] for stored in young])
            refuse_lost_pages(self._folder)
            with self._catalog.writing() as edit:
                edit.clear_tombstones(buried)
                self._commit(edit, replace(making.state, segments=(*kept, *parts)))
        old = snapshot.state.folders - making.state.folders | {stored.part.name for stored in young}
        self._remove(old)  # who has them mapped goes on reading them

    @contextmanager
    def _making(self, snapshot: Snapshot) -> Iterator[SegmentMaker]:
        """Folders on top of a state, which go if the block ends badly."""
        making = SegmentMaker(self._folder, snapshot, self._views, self._threads)
        try:
            yield making
        except BaseException:
            self._remove_uncommitted(making.made)
            raise

    def _commit(self, edit: CatalogEdit, state: State) -> None:
        edit.put_state(replace(state, generation=state.generation + 1))

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            remove_part(self._folder, name)

    def _remove_uncommitted(self, made: Iterable[str]) -> None:
        """After an error; an interruption may have come just after the commit."""
        with suppress(IndexFolderError), self._catalog.reading() as view:  # otherwise they are swept later
            self._remove(set(made) - view.state().folders)


def _young(snapshot: Snapshot) -> tuple[StoredSegment, ...]:
    return snapshot.segments[first_young([stored.size for stored in snapshot.segments]) :]
