"""The whole search in NumPy, stage by stage: slow, but what the engine must return (native/tokens/engine.hpp)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import reference as kernels
from .reference import Bytes, CodeFormat, Floats, SharedDirection

Ids = npt.NDArray[np.int64]

LEAST, STEP = 64, 32  # documents refined before the first check whether to stop, and between two checks


@dataclass(frozen=True)
class StoredTokens:
    """The contents of an index, all segments one after the other.

    centroid_rows (K + 1, width), centroid_scales (K + 1,) · signs (rounds, d) · shared: mean and stretch ·
    offsets (D + 1,) · centroids (T,) · stored (T, bytes) codes with scales (T,), or (T, d) floats · fine (T, d) or None
    """

    format: CodeFormat
    centroid_rows: Bytes
    centroid_scales: Floats
    signs: Floats
    shared: SharedDirection
    offsets: Ids
    centroids: npt.NDArray[np.uint32]
    stored: npt.NDArray[np.generic]
    scales: npt.NDArray[np.float16] | None
    fine: npt.NDArray[np.float16] | None


@dataclass(frozen=True)
class Plan:
    """Search settings without defaults; names as in TokenSearch."""

    method: str
    probes: int
    candidates: int
    refine: int
    confidence: float
    rescore: int
    imputation: str
    retrieved: int
    cluster_tokens: int
    length_penalty: float


class ReferenceSearch:
    """One search for one query."""

    def __init__(self, index: StoredTokens, query: Floats, plan: Plan, eligible: npt.NDArray[np.bool_]) -> None:
        """`eligible` (D,): which documents count."""
        self.index, self.query, self.plan = index, query, plan
        self.documents = np.flatnonzero(eligible)
        balanced, with_mean = kernels.balance_queries(query, index.shared)
        self.bytes = kernels.to_signed_bytes(kernels.rotate(balanced, index.signs), index.centroid_rows.shape[1])
        self.table = kernels.centroid_scores(index.centroid_rows, index.centroid_scales, self.bytes) + with_mean

    @property
    def centroids(self) -> int:
        """K, the number of centroids."""
        return len(self.table) - 1

    def search(self, k: int) -> tuple[Ids, Floats]:
        """The k best documents; if a method finds fewer, it probes more lists, at last all."""
        wanted = min(k, len(self.documents))
        probes = self.plan.probes
        while True:
            documents, scores = self._score(probes, k)
            if len(documents) >= wanted or probes >= self.centroids or self.plan.method == "exact":
                break
            probes = min(4 * probes, self.centroids)
        missing = np.setdiff1d(self.documents, documents)[: wanted - len(documents)]
        return np.concatenate([documents, missing]), np.append(scores, np.full(len(missing), -np.inf, np.float32))

    def _score(self, probes: int, k: int) -> tuple[Ids, Floats]:
        if self.plan.method == "xtr":
            return _find_best(*self.retrieve_tokens(probes), k)
        if self.plan.method == "exact":
            return _find_best(self.documents, self.compute_maxsim(self.documents, fine=self.index.fine is not None), k)
        keep = k if self.index.fine is None else self.plan.rescore
        documents, scores = self.refine(*self.estimate(probes), keep)
        if self.index.fine is None:
            return documents, scores
        return _find_best(documents, self.compute_maxsim(documents, fine=True), k)

    def slice_tokens(self, document: int | np.signedinteger) -> slice:
        """The places of the document's tokens."""
        return slice(int(self.index.offsets[document]), int(self.index.offsets[document + 1]))

    def compute_penalties(self, documents: Ids) -> Floats:
        """(n,) what the documents' scores are reduced by for their lengths."""
        lengths = np.diff(self.index.offsets)[documents].tolist()
        penalty = self.plan.length_penalty
        return np.array([kernels.penalise_length(len(self.query), n, penalty) for n in lengths], np.float32)

    def probe(self, query_token: int, count: int) -> Ids:
        """(count,) the best centroids of a query token, best first, ties by number."""
        return np.argsort(-self.table[:-1, query_token], kind="stable")[:count]

    def estimate(self, probes: int) -> tuple[Ids, Floats]:
        """The candidates for MaxSim with their centroid interaction, best first."""
        low = self.table[-1]
        top = np.float32(max(0, (self.table[:-1].max(axis=0) - low).max()))
        factor = np.float32(255) / top if top > np.float32(1e-30) else np.float32(0)
        unit = np.float32(1) / factor if factor > 0 else np.float32(0)
        table = kernels.to_bytes(self.table[:-1], low, factor)
        documents = self.documents
        if len(documents) > self.plan.candidates:
            documents = self._gather_candidates(table, unit, probes)
        documents = documents[np.diff(self.index.offsets)[documents] > 0]
        totals = np.array(
            [kernels.interaction(table, self.index.centroids[self.slice_tokens(d)]) for d in documents], int
        )
        estimates = totals.astype(np.float32) * unit - self.compute_penalties(documents)
        return _find_best(documents, estimates, self.plan.refine)

    def refine(self, documents: Ids, estimates: Floats, keep: int) -> tuple[Ids, Floats]:
        """MaxSim, best estimates first, until the others are unlikely to reach the best `keep`."""
        scores = np.empty(0, np.float32)
        total = squares = 0.0
        while len(scores) < len(documents):
            done = len(scores)
            following = slice(done, done + (LEAST if done == 0 else STEP))
            scores = np.append(scores, self.compute_maxsim(documents[following], fine=False))
            for gain in (scores[following].astype(np.float64) - estimates[following]).tolist():
                total += gain
                squares += gain * gain
            done = len(scores)
            if done == len(documents) or done < keep:
                continue
            mean = total / done
            deviation = math.sqrt(max(0.0, squares / done - mean * mean))
            hoped = float(estimates[done]) + mean + self.plan.confidence * deviation
            if hoped < float(np.sort(scores)[-keep]):
                break
        return _find_best(documents[: len(scores)], scores, keep)

    def _gather_candidates(self, table: Bytes, unit: np.float32, probes: int) -> Ids:
        totals = np.zeros(len(self.index.offsets) - 1, np.int64)
        touched = np.zeros(len(totals), bool)
        for j in range(len(self.query)):
            lists = self.probe(j, probes)
            gain = np.zeros(self.centroids, np.int64)
            gain[lists] = table[lists, j].astype(np.int64) - int(table[lists[-1], j])
            is_probed = np.zeros(self.centroids, bool)
            is_probed[lists] = True
            for document in self.documents:
                ids = self.index.centroids[self.slice_tokens(document)]
                hit = ids[is_probed[ids]]
                if len(hit):
                    touched[document] = True
                    totals[document] += gain[hit].max()
        found = np.flatnonzero(touched)
        estimates = totals[found].astype(np.float32) * unit - self.compute_penalties(found)
        return _find_best(found, estimates, self.plan.candidates)[0]

    def compare_tokens(self, tokens: slice, fine: bool) -> Floats:
        """Similarities (n, q) of consecutive tokens."""
        index = self.index
        if fine and index.fine is not None:
            return kernels.compare_floats(index.fine[tokens], self.query)
        if index.scales is None:
            return kernels.compare_floats(index.stored[tokens], self.query)  # type: ignore[arg-type]
        rows = self.table[index.centroids[tokens]]
        codes: Bytes = index.stored[tokens].astype(np.uint8)
        return kernels.compare_codes(codes, index.scales[tokens], rows, index.format, self.bytes)

    def compute_maxsim(self, documents: Ids, fine: bool) -> Floats:
        """(n,) Σ over query tokens of the maximum over the document's tokens, less the penalty for its length."""
        scores = np.empty(len(documents), np.float32)
        for i, document in enumerate(documents):
            best = self.compare_tokens(self.slice_tokens(document), fine).max(axis=0, initial=-np.inf)
            scores[i] = _sum_in_order(best)
        return scores - self.compute_penalties(documents)

    def retrieve_tokens(self, probes: int) -> tuple[Ids, Floats]:
        """XTR: the best retrieved similarity of each query token in each document, the rest imputed."""
        plan = self.plan
        total_tokens = np.bincount(self.index.centroids, minlength=self.centroids)
        best = np.full((len(self.query), len(self.index.offsets) - 1), -np.inf, np.float32)
        imputed = np.zeros(len(self.query), np.float32)
        for j in range(len(self.query)):
            is_probed = np.zeros(self.centroids, bool)
            is_probed[self.probe(j, probes)] = True
            kept = [np.empty(0, np.float32)]
            for document in self.documents:
                tokens = self.slice_tokens(document)
                found = self.compare_tokens(tokens, False)[is_probed[self.index.centroids[tokens]], j]
                kept.append(found)
                best[j, document] = found.max(initial=-np.inf)
            similarities = np.sort(np.concatenate(kept))[::-1]
            if plan.imputation == "kth" and len(similarities):
                imputed[j] = similarities[min(plan.retrieved, len(similarities)) - 1]
                best[j] = np.where(best[j] > -np.inf, np.maximum(best[j], imputed[j]), -np.inf)
            if plan.imputation == "cluster":
                order = self.probe(j, self.centroids)
                reached = int(np.searchsorted(np.cumsum(total_tokens[order]), plan.cluster_tokens))
                imputed[j] = self.table[order[min(reached, len(order) - 1)], j]
        prefix = np.zeros(len(self.query) + 1, np.float32)
        for j, value in enumerate(imputed):
            prefix[j + 1] = prefix[j] + value
        found_documents = np.flatnonzero((best > -np.inf).any(axis=0))
        scores = np.array([self._sum_imputed(best[:, d], prefix) for d in found_documents], np.float32)
        return found_documents, scores - self.compute_penalties(found_documents)

    def _sum_imputed(self, best: Floats, prefix: Floats) -> np.float32:
        total, following = np.float32(0), 0
        for j in np.flatnonzero(best > -np.inf):
            if following < j:
                total += prefix[j] - prefix[following]
            total += best[j]
            following = int(j) + 1
        if following < len(best):
            total += prefix[len(best)] - prefix[following]
        if self.plan.imputation == "none":
            total = total / np.float32((best > -np.inf).sum()) * np.float32(len(best))
        return np.float32(total)


def _sum_in_order(values: Floats) -> np.float32:
    total = np.float32(0)
    for value in values:
        total = total + value
    return total


def _find_best(documents: Ids, scores: npt.NDArray[np.generic], count: int) -> tuple[Ids, Floats]:
    """The `count` best, best first, ties by document."""
    order = np.lexsort((documents, -scores.astype(np.float64)))[:count]
    return documents[order], scores[order].astype(np.float32)
