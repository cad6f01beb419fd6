"""Which document tokens a query token retrieves, by exact search over the model's own vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from encoded_sets import EncodedSet
from plots import Plot, draw_plots

from asterism import load_encoder


def analyse_tokens(encoded: EncodedSet, model: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """P(gold | rank) and P(lexical | rank) (ranks,), and the operations that scoring the candidates takes."""
    encoder = load_encoder(model)
    test, vectors = encoded.test, encoded.documents
    pieces = np.array([span.token for one in test.documents for span in encoder.document_spans(one.full_text)])
    owner = np.repeat(np.arange(len(test.documents)), np.diff(vectors.offsets))
    ids = [document.id for document in test.documents]
    flat, ranks = np.asarray(vectors.flat, np.float32), settings["ranks"]
    gold, lexical, candidates, vectors_scored, retrieved = np.zeros(ranks), np.zeros(ranks), 0, 0, 0
    tokens = 0
    asked = list(test.queries.items())[: settings["queries"]]
    for place, (name, text) in enumerate(asked):
        query = encoded.queries[place]
        spans = encoder.query_spans(text)
        relevant = np.isin(ids, [id for id, grade in test.judgements[name].items() if grade > 0])
        found = set()
        for vector, span in zip(np.asarray(query, np.float32), spans, strict=True):
            scores = flat @ vector
            best = np.argpartition(-scores, ranks)[:ranks]
            best = best[np.argsort(-scores[best], kind="stable")]
            gold += relevant[owner[best]]
            lexical += pieces[best] == span.token
            found |= set(owner[best].tolist())
            tokens += 1
            retrieved += ranks
        candidates += len(found)
        vectors_scored += len(spans) * int(np.diff(vectors.offsets)[list(found)].sum())
    width, count = flat.shape[1], len(asked)
    return {
        "gold": (gold / tokens).tolist(),
        "lexical": (lexical / tokens).tolist(),
        "retrieved": ranks,
        # MaxSim: for each query token and each vector of a candidate, d products, d sums and a comparison.
        "maxsim": vectors_scored * (2 * width + 1) / count,
        # XTR: a comparison for each retrieved token, and a sum for each query token and candidate.
        "xtr": (retrieved + candidates * tokens / count) / count,
    }


def draw_tokens(tokens: dict[str, Any], to: Path) -> None:
    """Both shares by rank, for each model."""
    titles = {"gold": "of a relevant document", "lexical": "with the same letters"}
    plots = [
        Plot(
            f"P(retrieved token is {title})",
            "rank",
            {f"trained as {name}": (range(1, len(found[kind]) + 1), found[kind]) for name, found in tokens.items()},
            from_zero=True,
        )
        for kind, title in titles.items()
    ]
    draw_plots(plots, to)
