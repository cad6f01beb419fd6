"""Whether the scores of several indexes can be compared, and the settings with which they can."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import SettingError
from ..search.plan import SearchPlan
from ..settings import HybridSearch, TokenSearch
from .retriever import Retriever


@dataclass(frozen=True)
class Comparable:
    """A method for all indexes, and the settings of each, by path; counts_words: BM25 needs statistics of all."""

    method: str
    settings: dict[str, TokenSearch | HybridSearch | None]
    counts_words: bool


def choose_comparable(
    indexes: Mapping[str, Retriever], method: str | None, settings: TokenSearch | HybridSearch | None
) -> Comparable:
    """Settings that give comparable scores; SettingError if there are none. Indexes without documents do not count."""
    plans = {path: index.runner.plan(method, settings) for path, index in indexes.items()}
    filled = {path: index for path, index in indexes.items() if len(index)} or dict(indexes)
    name = _find_common("methods", {path: plans[path].method for path in filled}, "give a method that all have")
    if name == "xtr":
        raise SettingError("method 'xtr' puts in scores of its own index, expected 'colbert' or 'exact' for several")
    if name == "hybrid":
        return Comparable(name, {path: _calibrate(path, plan) for path, plan in plans.items()}, False)
    given: dict[str, TokenSearch | HybridSearch | None] = dict.fromkeys(indexes, settings)
    views = {path: index.collection.views() for path, index in filled.items()}
    counted = name == "lexical" and _find_common("terms", {path: one.lexical for path, one in views.items()}) != "model"
    if counted:
        advice = "index them with the same --language, --k1 and --b, or search them one by one"
        _find_common("settings of BM25", {path: one.effective_counting for path, one in views.items()}, advice)
    if not counted or any(one.lexical == "tokens" for one in views.values()):
        _refuse_other_models(filled)
    return Comparable(name, given, counted)


def _calibrate(path: str, plan: SearchPlan) -> HybridSearch:
    fusion = plan.hybrid.fusion
    if fusion != "standard":
        raise SettingError(
            f"{path} fuses its views by {fusion!r}, whose scores mean something within one index only: search several "
            "with the fusion 'standard'"
        )
    return replace(plan.hybrid, calibrated=True)


def _refuse_other_models(indexes: Mapping[str, Retriever]) -> None:
    facts = {path: index.collection.facts("model") for path, index in indexes.items()}
    files = {path: one.get("files") for path, one in facts.items()}
    _find_common("models", files, "search by hybrid, whose scores are calibrated", lambda path: facts[path].get("name"))


def _find_common(
    what: str,
    values: Mapping[str, Any],
    advice: str = "search them one by one",
    show: Callable[[str], Any] | None = None,
) -> Any:
    """The value that all have; a SettingError names two that have different ones."""
    (first, value), *rest = values.items()
    for path, other in rest:
        if other != value:
            shown = (show or values.__getitem__)(first), (show or values.__getitem__)(path)
            raise SettingError(
                f"{first} and {path} have different {what} ({shown[0]} and {shown[1]}), whose scores cannot be "
                f"compared: {advice}"
            )
    return value
