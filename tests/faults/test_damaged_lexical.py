"""A lexical segment whose files were changed: DamagedIndex or finite answers, never a crash."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from asterism.errors import DamagedIndex
from asterism.views.lexical.bm25 import Bm25
from asterism.views.lexical.merge import merge_lexical
from asterism.views.lexical.searcher import LexicalSearcher
from asterism.views.lexical.segment import open_lexical
from asterism.views.lexical.writer import write_lexical
from tests.lexical_corpora import hurried, make_entries

FLIPS = 25  # in each file
BM25 = Bm25(0.9, 0.75, 9.5)


def test_flipped_bytes_never_crash(tmp_path: Path) -> None:
    entries = make_entries(500, 20, 60, 1000, counts=True)
    facts = write_lexical(tmp_path / "x", entries, BM25)
    queries = make_entries(20, 10, 60, 1000, seed=1)
    rng = np.random.default_rng(0)
    raised = merges = 0
    for name in facts.files:
        file = tmp_path / "x" / name
        content = file.read_bytes()
        for flip in range(FLIPS):
            damaged = np.frombuffer(content, np.uint8).copy()
            # The header is compared when a file is opened, so most flips hit the data after it.
            places = rng.integers(0 if flip < 5 else 128, len(content), 1 + flip % 4)
            damaged[places] ^= rng.integers(1, 256, len(places), dtype=np.uint8)
            file.write_bytes(damaged.tobytes())
            try:
                opened = open_lexical(tmp_path / "x", facts)
                searcher = LexicalSearcher(tmp_path, [opened])
                for eligible in (None, np.arange(500) % 3 != 0):
                    ids, scores = searcher.search(queries, 10, eligible)
                    assert ((ids >= -1) & (ids < 500)).all()
                    assert np.isfinite(scores[ids >= 0]).all()
                terms, weights = queries[0]
                assert np.isfinite(searcher.scores((terms, weights), np.arange(500))).all()
                assert (searcher.frequencies(terms) <= facts.postings).all()
                assert (opened.read_lengths() >= 0).all()
                with hurried():
                    merge_lexical(tmp_path / f"merged-{merges}", [(opened, np.ones(500, bool))], BM25)
                merges += 1
            except DamagedIndex:
                raised += 1
        file.write_bytes(content)
    assert raised > FLIPS
