"""Adds, deletes, merges and retrains: each call ends with one commit, and changes nothing committed before that.

Token vectors begin flat: floats, searched exactly, without clusters. When there are many (`Policy.flat_tokens`), a
codec is trained on all of them and everything is stored again as codes; from then on new vectors are encoded directly.
The codec is trained again when the corpus has outgrown it, or when the share of the vectors' energy that its centroids
leave over (measured on a sample of every segment) has grown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..documents.document import Document
from ..errors import DocumentError, IndexFolderError, UnknownDocument, VectorsError
from ..representations import Representations
from ..settings import count_threads
from ..storage.arrays import verify_folders
from ..storage.faults import refuse_lost_pages
from ..storage.folders import remove_part
from ..views.young_segments import find_first_young
from .base import Base, add_part
from .catalog import Catalog
from .format import write_collection_manifest
from .kept_views import Views
from .metadata_changes import MetadataChange, Moved, find_changed, write_changed
from .policy import Policy
from .segment_maker import SegmentMaker
from .segment_merger import SegmentMerger
from .snapshot import Snapshot
from .state import Numbers, State
from .stored_parts import StoredSegment


@dataclass(frozen=True)
class Admitted:
    """Documents that may be added, and the numbers of those that they replace."""

    documents: Sequence[Document]
    replaced: Sequence[int]


class CollectionWriter:
    """Made by `Collection.writing`, which holds the lock."""

    def __init__(
        self,
        folder: Path,
        catalog: Catalog,
        snapshot: Callable[[], Snapshot],
        base: Base,
        views: Views,
        policy: Policy,
    ) -> None:
        """`snapshot` opens the newest committed state; `base` has its sizes."""
        self._folder = folder
        self._catalog = catalog
        self._snapshot = snapshot
        self._known_base: Base | None = base
        self._views = views
        self._has_new_views = False  # decided, but not stored yet
        self._policy = policy
        self._threads = count_threads(views.multi.threads if views.multi is not None else 0)

    @property
    def views(self) -> Views:
        """The views that documents must be encoded for, with the language that was decided."""
        return self._views

    def decide_language(self, language: str) -> None:
        """The language of the words; stored by the next commit that adds documents, so not if that fails."""
        if self._views.counting is not None:
            self._views = replace(self._views, counting=replace(self._views.counting, language=language))
            self._has_new_views = True

    def _write_views(self) -> None:
        """The manifest's copy, which a repair may need, comes before the commit."""
        with self._catalog.reading() as reader:
            model = reader.fact("model")
        write_collection_manifest(self._folder, self._views.to_json(), model)

    def admit(self, documents: Sequence[Document], update: bool) -> Admitted:
        """Refuse ids that cannot be added; call it before encoding."""
        ids = [document.id for document in documents]
        if len(set(ids)) < len(ids):
            twice = Counter(ids).most_common(1)[0][0]
            raise DocumentError(f"the id {twice!r} was given twice, expected each once: nothing of its batch was added")
        with self._catalog.reading() as reader:
            known = reader.find_numbers(ids)
        if known and not update:
            found = next(id for id in ids if id in known)
            advice = "pass update=True (--update) to replace it"
            raise DocumentError(f"the index has a document with the id {found!r} already: {advice}")
        return Admitted(documents, list(known.values()))

    def add(self, documents: Sequence[Document], content: Representations, update: bool = False) -> None:
        """Add one batch with all views of each document, atomically."""
        self.add_admitted(self.admit(documents, update), content)

    def add_admitted(self, admitted: Admitted, content: Representations) -> None:
        """Add documents whose ids were checked by `admit`."""
        documents = admitted.documents
        if len(documents) != len(content):
            raise VectorsError(f"{len(documents)} documents and vectors of {len(content)} were given, expected as many")
        if documents:
            self._add_segment(documents, content, admitted.replaced)

    def exchange(
        self,
        removed: Sequence[str],
        documents: Sequence[Document],
        content: Representations,
        facts: Mapping[str, dict[str, Any] | None],
    ) -> None:
        """Delete documents by their ids, add others and store facts (None removes one), in one commit.

        A removed id may come again among the added ones. Ids that do not exist are ignored; an added one that exists
        and is not removed is an error.
        """
        if len(documents) != len(content):
            raise VectorsError(f"{len(documents)} documents and vectors of {len(content)} were given, expected as many")
        with self._catalog.reading() as reader:
            replaced = reader.find_numbers(list(dict.fromkeys(removed)))
            known = reader.find_numbers([document.id for document in documents])
        if taken := [id for id in known if id not in replaced]:
            advice = "delete that document, or give it another id"
            raise DocumentError(f"the index has another document with the id {taken[0]!r}: {advice}")
        if documents:
            self._add_segment(documents, content, list(replaced.values()), facts=facts)
        else:
            self._forget(list(replaced.values()), facts)

    def _forget(self, numbers: Sequence[int], facts: Mapping[str, dict[str, Any] | None]) -> None:
        """Delete documents and store facts; a commit of facts alone leaves the state as it is."""
        base = self._take_base()
        with self._catalog.writing() as edit:
            edit.put_facts(facts)
            state = base.state
            if numbers:
                edit.bury(numbers)
                state = edit.put_state(replace(state, documents=state.documents - len(numbers)))
        self._known_base = replace(base, state=state)

    def add_again(self, documents: Mapping[int, Document], content: Representations) -> None:
        """Add documents of the catalog, by number, that no segment holds any more; they get new numbers."""
        self._add_segment(list(documents.values()), content, (), list(documents))

    def _add_segment(
        self,
        documents: Sequence[Document],
        content: Representations,
        replaced: Sequence[int],
        moved: Sequence[int] = (),
        facts: Mapping[str, dict[str, Any] | None] | None = None,
    ) -> None:
        """Write and commit a segment; `replaced` documents get tombstones, `moved` ones are in no segment."""
        base = self._take_base()
        with self._start_maker(base) as maker:
            first = maker.state.next_number
            part, size = maker.write_segment(np.arange(first, first + len(documents)), content)
            state = add_part(maker.state, part, len(documents), len(replaced))
            if self._has_new_views:
                self._write_views()
            with self._catalog.writing() as edit:
                if self._has_new_views:
                    edit.put_fact("views", self._views.to_json())
                if replaced:
                    edit.bury(replaced)
                if moved:
                    edit.remove(moved)
                edit.insert(first, documents)
                edit.put_facts(facts or {})
                state = edit.put_state(state)
        self._has_new_views = False
        self._known_base = base.with_segment(state, maker.codec, maker.dense_dimensions, size)
        self._settle_if_much()

    def delete(self, ids: Sequence[str], missing_ok: bool = False) -> int:
        """Delete documents; returns how many existed."""
        with self._catalog.reading() as reader:
            known = reader.find_numbers(list(dict.fromkeys(ids)))
        missing = next((id for id in ids if id not in known), None)
        if missing is not None and not missing_ok:
            raise UnknownDocument(f"there is no document with the id {missing!r}: nothing was deleted")
        return self.delete_numbers(list(known.values()))

    def delete_numbers(self, numbers: Sequence[int]) -> int:
        """Delete documents by their numbers, which must exist, atomically; returns how many."""
        if not numbers:
            return 0
        base = self._take_base()
        with self._catalog.writing() as edit:
            state = edit.state()
            edit.bury(numbers)
            state = edit.put_state(replace(state, documents=state.documents - len(numbers)))
        self._known_base = replace(base, state=state)
        return len(numbers)

    def change_metadata(self, numbers: Numbers, change: MetadataChange) -> Moved:
        """Change the metadata of documents (n,), atomically, without their texts; unchanged ones stay as they are.

        A changed document has a new number, and its views are copied into a new segment. The files that they are
        copied from are verified first, so that damage does not get a new checksum.
        """
        snapshot = self._snapshot()
        with self._catalog.reading() as reader:
            old = find_changed(reader, np.sort(numbers), change)
        if not len(old):
            return Moved(old, old)
        sources = [stored for stored in snapshot.segments if np.isin(stored.numbers, old).any()]
        verify_folders((folder for stored in sources for folder in stored.folders), self._threads)
        self._known_base = None
        with self._start_maker(Base.from_snapshot(snapshot)) as maker:
            first = maker.state.next_number
            moved = Moved(old, np.arange(first, first + len(old)))
            part = SegmentMerger(maker, snapshot).copy(sources, moved.old, moved.new)
            refuse_lost_pages(self._folder)
            with self._catalog.writing() as edit:
                write_changed(edit, moved, change)
                edit.put_state(add_part(maker.state, part, len(old), len(old)))
        return moved

    @property
    def state(self) -> State:
        """The newest state, without opening what was written."""
        return self._base().state

    def put_fact(self, name: str, value: dict[str, Any]) -> None:
        """Store a JSON object with the collection."""
        with self._catalog.writing() as edit:
            edit.put_fact(name, value)

    def settle(self) -> None:
        """Train the codec if it is outgrown or has drifted, and merge small segments; the documents do not change."""
        young = len(self._base().sizes) - self._find_first_young()
        if self._may_want_training():
            snapshot = self._snapshot()
            if self._wants_training(snapshot):
                self._rewrite(snapshot, snapshot.segments, training=True)
                return
        if young > 1:
            snapshot = self._snapshot()
            self._rewrite(snapshot, snapshot.segments[-young:])

    def compact(self) -> None:
        """Merge everything into one segment without tombstones; retrain the codec if it was outgrown."""
        snapshot = self._snapshot()
        if snapshot.state.documents == 0:
            with self._catalog.writing() as edit:
                edit.clear_tombstones(edit.tombstones())
                edit.put_state(replace(snapshot.state, codec=None, segments=()))
            self._known_base = None
            self._remove(snapshot.state.folders)
        elif self._wants_training(snapshot):
            self._rewrite(snapshot, snapshot.segments, training=True)
        elif len(snapshot.segments) > 1 or not snapshot.kept.all():
            self._rewrite(snapshot, snapshot.segments)
        self._catalog.shrink()

    def _settle_if_much(self) -> None:
        """During a long `add`, limit the disk space of floats and the number of segments."""
        base, policy = self._base(), self._policy
        if base.is_flat and base.tokens >= policy.most_flat_tokens:
            self.settle()
        elif len(base.sizes) >= policy.most_segments and base.is_flat:
            snapshot = self._snapshot()
            self._rewrite(snapshot, snapshot.segments[self._find_first_young() :])
        elif len(base.sizes) >= policy.most_segments:
            self.settle()

    def _base(self) -> Base:
        """What the next segment builds on."""
        if self._known_base is None:
            self._known_base = Base.from_snapshot(self._snapshot())
        return self._known_base

    def _take_base(self) -> Base:
        """The same for a commit; read again if the commit is not known to have gone through."""
        base, self._known_base = self._base(), None
        return base

    def _find_first_young(self) -> int:
        return find_first_young([size.cost for size in self._base().sizes])

    def _may_want_training(self) -> bool:
        """Whether training may be due, by counts that include deleted documents; opens no segment."""
        base, policy = self._base(), self._policy
        if base.codec is None:
            return False
        if base.codec.untrained:
            return base.tokens >= policy.flat_tokens
        return base.tokens >= policy.outgrown * base.codec.tokens or base.drift() >= policy.drifted

    def _wants_training(self, snapshot: Snapshot) -> bool:
        if snapshot.codec is None or not self._may_want_training():
            return False
        kept = snapshot.kept_tokens(snapshot.segments, self._policy.chunk_tokens)
        tokens = sum(int(part.lengths().sum()) for part in kept)
        if snapshot.codec.untrained:
            return tokens >= self._policy.flat_tokens
        outgrown = tokens >= self._policy.outgrown * snapshot.codec.tokens
        return tokens > 0 and (outgrown or self._base().drift() >= self._policy.drifted)

    def _rewrite(self, snapshot: Snapshot, young: Sequence[StoredSegment], training: bool = False) -> None:
        """Merge the last segments and drop deleted documents; with `training`, all segments and a new codec.

        The files are verified first, so that damage is not copied under a new checksum.
        """
        verify_folders((folder for stored in young for folder in stored.folders), self._threads)
        self._known_base = None
        with self._start_maker(Base.from_snapshot(snapshot)) as maker:
            merger = SegmentMerger(maker, snapshot)
            if training:
                merger.train()
            parts = merger.merge(young)
            kept = snapshot.state.segments[: len(snapshot.segments) - len(young)]
            buried = np.concatenate([stored.numbers[~snapshot.kept_in(stored)] for stored in young])
            refuse_lost_pages(self._folder)
            with self._catalog.writing() as edit:
                edit.clear_tombstones(buried)
                edit.put_state(replace(maker.state, segments=(*kept, *parts)))
        old = snapshot.state.folders - maker.state.folders | {stored.part.name for stored in young}
        self._remove(old)  # processes that have mapped them can still read them

    @contextmanager
    def _start_maker(self, base: Base) -> Iterator[SegmentMaker]:
        """Yield a maker of folders on top of a state; the folders are removed if the block fails."""
        maker = SegmentMaker(self._folder, base, self._views, self._policy, self._threads)
        try:
            yield maker
        except BaseException:
            self._remove_uncommitted(maker.made)
            raise

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            remove_part(self._folder, name)

    def _remove_uncommitted(self, made: Iterable[str]) -> None:
        """Remove folders after an error, except if they were committed just before an interruption."""
        with suppress(IndexFolderError), self._catalog.reading() as reader:  # then the next writer removes them
            self._remove(set(made) - reader.state().folders)
