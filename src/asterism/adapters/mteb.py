"""An index as a search model of mteb, which brings the tasks and the measures."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..documents.document import Document
from ..errors import InputError, MissingPackage
from ..results import Ranking
from ..retriever import Retriever

try:
    from mteb.models.model_meta import ModelMeta
except ImportError as error:
    raise MissingPackage(f"the adapter needs mteb ({error}): pip install 'asterism[mteb]'") from error

CHUNK = 64  # queries
ID = "id"  # the metadata field that a filter picks candidates by
UNKNOWN = (
    "loader",
    "release_date",
    "languages",
    "n_parameters",
    "memory_usage_mb",
    "max_tokens",
    "embed_dim",
    "license",
    "open_weights",
    "public_training_code",
    "public_training_data",
    "similarity_fn_name",
    "training_datasets",
)
"""What mteb asks about a model and we do not know."""


class AsterismSearch:
    """mteb's SearchProtocol: every corpus becomes an index, which answers the queries.

    model      a name or folder, as in Retriever.create
    method     as in Retriever.search; None: its default
    folder     where indexes stay. A second run with the same data, model and settings finds them there, whatever its
               method, and an interrupted run goes on. None: a temporary folder, one index at a time
    settings   as in Retriever.create

    Reranking tasks are searches among the candidates of a query. mteb's instructions, prompts, batch sizes and numbers
    of processes are ignored: a model has its own rules for queries and documents. A query without words finds nothing.

    mteb keeps results by the name and revision of a model. Ours depend on the version of asterism, the model's name,
    the method and the settings, but not on the content of a model's folder.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        method: str | None = None,
        folder: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> None:
        """The model is loaded when there is a corpus."""
        self._model = os.fspath(model)
        self._method = method
        self._folder = None if folder is None else Path(folder)
        self._settings = settings
        self._retriever: Retriever | None = None
        self._remove: Callable[[], object] = _do_nothing

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """The name and revision under which mteb keeps results."""
        method = f"-{self._method}" if self._method else ""
        revision = f"{__version__}-{_hash_facts(self._model, self._method, sorted(self._settings.items()))}"
        name = f"asterism/{Path(self._model).name}{method}"
        facts: dict[str, Any] = dict.fromkeys(UNKNOWN)
        return ModelMeta(name=name, revision=revision, framework=[], use_instructions=False, **facts)

    def index(
        self, corpus: Sequence[Mapping[str, Any]], *, task_metadata: Any, hf_split: str, hf_subset: str, **ignored: Any
    ) -> None:
        """Index rows of `id`, `text` and perhaps `title`."""
        self.close()
        data = (task_metadata.name, hf_subset, hf_split)
        settings = (self._model, sorted(self._settings.items()), sorted(task_metadata.dataset.items()))
        path = self._home() / f"{re.sub(r'[^-.0-9A-Za-z]', '_', '-'.join(data))}-{_hash_facts(data, settings)}.ast"
        if path.exists():
            self._retriever = Retriever.open(path, model=self._model)
        else:
            self._retriever = Retriever.create(path, self._model, **self._settings)
        # One query before hours of work: a method that does not exist is refused now.
        self._retriever.search("?", 1, method=self._method)
        self._retriever.add(self._retriever.missing(_make_documents(corpus)))
        if len(self._retriever) != len(corpus):
            raise InputError(
                f"{path} has {len(self._retriever):,} documents, the corpus {len(corpus):,}: either an id comes twice "
                "in the corpus, or the index was changed: remove it"
            )

    def search(
        self,
        queries: Sequence[Mapping[str, Any]],
        *,
        top_k: int,
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        **ignored: Any,
    ) -> dict[str, dict[str, float]]:
        """Rows of `id` and `text` -> query id -> document id -> score; of `top_ranked`, query id -> candidates."""
        if self._retriever is None:
            raise InputError("there is no corpus yet, expected index() before search()")
        texts = {str(row["id"]): row["text"] for row in queries}
        asked = {id: text for id, text in texts.items() if not isinstance(text, str) or text.strip()}
        k = max(1, min(top_k, len(self._retriever)))
        found = self._search_queries(self._retriever, asked, k, top_ranked)
        return {id: {} for id in texts} | {id: {hit.id: hit.score for hit in ranking} for id, ranking in found}

    def _search_queries(
        self, index: Retriever, texts: dict[str, str], k: int, candidates: Mapping[str, Sequence[str]] | None
    ) -> Iterator[tuple[str, Ranking]]:
        if candidates is not None:  # each has its own filter, so one by one
            for id, text in texts.items():
                filter = {ID: {"$in": list(candidates.get(id, []))}}
                yield id, index.search(text, k, method=self._method, filter=filter)
            return
        ids = list(texts)
        for start in range(0, len(ids), CHUNK):
            part = ids[start : start + CHUNK]
            found = index.search_many([texts[id] for id in part], k, method=self._method)
            yield from zip(part, found, strict=True)

    def _home(self) -> Path:
        """The folder to build in; a temporary one is removed with this model, or by the next corpus."""
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            return self._folder
        home = tempfile.mkdtemp(prefix="asterism-mteb-")
        self._remove = weakref.finalize(self, shutil.rmtree, home, ignore_errors=True)
        return Path(home)

    def close(self) -> None:
        """Release the index, and remove it if it is temporary."""
        if self._retriever is not None:
            self._retriever.close()
            self._retriever = None
        self._remove()


def _do_nothing() -> None:
    """There is no temporary folder."""


def _make_documents(corpus: Sequence[Mapping[str, Any]]) -> Iterator[Document]:
    for row in corpus:
        id = str(row["id"])
        yield Document(id, row["text"], row.get("title") or "", {ID: id})


def _hash_facts(*facts: object) -> str:
    """Twelve hexadecimal digits that differ if the facts do."""
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]
