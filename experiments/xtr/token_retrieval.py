"""XTR's search as the paper has it: the exact k' best tokens for each query token, and nothing else of the documents.

The engine's own `xtr` looks into the probed lists alone, and limits the retrieved tokens only where the k'-th
similarity is imputed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from encoded_sets import EncodedSet, K

AT_ONCE = 8  # queries: more use the documents better that are read from memory


def measure_retrieval(encoded: EncodedSet, counts: list[int]) -> dict[str, float]:
    """nDCG@10 in hundredths by k' and imputation."""
    flat = torch.from_numpy(np.asarray(encoded.documents.flat, np.float32))
    owner = np.repeat(np.arange(len(encoded.documents)), np.diff(encoded.documents.offsets))
    runs: dict[str, list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]] = {}
    for first in range(0, len(encoded.queries), AT_ONCE):
        places = range(first, min(first + AT_ONCE, len(encoded.queries)))
        queries = [torch.from_numpy(np.asarray(encoded.queries[place], np.float32)) for place in places]
        rows = torch.cat(queries) @ flat.T
        for own in torch.split(rows, [len(query) for query in queries]):
            best = torch.topk(own, min(max(counts), len(flat)), dim=1)
            similarities, owners = best.values.numpy().astype(np.float64), owner[best.indices.numpy()]
            for count in counts:
                found = score_documents(similarities[:, :count], owners[:, :count])
                for imputation, scores in found.items():
                    runs.setdefault(f"k'={count} {imputation}", []).append(scores)
    return {
        label: encoded.judge([ids for ids, _ in rows], [scores for _, scores in rows]) for label, rows in runs.items()
    }


def score_documents(
    similarities: npt.NDArray[np.float64], owners: npt.NDArray[np.int64]
) -> dict[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]:
    """Retrieved similarities (n, k'), best first, and their documents (n, k') -> by imputation, the K best and scores.

    kth: a document in which a query token retrieved nothing gets its k'-th similarity; zero: 0. none: the mean over the
    query tokens that retrieved something there, as in training.
    """
    candidates, places = np.unique(owners, return_inverse=True)
    best = np.full((len(owners), len(candidates)), np.nan)
    tokens = np.arange(len(owners))[:, None]
    np.fmax.at(best, (tokens, places.reshape(owners.shape)), similarities)
    scores = {
        "kth": np.where(np.isnan(best), similarities[:, -1:], best).mean(axis=0),
        "zero": np.nan_to_num(best).mean(axis=0),
        "none": np.nanmean(best, axis=0),
    }
    order = {imputation: np.argsort(-values, kind="stable")[:K] for imputation, values in scores.items()}
    return {imputation: (candidates[chosen], scores[imputation][chosen]) for imputation, chosen in order.items()}
