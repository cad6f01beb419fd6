"""A search plan: a method and its settings, checked against the views of the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

import numpy as np

from ..collection.snapshot import Snapshot
from ..errors import SettingError
from ..representations import Representations
from ..settings import VIEWS, HybridSearch, Method, TokenMethod, TokenSearch, View
from ..views.eligible import Mask
from ..views.hits import SearchHits
from .asked import Asked
from .fusion import choose_protocol, fuse
from .profile import UNMEASURED, Profile


@dataclass(frozen=True)
class SearchPlan:
    """A method, how token vectors are searched, and how views are fused; the method decides which settings apply."""

    method: Method
    tokens: TokenSearch
    hybrid: HybridSearch
    profile: Profile = UNMEASURED

    @classmethod
    def from_request(
        cls,
        method: object,
        settings: object,
        views: Sequence[View],
        fusion: Callable[[], HybridSearch],
        profile: Callable[[], Profile] = lambda: UNMEASURED,
    ) -> SearchPlan:
        """A name such as "xtr", "dense" or "hybrid:rrf"; None for the settings' own or the views' default.

        `fusion` returns the default settings of hybrid search, `profile` how to read the scores of the index.
        """
        if not isinstance(settings, TokenSearch | HybridSearch | None):
            given = type(settings).__name__
            raise SettingError(f"settings is a {given}, expected TokenSearch(...) or HybridSearch(...)")
        if method is None and isinstance(settings, HybridSearch):
            method = "hybrid"
        elif method is None:
            method = settings.method if isinstance(settings, TokenSearch) else choose_default_method(views)
        name, _, variant = method.partition(":") if isinstance(method, str) else ("", "", "")
        if name not in get_args(Method) or (variant and name != "hybrid"):
            known = ", ".join(repr(choice) for choice in get_args(Method))
            raise SettingError(f"method is {method!r}, expected one of {known}, or 'hybrid:' and a fusion")
        _refuse_other_settings(name, settings)
        hybrid = settings if isinstance(settings, HybridSearch) else HybridSearch()
        if variant:
            hybrid = replace(hybrid, fusion=cast(Any, variant))
        elif name == "hybrid" and settings is None:
            hybrid = fusion()
        tokens = settings if isinstance(settings, TokenSearch) else hybrid.tokens or TokenSearch()
        if name in get_args(TokenMethod):
            tokens = replace(tokens, method=cast(TokenMethod, name))
        plan = cls(cast(Method, name), tokens, hybrid, profile() if name == "hybrid" else UNMEASURED)
        plan.refuse_missing(views)
        return plan

    def refuse_missing(self, views: Sequence[View]) -> None:
        """Refuse an index without the views that the method needs."""
        there = f"the index has {', '.join(views)}"
        if self.method == "hybrid":
            if len(views) < 2:
                raise SettingError(f"hybrid search needs several views, {there}: build it with --views")
            self._refuse_missing_of_fusion(views, there)
        elif self.view not in views:
            raise SettingError(f"method {self.method!r} needs the view {self.view!r}, {there}: build it with --views")

    def _refuse_missing_of_fusion(self, views: Sequence[View], there: str) -> None:
        """Protocols of BGE-M3 need all their views; any other fusion needs at least one view with a weight."""
        protocol = choose_protocol(self.hybrid, counted=False)  # `counted` does not change which weights are 0
        counting = [view for view, weight in zip(VIEWS, protocol.weights, strict=True) if weight > 0]
        missing = [view for view in VIEWS if view in (*protocol.candidates, *counting) and view not in views]
        if missing and self.hybrid.fusion.startswith("m3"):
            needed = f"{self.hybrid.fusion} needs the view {' and '.join(map(repr, missing))}"
            raise SettingError(f"{needed}, {there}: build it with --views")
        if not set(counting) & set(views):
            raise SettingError(f"only {', '.join(counting)} got a weight, {there}: give one to these")

    @property
    def view(self) -> View:
        """The view of a method that is not hybrid."""
        return self.method if self.method in ("dense", "lexical") else "multi"

    def views(self, there: Sequence[View]) -> tuple[View, ...]:
        """The views that the queries must be encoded for."""
        return tuple(there) if self.method == "hybrid" else (self.view,)

    def search(
        self, snapshot: Snapshot, queries: Representations, k: int, eligible: Mask | None, threads: int
    ) -> SearchHits:
        """Ids and scores (n, up to k), padded with -1 and -inf; timings are totals over the queries."""
        asked = self.ask(snapshot, queries, eligible, threads)
        return fuse(asked, k, self.hybrid, self.profile) if self.method == "hybrid" else asked.search(self.view, k)

    def read_total(self, total: float) -> float:
        """The score of a hybrid search that has this total."""
        return float(self.profile.calibrate(np.array([total], np.float32))[0]) if self.hybrid.calibrated else total

    def ask(self, snapshot: Snapshot, queries: Representations, eligible: Mask | None, threads: int) -> Asked:
        """Prepare the queries for the views that the method needs."""
        return Asked(snapshot, queries, self.views(snapshot.views), self.tokens, eligible, threads)


def _refuse_other_settings(method: str, settings: TokenSearch | HybridSearch | None) -> None:
    """Refuse settings that the method would ignore."""
    if isinstance(settings, TokenSearch) and method not in get_args(TokenMethod):
        advice = "HybridSearch(tokens=TokenSearch(...))" if method == "hybrid" else "no settings"
        raise SettingError(f"settings is a TokenSearch, which method {method!r} does not use: pass {advice}")
    if isinstance(settings, HybridSearch) and method != "hybrid":
        expected = "TokenSearch(...)" if method in get_args(TokenMethod) else "no settings"
        raise SettingError(f"settings is a HybridSearch, which method {method!r} does not use: pass {expected}")


def choose_default_method(views: Sequence[View]) -> str:
    """Hybrid if there are several views; otherwise the method of the only one."""
    if len(views) > 1:
        return "hybrid"
    return "colbert" if "multi" in views else views[0]
