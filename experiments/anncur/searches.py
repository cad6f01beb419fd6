"""Every method at every budget, by the library's own searches, against brute force."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from held_out_ontology import Task
from score_matrix import KnownScores

from asterism import CrossSearch, FactorisedIndex, Retriever


@dataclass(frozen=True)
class Figures:
    """One method at one budget: recall of the k best of brute force, and the share of right first items."""

    method: str
    anchors: int
    budget: int
    calls: float
    recall: dict[int, float]
    accuracy: float


class Searches:
    """The searches of one cross-encoder; indexes are made anew, which is quick, because scores are looked up."""

    def __init__(self, task: Task, scorer: KnownScores, settings: dict[str, Any], work: Path) -> None:
        self._task, self._scorer, self._settings, self._work = task, scorer, settings, work
        self._texts = [item.full_text for item in task.items]
        truth = np.stack([scorer.score(query, self._texts) for query in task.tests])
        self._order = np.argsort(-truth, axis=1, kind="stable")
        self._truth = truth

    @property
    def exact_accuracy(self) -> float:
        """Of brute force."""
        found = [self._task.items[row[0]].id for row in self._order]
        return 100 * float(np.mean([a == b for a, b in zip(found, self._task.right, strict=True)]))

    def run(self, distilled: Path | None) -> Iterator[Figures]:
        """All of them; distilled: a dual encoder that learned from the same cross-encoder."""
        search = self._settings["search"]
        for place, count in enumerate(self._settings["queries"]["anchors"]):
            with self._build("scores", count, 0) as index:
                if not place:  # what needs no anchors
                    for first in ("dense", "lexical", "hybrid"):
                        yield from self._measure(index, f"rerank {first}", 0, "rerank", first)
                    yield from self._measure(index, "axn", 0, "axn", search["first"])
                yield from self._measure_popular(count)
                for method in ("anncur", "adacur"):
                    yield from self._measure(index, method, count, method, search["first"])
            with self._build("sparse", count, search["sparse"]) as index:
                yield from self._measure(index, "axn fitted", count, "axn", search["first"])
        if distilled is not None:
            path = self._clear("distilled")
            with Retriever.create(path, distilled, views=["multi"]) as retriever:
                retriever.add(self._task.items)
                index = FactorisedIndex(retriever, self._scorer)
                yield from self._measure(index, "rerank distilled", 0, "rerank", "exact")

    def _build(self, name: str, count: int, sparse: int) -> FactorisedIndex:
        return FactorisedIndex.build(
            self._scorer,
            self._task.items,
            self._task.anchors[:count],
            self._clear(f"{name}-{count}"),
            anchor_items=self._settings["search"]["anchor_items"],
            seed=self._settings["seed"],
            model=self._settings["encoder"],
            sparse=sparse,
        )

    def _clear(self, name: str) -> Path:
        path = self._work / f"{name}.cur"
        shutil.rmtree(path, ignore_errors=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _measure(self, index: FactorisedIndex, name: str, anchors: int, method: str, first: str) -> Iterator[Figures]:
        task, most = self._task, self._settings["search"]["k"]
        for budget in self._settings["search"]["budgets"]:
            settings = CrossSearch(method=method, calls=budget, first=first)
            found = [index.search(query, max(most), settings=settings) for query in task.tests]
            places = {item.id: place for place, item in enumerate(task.items)}
            recall = {}
            for k in most:
                shares = [self._share(row, [places[id] for id in one.ids[:k]], k) for row, one in enumerate(found)]
                recall[k] = 100 * float(np.mean(shares))
            right = [one.ids[:1] == [gold] for one, gold in zip(found, task.right, strict=True)]
            calls = float(np.mean([one.calls for one in found]))
            yield Figures(name, anchors, budget, calls, recall, 100 * float(np.mean(right)))

    def _measure_popular(self, count: int) -> Iterator[Figures]:
        """The same items for every query: those with the highest mean of the anchor queries' scores, re-ranked."""
        anchors = self._task.anchors[:count]
        means = np.mean([self._scorer.score(query, self._texts) for query in anchors], axis=0)
        order = np.argsort(-means, kind="stable")
        for budget in self._settings["search"]["budgets"]:
            chosen = [row[np.isin(row, order[:budget])] for row in self._order]  # best first
            recall = {
                k: 100 * float(np.mean([self._share(row, one[:k].tolist(), k) for row, one in enumerate(chosen)]))
                for k in self._settings["search"]["k"]
            }
            pairs = zip(chosen, self._task.right, strict=True)
            right = [self._task.items[one[0]].id == gold for one, gold in pairs]
            yield Figures("rerank popular", count, budget, budget, recall, 100 * float(np.mean(right)))

    def _share(self, row: int, found: list[int], k: int) -> float:
        """Of the k best; an item whose score equals that of the last of them counts as one."""
        least = self._truth[row, self._order[row, min(k, len(self._order[row])) - 1]]
        return sum(self._truth[row, place] >= least for place in found) / min(k, len(self._order[row]))
