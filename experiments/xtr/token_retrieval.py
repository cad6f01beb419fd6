"""XTR's search as the paper has it: the exact k' best tokens for each query token, and nothing else of the documents.

The engine's own `xtr` looks into the probed lists alone, and limits the retrieved tokens only where the k'-th
similarity is imputed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from encoded_sets import EncodedSet, K

IMPUTATIONS = ("kth", "zero", "none")


def measure_retrieval(encoded: EncodedSet, counts: list[int]) -> dict[str, float]:
    """nDCG@10 in hundredths by k' and imputation."""
    flat = torch.from_numpy(np.asarray(encoded.documents.flat, np.float32))
    owner = np.repeat(np.arange(len(encoded.documents)), np.diff(encoded.documents.offsets))
    runs: dict[str, list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]] = {}
    for place in range(len(encoded.queries)):
        query = torch.from_numpy(np.asarray(encoded.queries[place], np.float32))
        best = torch.topk(query @ flat.T, min(max(counts), len(flat)), dim=1)
        similarities, owners = best.values.numpy().astype(np.float64), owner[best.indices.numpy()]
        for count in counts:
            for imputation in IMPUTATIONS:
                scores = score_documents(similarities[:, :count], owners[:, :count], imputation)
                runs.setdefault(f"k'={count} {imputation}", []).append(scores)
    return {
        label: encoded.judge([ids for ids, _ in rows], [scores for _, scores in rows]) for label, rows in runs.items()
    }


def score_documents(
    similarities: npt.NDArray[np.float64], owners: npt.NDArray[np.int64], imputation: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Retrieved similarities (n, k'), best first, and their documents (n, k') -> the K best documents and scores.

    kth: a document in which a query token retrieved nothing gets its k'-th similarity; zero: 0. none: the mean over the
    query tokens that retrieved something there, as in training.
    """
    candidates, places = np.unique(owners, return_inverse=True)
    places = places.reshape(owners.shape)
    scores, found = np.zeros(len(candidates)), np.zeros(len(candidates))
    for row, at in zip(similarities, places, strict=True):
        here, first = np.unique(at, return_index=True)  # the first is the best
        missing = row[-1] if imputation == "kth" else 0.0
        scores += missing
        scores[here] += row[first] - missing
        found[here] += 1
    scores /= found if imputation == "none" else len(similarities)
    order = np.argsort(-scores, kind="stable")[:K]
    return candidates[order], scores[order]
