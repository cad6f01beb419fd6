"""The main class of the library: combines encoders and collections to index and search texts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..collection.collection import Collection
from ..collection.kept_views import Views
from ..collection.policy import Policy
from ..collection.repair.repair import Repair
from ..errors import IndexExists
from ..factorised.scorers import CheckedScorer, Scorer
from ..models.registry import DEFAULT
from ..results import Explanation, Ranking
from ..search.fusion import weigh_views
from ..search.profile import Profile
from ..settings import CrossSearch, EncoderSettings, HybridSearch, TermCounting, Terms, TokenBuild, TokenSearch, View
from .checks import check_kind, check_path
from .cross_searching import CrossSearcher, KeptSearcher, read_request
from .cross_tables import CrossTables
from .grouping import search_in_groups
from .growing import GrowingIndex
from .model import LazyEncoder, choose_views, describe_model, is_of_words_alone, load_model, load_same_model
from .repair import repair_index
from .search_runner import FUSION, SearchRunner

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from ..encoders.encoder import Encoder

FAST = EncoderSettings(precision="int8")


class Retriever(GrowingIndex):
    """An index of documents in a folder, searched by one or several views. Made by `create` and `open`."""

    def __init__(self, collection: Collection) -> None:
        """Use `create` or `open`."""
        super().__init__(collection, LazyEncoder(self._load_encoder))
        self._runner = SearchRunner(collection, self._encoder)
        self._cross = KeptSearcher(collection, self._runner)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        model: str | os.PathLike[str] = DEFAULT,
        *,
        views: Sequence[str] | None = None,
        terms: Terms | None = None,
        counting: TermCounting | None = None,
        most_vectors: int = 0,
        build: TokenBuild | None = None,
        encoder: EncoderSettings = FAST,
        policy: Policy | None = None,
    ) -> Retriever:
        """Create an index at `path`, which must not exist; a model by name or folder, as in `load_encoder`.

        views: which of "multi", "dense" and "lexical" to store; None for all that the model supports. An index of
        counted words alone, such as that of ["lexical"] and the default model, needs no model.
        terms: of the lexical view: "model" for those of the model's lexical head, or BM25 over "words" of any language
        or over the model's "tokens"; None for the model's if it has such a head, otherwise words.
        most_vectors: maximum token vectors of a document; similar vectors of longer ones are merged (0: no limit).
        counting: k1 and b of BM25, and the language of words; by default that of the first 256 documents.
        policy: when the index is clustered, merged and verified; the default suits any size.
        """
        check_path(path)
        check_kind("build", build, TokenBuild | None, "TokenBuild(...)")
        check_kind("counting", counting, TermCounting | None, "TermCounting(...)")
        check_kind("encoder", encoder, EncoderSettings, "EncoderSettings(...)")
        if os.path.lexists(path):  # before a model is downloaded
            raise IndexExists(f"{path} exists already: choose another path, open it, or remove it first")
        if is_of_words_alone(model, views, terms):
            return cls(Collection.create(path, Views(None, False, "words", 0, counting or TermCounting()), {}, policy))
        loaded = load_model(model, encoder)
        kept = choose_views(loaded, views, terms, counting, most_vectors, build or TokenBuild())
        self = cls(Collection.create(path, kept, describe_model(model, loaded, encoder), policy))
        self._encoder.keep(loaded)
        return self

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        model: str | os.PathLike[str] | None = None,
        *,
        policy: Policy | None = None,
    ) -> Retriever:
        """Open an index. Its model is loaded when first needed; `model`: its location, if it was moved."""
        check_path(path)
        self = cls(Collection.open(path, policy))
        if model is not None:
            try:
                self._encoder.keep(self._load_encoder(model))
            except BaseException:
                self.close()
                raise
        return self

    def __enter__(self) -> Retriever:
        """For use in a with statement."""
        return self

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        offset: int = 0,
        method: str | None = None,
        filter: Mapping[str, Any] | None = None,
        settings: TokenSearch | HybridSearch | CrossSearch | None = None,
        rerank: Scorer | None = None,
        depth: int = 100,
        group_by: str | None = None,
        fold: bool = False,
    ) -> Ranking:
        """The k best of the documents that match the filter, fewer if fewer match.

        offset: how many of the best to leave out, for the next page: ranks offset + 1 to offset + k of the ranking.
        method: "colbert", "xtr" or "exact" over token vectors (see TokenSearch), "dense", "lexical", or "hybrid" (see
        HybridSearch; "hybrid:rrf" names a fusion); None for hybrid, or the method of the only view. "cross" for a
        search by the scorer that the index has anchor scores of (see CrossSearch).
        rerank: a scorer, such as `load_pair_scorer(...)`, that orders the `depth` best; the others are no hits.
        group_by: a key of the metadata, such as "file": of documents with the same value, only the best is a hit.
        fold: of documents with nearly the same text, only the best is a hit.
        """
        if group_by is not None or fold:

            def search(most: int) -> Ranking:
                asked: dict[str, Any] = {"method": method, "filter": filter, "settings": settings}
                return self.search(query, most, **asked, rerank=rerank, depth=depth)

            return search_in_groups(search, k, offset, len(self), group_by, fold)
        if rerank is None and method != "cross" and not isinstance(settings, CrossSearch):
            return self._runner.search_many([query], k, method, filter, settings, 1, offset)[0]
        searcher = self.make_cross_searcher()
        chosen, first = read_request(method, settings, depth)
        scorer = CheckedScorer(rerank if rerank is not None else searcher.load_scorer())
        return searcher.search(query, k, scorer, chosen, filter, first, offset)

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 10,
        *,
        offset: int = 0,
        method: str | None = None,
        filter: Mapping[str, Any] | None = None,
        settings: TokenSearch | HybridSearch | None = None,
        threads: int = 0,
    ) -> list[Ranking]:
        """One ranking per query; `threads` (0: all cores) share the queries. Timings are means over the queries."""
        return self._runner.search_many(queries, k, method, filter, settings, threads, offset)

    def explain(
        self,
        query: str,
        id: str,
        *,
        k: int = 10,
        method: str | None = None,
        filter: Mapping[str, Any] | None = None,
        settings: TokenSearch | HybridSearch | None = None,
    ) -> Explanation:
        """What each view adds to a document's score, and which of its tokens and terms matched, with their positions.

        Imputed values of XTR, and fused ranks, depend on k and on the filter: pass those of the search.
        """
        return self._runner.explain(query, id, k, method, filter, settings)

    def check_method(self, method: str) -> None:
        """Raise the error of a search with this method: an unknown name, or a view that the index does not have."""
        self._runner.plan(method, None)

    def shares(self, queries: Sequence[str]) -> list[tuple[list[str], dict[View, npt.NDArray[np.float32]]]]:
        """For each query, the ids (m,) of hybrid search's candidates, and what each view adds with weight 1 (m,)."""
        return self._runner.share_evenly(queries)

    @property
    def weights(self) -> tuple[float, float, float]:
        """The weights of dense, lexical and multi in hybrid search."""
        return weigh_views(self.fusion, self._views.counted, self.profile)

    @property
    def views(self) -> tuple[View, ...]:
        """The views of the index, of dense, lexical and multi."""
        return self._views.names

    @property
    def fusion(self) -> HybridSearch:
        """The default settings of hybrid search in this index; `tune` can set them."""
        return self._runner.read_fusion()

    @fusion.setter
    def fusion(self, settings: HybridSearch) -> None:
        check_kind("fusion", settings, HybridSearch, "HybridSearch(...)")
        self._collection.put_fact(FUSION, asdict(settings))

    @property
    def profile(self) -> Profile:
        """How hybrid search reads the scores of each view in this index."""
        return self._runner.read_profile()

    @classmethod
    def repair(cls, path: str | os.PathLike[str], model: str | os.PathLike[str] | None = None) -> Repair:
        """Repair a damaged index: intact parts stay, the documents of damaged segments are encoded again.

        Only documents whose own rows have more than one wrong byte are lost; the result counts them. model: see `open`.
        """
        check_path(path)
        return repair_index(Path(path), model)

    def share_encoder(self, other: Retriever) -> None:
        """Use the model of another index, which must be the same, so that it is loaded once."""
        self._encoder.follow(other._encoder)

    def make_cross_searcher(self) -> CrossSearcher:
        """What searches the index by a scorer, with the scores that it has now."""
        return self._cross.get(CrossTables.open(self._collection))

    @property
    def runner(self) -> SearchRunner:
        """What runs the searches of one or several views."""
        return self._runner

    @property
    def encoder(self) -> Encoder:
        """The index's model, loaded at the first use."""
        return self._encoder()

    def _load_encoder(self, model: str | os.PathLike[str] | None = None) -> Encoder:
        return load_same_model(model, self._collection.facts("model"), self.path)
