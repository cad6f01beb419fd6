"""The token index: many vectors a document, searched by MaxSim.

x.tokens/
  manifest.json     settings, codec and segments with their files' sizes and checksums
  codec/            centroids, rotation, levels (immutable)
  segment-000001/   codes in document order, inverted lists (immutable); `add` makes the next
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ..errors import DamagedIndex, IndexExists, IndexFolderError, VectorsError
from ..representations.multi_vector import TokenVectors
from ..settings import TokenBuild, TokenSearch, cores
from .codec_files import open_codec, train_codec, write_codec
from .hits import SearchHits
from .storage import (
    FileFacts,
    folder_in_the_making,
    read_manifest,
    verify_file,
    write_manifest,
    writing,
)
from .token_searcher import TokenSearcher
from .token_segment import SegmentFacts, open_segment, write_segment
from .token_stream import Sample, TokenStream

KIND = "asterism token index"
VERSION = 1
CODEC = "codec"
SEGMENT = "segment"


class TokenIndex:
    """Token vectors on disk, memory-mapped; `build` or `open` make one."""

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        """Map the files named by a manifest; use `open`."""
        self.path = path
        self.settings = TokenBuild.of(manifest["settings"])
        self._manifest = manifest
        self._segments = [SegmentFacts(**facts) for facts in manifest["segments"]]
        self._codec = open_codec(path / CODEC, manifest["codec"], self.settings)
        parts = [open_segment(path, facts, self._codec, self.settings) for facts in self._segments]
        self._searcher = TokenSearcher(path, self._codec, parts)

    @classmethod
    def build(
        cls, path: str | os.PathLike[str], vectors: TokenVectors | Iterable[TokenVectors], **settings: Any
    ) -> TokenIndex:
        """Build an index at `path`, which must not exist, from vectors that are read twice; settings: TokenBuild.

        Everything is written beside `path` and renamed at the end: a build that is killed leaves no index.
        """
        target = Path(path)
        chosen = TokenBuild.of(settings)
        if os.path.lexists(target):
            raise IndexExists(f"{target} exists already: choose another path, open it, or remove it first")
        with folder_in_the_making(target) as temporary:
            _write_index(temporary, vectors, chosen)
        return cls.open(target)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> TokenIndex:
        """Open an index: reads manifest, codec, headers and where lists begin; maps the rest."""
        folder = Path(path)
        manifest = read_manifest(folder, KIND, VERSION)
        try:
            return cls(folder, manifest)
        except (KeyError, TypeError, AttributeError) as error:
            raise DamagedIndex(f"{folder} has a manifest that is not as expected: {error!r}") from error

    def add(self, vectors: TokenVectors | Iterable[TokenVectors]) -> TokenIndex:
        """Append documents as a new segment with the same codec; returns the index that sees them.

        This object goes on seeing what it saw: a snapshot.
        """
        with writing(self.path):
            manifest = read_manifest(self.path, KIND, VERSION)
            if manifest["codec"] != self._manifest["codec"]:
                raise IndexFolderError(f"{self.path} was replaced since it was opened: open it again, then add")
            known = {facts["name"] for facts in manifest["segments"]}
            for leftover in self.path.glob(f"{SEGMENT}-[0-9][0-9][0-9][0-9][0-9][0-9]"):
                if leftover.name not in known:
                    shutil.rmtree(leftover)
            name = f"{SEGMENT}-{len(known) + 1:06d}"
            stream = TokenStream(vectors, self.path)
            try:
                facts = self._write_segment(stream, name)
            except BaseException:
                shutil.rmtree(self.path / name, ignore_errors=True)
                raise
            finally:
                stream.close()
            write_manifest(self.path, {**manifest, "segments": [*manifest["segments"], facts.as_json()]})
        return TokenIndex.open(self.path)

    def _write_segment(self, stream: TokenStream, name: str) -> SegmentFacts:
        documents = tokens = 0
        for chunk in stream:
            if chunk.dimensions != self.dimensions:
                raise VectorsError(f"the vectors have {chunk.dimensions} dimensions, the index has {self.dimensions}")
            documents += len(chunk)
            tokens += len(chunk.flat)
        if documents == 0:
            raise VectorsError("zero documents were given, expected at least one")
        threads = cores(self.settings.threads)
        return write_segment(self.path, name, stream, documents, tokens, self._codec, self.settings, threads)

    def search(
        self,
        query: npt.ArrayLike,
        k: int = 10,
        settings: TokenSearch | None = None,
        subset: npt.ArrayLike | None = None,
    ) -> SearchHits:
        """Query (tokens, d) -> the k best documents; subset (documents,) of bool restricts the search to them."""
        return self._searcher.search(query, k, settings, subset)

    def search_many(
        self,
        queries: Sequence[npt.ArrayLike],
        k: int = 10,
        settings: TokenSearch | None = None,
        subset: npt.ArrayLike | None = None,
        threads: int = 1,
    ) -> SearchHits:
        """Queries, each (tokens, d) -> ids and scores (n, k), padded with -1 and -inf.

        `threads` share the queries, one each at a time; the settings' own number of threads is not used.
        """
        return self._searcher.search_many(queries, k, settings, subset, threads)

    def check(self) -> None:
        """Read every file and compare its checksum; raises DamagedIndex at the first that differs."""
        for name, files in self._folders():
            for file, facts in files.items():
                verify_file(self.path / name / file, facts)

    def __len__(self) -> int:
        """Documents."""
        return sum(facts.documents for facts in self._segments)

    @property
    def tokens(self) -> int:
        """Vectors in all."""
        return sum(facts.tokens for facts in self._segments)

    @property
    def dimensions(self) -> int:
        """Of a vector."""
        return self._codec.dimensions

    @property
    def centroids(self) -> int:
        """Number of centroids."""
        return len(self._codec.centroids)

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(facts["bytes"] for _, files in self._folders() for facts in files.values())

    def _folders(self) -> list[tuple[str, FileFacts]]:
        return [(CODEC, self._manifest["codec"]["files"]), *((facts.name, facts.files) for facts in self._segments)]


def _write_index(folder: Path, vectors: TokenVectors | Iterable[TokenVectors], settings: TokenBuild) -> None:
    stream = TokenStream(vectors, folder)
    threads = cores(settings.threads)
    try:
        sample = Sample(stream, settings.seed)
        codec = train_codec(sample, settings, threads)
        codec_facts = write_codec(folder / CODEC, codec)
        name = f"{SEGMENT}-000001"
        facts = write_segment(folder, name, stream, sample.documents, sample.tokens, codec, settings, threads)
    finally:
        stream.close()
    kept = {name: value for name, value in asdict(settings).items() if name != "threads"}  # they change no byte
    content = {"kind": KIND, "version": VERSION, "settings": kept}
    write_manifest(folder, {**content, "codec": codec_facts, "segments": [facts.as_json()]})
