"""The token index: many vectors per document, searched by MaxSim.

x.tokens/
  manifest.json     settings, codec and segments with their files' sizes and checksums
  codec/            centroids, rotation, levels (immutable)
  segment-000001/   codes in document order, inverted lists (immutable); `add` writes the next one
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import IndexFolderError, VectorsError
from ...settings import TokenBuild, TokenSearch, count_threads
from ...storage.arrays import verify_file, verify_folders
from ...storage.facts import Facts
from ...storage.faults import damaged, refuse_lost_pages, report_write_errors
from ...storage.folders import PART, make_index_folder, remove_part, sweep_parts
from ...storage.lock import hold_writer_lock
from ...storage.manifest import read_manifest, write_manifest
from ..eligible import Mask
from ..hits import SearchHits
from ..young_segments import find_first_young
from .codec_files import list_codec_files, open_codec, train_codec, write_codec
from .merge import KeptTokens, merge_tokens
from .searcher import TokenSearcher
from .segment import OpenTokens, TokenFacts, open_tokens
from .stream import Sample, TokenStream, VectorSource
from .writer import write_tokens

KIND = "asterism token index"
VERSION = 2
CODEC = "codec"
SEGMENT = "segment"


class TokenIndex:
    """Token vectors on disk, memory-mapped. Made by `build` and `open`."""

    def __init__(self, path: Path, manifest: Facts) -> None:
        """Map the files named by a manifest; use `open`."""
        self.path = path
        self.settings = manifest.read("settings", TokenBuild.from_json)
        self._manifest = manifest
        self._codec = open_codec(path / CODEC, manifest.part("codec"), self.settings)
        self._parts = [self._open_segment(_check_name(facts)) for facts in manifest.parts("segments")]
        self._segments = [part.facts for part in self._parts]
        if len({facts.name for facts in self._segments}) < len(self._segments):
            raise damaged(path, "names a segment twice")
        self._searcher = TokenSearcher(path, self._codec, self._parts)

    def _open_segment(self, facts: Facts) -> OpenTokens:
        stored = TokenFacts.from_facts(facts, facts.text("name"), self._codec.bits, self.settings)
        return open_tokens(self.path, stored, self._codec, self.settings)

    @classmethod
    def build(cls, path: str | os.PathLike[str], vectors: VectorSource, **settings: Any) -> TokenIndex:
        """Build an index at `path`, which must not exist, from vectors that are read twice; settings: TokenBuild.

        vectors: TokenVectors, chunks of them, or a matrix (tokens, d) for each document, as arrays or lists of numbers.
        Everything is written to a folder beside `path` that is renamed at the end: a killed build leaves no index.
        """
        target = Path(path)
        chosen = TokenBuild.from_json(settings)
        with make_index_folder(target) as inside:
            _write_index(inside, vectors, chosen)
        return cls.open(target)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> TokenIndex:
        """Open an index: read the manifest, the codec, headers and list starts; map the rest."""
        folder = Path(path)
        return cls(folder, read_manifest(folder, KIND, VERSION))

    def add(self, vectors: VectorSource) -> TokenIndex:
        """Append documents, encoded with the same codec; returns an index that includes them.

        They become a new segment, which is merged with the last ones if those are small. This object does not change:
        it is a snapshot.
        """
        with hold_writer_lock(self.path), report_write_errors(self.path):
            now = TokenIndex.open(self.path)
            if now._manifest.content["codec"] != self._manifest.content["codec"]:
                raise IndexFolderError(f"{self.path} was replaced since it was opened: open it again, then add")
            known = {facts.name for facts in now._segments}
            sweep_parts(self.path, known)
            try:
                segments = now._append(vectors)
                refuse_lost_pages(self.path)
            except BaseException:
                sweep_parts(self.path, known)
                raise
            write_manifest(self.path, {**now._manifest.content, "segments": [asdict(facts) for facts in segments]})
            for name in known - {facts.name for facts in segments}:
                remove_part(self.path, name)  # processes that have mapped it can still read it
        return TokenIndex.open(self.path)

    def _append(self, vectors: VectorSource) -> list[TokenFacts]:
        """Write the new documents and return all segments; segments are verified before they are merged."""
        number = max((int(facts.name.rpartition("-")[2]) for facts in self._segments), default=0) + 1
        stream = TokenStream(vectors, self.path)
        try:
            new = self._write_segment(stream, f"{SEGMENT}-{number:06d}")
        finally:
            stream.close()
        parts = [*self._parts, open_tokens(self.path, new, self._codec, self.settings)]
        first = find_first_young([part.facts.documents + part.facts.tokens for part in parts])
        if first == len(parts) - 1:
            return [part.facts for part in parts]
        verify_folders((part.folder for part in parts[first:]), count_threads(self.settings.threads))
        kept = [KeptTokens(part, np.ones(part.facts.documents, bool)) for part in parts[first:]]
        merged = merge_tokens(self.path, f"{SEGMENT}-{number + 1:06d}", kept, self._codec)
        remove_part(self.path, new.name)
        return [*(part.facts for part in parts[:first]), merged]

    def _write_segment(self, stream: TokenStream, name: str) -> TokenFacts:
        documents = tokens = 0
        for chunk in stream:
            if chunk.dimensions != self.dimensions:
                raise VectorsError(f"the vectors have {chunk.dimensions} dimensions, the index has {self.dimensions}")
            documents += len(chunk)
            tokens += len(chunk.flat)
        if documents == 0:
            raise VectorsError("zero documents were given, expected at least one")
        threads = count_threads(self.settings.threads)
        return write_tokens(self.path, name, stream, documents, tokens, self._codec, self.settings, threads)

    def search(
        self,
        query: npt.ArrayLike,
        k: int = 10,
        settings: TokenSearch | None = None,
        eligible: Mask | None = None,
    ) -> SearchHits:
        """Query (tokens, d) -> the k best documents among those that are eligible (documents,), None for all."""
        searcher = self._searcher.with_settings(settings)
        found = searcher.search(searcher.gather([query]), k, eligible)
        return SearchHits(found.ids[0], found.scores[0], found.timings)

    def search_many(
        self,
        queries: Sequence[npt.ArrayLike],
        k: int = 10,
        settings: TokenSearch | None = None,
        eligible: Mask | None = None,
        threads: int = 1,
    ) -> SearchHits:
        """Queries, each (tokens, d) -> ids and scores (n, k), padded with -1 and -inf.

        `threads` share the queries, one at a time each; settings.threads is ignored.
        """
        searcher = self._searcher.with_settings(settings)
        return searcher.search(searcher.gather(queries), k, eligible, threads)

    def check(self) -> None:
        """Read every file and compare its checksum; raises DamagedIndex for the first that differs."""
        for name, facts in list_codec_files(self._manifest.part("codec")).items():
            verify_file(self.path / CODEC / name, facts)
        verify_folders((part.folder for part in self._parts), count_threads(0))

    def __repr__(self) -> str:
        """The folder and its size."""
        return f"<TokenIndex {str(self.path)!r}, {len(self):,} documents, {self.tokens:,} vectors>"

    def __len__(self) -> int:
        """Number of documents."""
        return sum(facts.documents for facts in self._segments)

    @property
    def tokens(self) -> int:
        """Number of vectors."""
        return sum(facts.tokens for facts in self._segments)

    @property
    def dimensions(self) -> int:
        """Dimensions of a vector."""
        return self._codec.dimensions

    @property
    def centroids(self) -> int:
        """Number of centroids."""
        return len(self._codec.centroids)

    @property
    def bytes(self) -> int:
        """Size of all files."""
        codec = sum(facts["bytes"] for facts in list_codec_files(self._manifest.part("codec")).values())
        return codec + sum(part.folder.bytes for part in self._parts)


def _check_name(facts: Facts) -> Facts:
    """A segment's facts, after a check that its name is a valid segment name."""
    name = facts.text("name")
    if not PART.fullmatch(name) or not name.startswith(f"{SEGMENT}-"):
        raise damaged(facts.where, f"names {name[:60]!r}, expected a segment with a number")
    return facts


def _write_index(folder: Path, vectors: VectorSource, settings: TokenBuild) -> None:
    stream = TokenStream(vectors, folder)
    threads = count_threads(settings.threads)
    try:
        sample = Sample(stream, settings.seed)
        codec = train_codec(sample, settings, threads)
        codec_facts = write_codec(folder / CODEC, codec)
        name = f"{SEGMENT}-000001"
        facts = write_tokens(folder, name, stream, sample.documents, sample.tokens, codec, settings, threads)
    finally:
        stream.close()
    kept = {name: value for name, value in asdict(settings).items() if name != "threads"}  # does not change the files
    content = {"kind": KIND, "version": VERSION, "settings": kept}
    write_manifest(folder, {**content, "codec": codec_facts, "segments": [asdict(facts)]})
