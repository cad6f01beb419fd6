"""Texts to representations: all views of a model in one forward pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InputError, SettingError, TextError
from ..models.file_hashes import find_hashes
from ..representations import LexicalWeights, Representations, TokenVectors
from ..settings import VIEWS, EncoderSettings, View, count_threads
from ..terms.counting import TermSpan
from .assembling import ChunkEncoder, Side
from .checkpoints.checkpoint import Checkpoint
from .graph.heads import compute_width
from .readability import Readability
from .runtimes.backbone import Backbone
from .runtimes.freed_memory import return_freed_memory
from .spans import TokenSpan, find_token_spans
from .token_terms import count_tokens, find_token_terms
from .tokens import TextRules, TokenisedTexts, tokenise

Progress = Callable[[int], None]

CHUNK_TEXTS = 256  # texts that are sorted by length together: enough to fill batches evenly, few enough for memory
CHUNK_BYTES = 1 << 26  # of token vectors, approximately: three characters per token


class Chunk(NamedTuple):
    """Some texts, the number of the first, and whether it is known that none follow."""

    first: int
    texts: list[str]
    is_last: bool


class Encoder:
    """A loaded model. Made by `load_encoder`.

    views   those of dense, lexical, multi that the model has
    """

    def __init__(self, checkpoint: Checkpoint, settings: EncoderSettings) -> None:
        """Load the weights into the runtime."""
        self._checkpoint = checkpoint
        self._settings = settings
        self._texts_since_return = 0
        self.views: tuple[View, ...] = checkpoint.views
        pooled = checkpoint.multi.pooling if checkpoint.multi else None
        self._document = self._make_side(checkpoint.document, "document_length", pooled is not None)
        self._query = self._make_side(checkpoint.query, "query_length", False)
        has_cls = bool(checkpoint.tokenizer.before and checkpoint.dense and checkpoint.dense.pooling == "cls")
        if settings.cls_every and not has_cls:
            raise SettingError("cls_every needs a model whose dense vector is the state of [CLS]")
        self._chunk_encoder = ChunkEncoder(checkpoint, _open_backbone(checkpoint, settings), settings.batch_tokens)
        head, hidden = checkpoint.multi, checkpoint.transformer.hidden
        self._chunk_characters = 3 * CHUNK_BYTES // (4 * (compute_width(head.layers, hidden) if head else hidden))

    def __repr__(self) -> str:
        """The layout, the folder and the views."""
        return f"<Encoder {self._checkpoint.family} {str(self._checkpoint.folder)!r}, {', '.join(self.views)}>"

    def describe(self) -> dict[str, Any]:
        """Family, views with their dimensions, lengths, and the files with their hashes."""
        checkpoint, probe = self._checkpoint, self.encode_query(["a"])
        sizes: dict[str, int] = {}
        if probe.dense is not None:
            sizes["dense"] = int(probe.dense.shape[1])
        if checkpoint.lexical is not None:
            sizes["lexical"] = checkpoint.transformer.vocabulary
        if probe.multi is not None:
            sizes["multi"] = probe.multi.dimensions
        pooling = checkpoint.multi.pooling if checkpoint.multi else None
        constant = None if pooling is None else len(pooling.weight) // (sizes["multi"] if pooling.is_full else 1)
        hashes = find_hashes(checkpoint.files)
        return {
            "family": checkpoint.family,
            "views": sizes,
            "vectors_per_document": constant,
            "document_length": self._document.rules.length,
            "query_length": self._query.rules.length,
            "precision": self._settings.precision,
            "runtime": self._settings.runtime,
            "files": {os.path.relpath(file, checkpoint.folder): digest for file, digest in hashes.items()},
        }

    def encode_document(
        self, texts: Iterable[str], *, views: Sequence[View] | None = None, progress: Progress | None = None
    ) -> Representations:
        """All views of some documents, or only `views`. `progress` is a callback that receives the count so far."""
        return self._concatenate(self._stream(texts, self._document, views, progress), views)

    def encode_query(
        self, texts: Iterable[str], *, views: Sequence[View] | None = None, progress: Progress | None = None
    ) -> Representations:
        """All views of some queries, or only `views`."""
        return self._concatenate(self._stream(texts, self._query, views, progress), views)

    def stream_documents(
        self, texts: Iterable[str], *, views: Sequence[View] | None = None, progress: Progress | None = None
    ) -> Iterator[Representations]:
        """Like `encode_document`, in parts of a few hundred texts, for iterators that do not fit into memory."""
        return self._stream(texts, self._document, views, progress)

    def document_spans(self, text: str) -> list[TokenSpan] | None:
        """The piece of `text` that each row of `encode_document([text]).multi.flat` stands for.

        None if the vectors are pooled to a constant number: they do not stand for single tokens.
        """
        return self._find_spans(text, self._document)

    def query_spans(self, text: str) -> list[TokenSpan] | None:
        """The piece of `text` that each row of `encode_query([text]).multi.flat` stands for."""
        return self._find_spans(text, self._query)

    def count_tokens(self, texts: Sequence[str]) -> LexicalWeights:
        """The model's tokens as terms, and how often each occurs in a text: for BM25."""
        return count_tokens(self._checkpoint.tokenizer, self._checkpoint.document, texts)

    def term_spans(self, text: str) -> list[TermSpan]:
        """The tokens that `count_tokens` counts and that a lexical head weights, with their positions in the text."""
        return find_token_terms(self._checkpoint.tokenizer, self._checkpoint.document, text)

    def measure_readable(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """(texts,) the share of each text's tokens that the model can read: neither unknown nor single letters."""
        return np.array([self._readability.measure(text) for text in texts], np.float64)

    @cached_property
    def _readability(self) -> Readability:
        return Readability(self._checkpoint.tokenizer, self._checkpoint.query)

    def _find_spans(self, text: str, side: Side) -> list[TokenSpan] | None:
        self._check_views(["multi"])
        return (
            None
            if side.constant
            else find_token_spans(self._checkpoint.tokenizer, side, text, self._settings.cls_every)
        )

    def _make_side(self, rules: TextRules, setting: str, constant: bool) -> Side:
        checkpoint, settings = self._checkpoint, self._settings
        length = getattr(settings, setting)
        if length:
            least, most = checkpoint.tokenizer.get_least_length(rules), checkpoint.transformer.most_tokens
            if rules.expand_to:
                raise SettingError(f"{setting} is {length}, but this model always reads {rules.expand_to} tokens there")
            if length < least or (most is not None and length > most):
                raise SettingError(f"{setting} is {length}, expected from {least} to {most or 'any number'}")
            rules = replace(rules, length=length)
        if settings.long == "truncate":
            rules = replace(rules, windows=False)
        skipped, dropped = (np.zeros(checkpoint.transformer.vocabulary, bool) for _ in range(2))
        skipped[list(rules.skipped)] = True
        if checkpoint.lexical:
            dropped[list(checkpoint.lexical.dropped)] = True
        cls = checkpoint.tokenizer.before[0] if settings.cls_every and checkpoint.tokenizer.before else None
        if cls is not None:
            skipped[cls] = True
        return Side(
            rules,
            skipped,
            dropped,
            constant,
            cls,
            checkpoint.dense.pooling if checkpoint.dense else "cls",
            {"dense": "pooled", "lexical": "lexical", "multi": "states" if constant else "vectors"},
        )

    def _concatenate(self, parts: Iterator[Representations], views: Sequence[View] | None) -> Representations:
        """All parts as one; for no texts, empty views of the right shape."""
        found = list(parts)
        if len(found) == 1:
            return found[0]
        if found:
            return Representations.concatenate(found)
        one = self.encode_query(["a"], views=views)
        return Representations(
            0,
            None if one.dense is None else one.dense[:0],
            None if one.lexical is None else LexicalWeights([0], [], []),
            None if one.multi is None else TokenVectors(one.multi.flat[:0], [0]),
        )

    def _stream(
        self, texts: Iterable[str], side: Side, views: Sequence[View] | None, progress: Progress | None
    ) -> Iterator[Representations]:
        """Wrong arguments raise here, not when the first part is asked for."""
        wanted = self._check_views(views)
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise TextError(f"one {type(texts).__name__} was given, expected several texts: put it into a list")
        return self._encode_chunks(_cut_chunks(texts, self._chunk_characters), side, wanted, progress)

    def _encode_chunks(
        self, chunks: Iterator[Chunk], side: Side, views: Sequence[View], progress: Progress | None
    ) -> Iterator[Representations]:
        """Read and tokenise the next chunk in a thread while the model runs; a single chunk needs no thread."""
        done = 0
        with ThreadPoolExecutor(1) as ahead:
            chunk, texts = self._tokenise_next(chunks, side)
            while texts is not None:
                coming = None if chunk.is_last else ahead.submit(self._tokenise_next, chunks, side)
                part = self._chunk_encoder.encode(texts, side, views)
                done += part.texts
                self._return_memory(part.texts)
                if progress:
                    progress(done)
                yield part
                del part, texts  # free them while the next ones are made
                chunk, texts = coming.result() if coming else (chunk, None)

    def _tokenise_next(self, chunks: Iterator[Chunk], side: Side) -> tuple[Chunk, TokenisedTexts | None]:
        """The next chunk and its rows; None after the last one."""
        chunk = next(chunks, Chunk(0, [], True))
        if not chunk.texts:
            return chunk, None
        settings, tokenizer = self._settings, self._checkpoint.tokenizer
        return chunk, tokenise(tokenizer, side.rules, chunk.texts, settings.cls_every, chunk.first)

    def _return_memory(self, texts: int) -> None:
        """Once in a while: single queries do not wait for it."""
        self._texts_since_return += texts
        if self._texts_since_return >= CHUNK_TEXTS:
            self._texts_since_return = 0
            return_freed_memory()

    def _check_views(self, views: Sequence[View] | None) -> tuple[View, ...]:
        if views is None:
            return self.views
        if isinstance(views, str):
            raise InputError(f"views is {views!r}, expected a list such as [{views!r}]")
        for view in views:
            if view not in self.views:
                known = "this model has " + ", ".join(self.views) if view in VIEWS else "there is no such view"
                raise InputError(f"view {view!r} was requested, but {known}")
        if not views:
            raise InputError(f"no view was requested, expected some of {', '.join(self.views)}")
        return tuple(views)


def _cut_chunks(texts: Iterable[str], most_characters: int) -> Iterator[Chunk]:
    """A few hundred texts at a time, fewer if they are long."""
    rest, first, is_last = iter(texts), 0, False
    while not is_last:
        chunk: list[str] = []
        characters = 0
        for text in islice(rest, CHUNK_TEXTS):
            chunk.append(text)
            characters += len(text) if isinstance(text, str) else 0
            if characters >= most_characters:
                break
        is_last = len(chunk) < CHUNK_TEXTS and characters < most_characters
        if chunk:
            yield Chunk(first, chunk, is_last)
        first += len(chunk)


def _open_backbone(checkpoint: Checkpoint, settings: EncoderSettings) -> Backbone:
    threads = count_threads(settings.threads)
    if settings.runtime == "torch":
        from .runtimes.torch import TorchBackbone

        return TorchBackbone(checkpoint, threads)
    from .runtimes.onnx import OnnxBackbone

    return OnnxBackbone(checkpoint, settings.precision, threads)
