"""Dense segments, flat and as a graph, against brute force over the stored vectors; and what damage does to them."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest

from asterism import Collection, Document, Representations, SearchHits, Views
from asterism.errors import DamagedIndex, IndexFolderError, SettingError, VectorsError
from asterism.storage import arrays
from asterism.views.dense import choice as dense_choice
from asterism.views.dense import graph as dense_graph
from asterism.views.dense import searcher as dense_searcher
from asterism.views.dense import segment as dense_segment
from asterism.views.dense.searcher import DenseSearcher
from asterism.views.dense.segment import VECTORS, DenseFacts, OpenDense, merge_dense, open_dense, write_dense

D = 16
SIZES = (90, 1, 40)

Opened = Callable[..., DenseSearcher]


@pytest.fixture(params=["flat", "graph", "both"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Segments of given sizes; a graph is always explored, though these are so small that comparing all is faster."""
    many = {"flat": 10**9, "graph": 1, "both": 50}[request.param]
    monkeypatch.setattr(dense_segment, "MANY", many)
    monkeypatch.setattr(dense_choice, "STEP", 0)
    monkeypatch.setattr(dense_choice, "COPIED", 5)

    def searcher(vectors: np.ndarray, sizes: tuple[int, ...] = SIZES) -> DenseSearcher:
        segments = [
            segment_of(tmp_path / str(i), rows) for i, rows in enumerate(np.split(vectors, np.cumsum(sizes)[:-1]))
        ]
        return DenseSearcher(tmp_path, segments)

    return searcher


def segment_of(path: Path, rows: np.ndarray) -> OpenDense:
    return open_dense(path, write_dense(path, [rows], len(rows), rows.shape[1], 1))


def normal(rows: int, seed: int = 0, d: int = D) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, d)).astype(np.float32)


def frozen(mask: np.ndarray) -> np.ndarray:
    mask.setflags(write=False)
    return mask


def assert_exact(hits: SearchHits, vectors: np.ndarray, queries: np.ndarray, k: int, mask: Any = None) -> None:
    """As many as there are, with their own scores, which are the best; of equal ones the first document first."""
    counts = np.ones(len(vectors), bool) if mask is None else mask
    truth = queries.astype(np.float64) @ vectors.astype(np.float16).astype(np.float64).T
    for ids, scores, row in zip(hits.ids, hits.scores, truth, strict=True):
        wanted = min(k, int(counts.sum()))
        assert (ids[wanted:] == -1).all()
        assert (scores[wanted:] == -np.inf).all()
        ids, scores = ids[:wanted], scores[:wanted]
        assert len(set(ids.tolist())) == wanted
        assert counts[ids].all()
        tolerance = {"rtol": 1e-5, "atol": 1e-6 * max(1.0, np.abs(row).max())}
        np.testing.assert_allclose(scores, row[ids], **tolerance)
        np.testing.assert_allclose(scores, np.sort(row[counts])[::-1][:wanted], **tolerance)
        assert np.array_equal(np.lexsort((ids, -scores)), np.arange(wanted))


def same(first: SearchHits, second: SearchHits) -> bool:
    return np.array_equal(first.ids, second.ids) and np.array_equal(first.scores, second.scores)


@pytest.mark.parametrize("k", [1, 7, 60, 500])
@pytest.mark.parametrize("share", [None, 1.0, 0.9, 0.5, 0.1, 0.02, 0.0])
def test_equals_brute_force(opened: Opened, k: int, share: float | None) -> None:
    vectors, queries = normal(sum(SIZES)), normal(4, 1)
    mask = None if share is None else np.random.default_rng(2).random(len(vectors)) < share
    assert_exact(opened(vectors).search(queries, k, mask), vectors, queries, k, mask)


def test_a_segment_none_of_whose_documents_count(opened: Opened) -> None:
    vectors, queries = normal(sum(SIZES)), normal(2, 1)
    searcher = opened(vectors)
    for a, b in ((0, 90), (90, 91), (91, 131), (0, 91)):
        mask = np.ones(len(vectors), bool)
        mask[a:b] = False
        assert_exact(searcher.search(queries, 200, mask), vectors, queries, 200, mask)


@pytest.mark.parametrize("lengths", ["equal", "short and long", "tiny", "largest"])
def test_vectors_of_any_length(opened: Opened, lengths: str) -> None:
    vectors = normal(sum(SIZES))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if lengths == "short and long":
        vectors *= np.geomspace(0.01, 100, len(vectors), dtype=np.float32)[:, None]
    if lengths == "tiny":
        vectors *= np.float32(1e-6)  # below the normal numbers of float16
    if lengths == "largest":
        vectors = np.sign(vectors) * np.float32(65504)
    queries = normal(3, 1)
    assert_exact(opened(vectors).search(queries, 200), vectors, queries, 200)


def test_ties_and_zero_vectors(opened: Opened) -> None:
    vectors = np.repeat(normal(3), [50, 50, 31], axis=0)
    vectors[20:60] = 0
    searcher = opened(vectors)
    for query in (normal(1, 1), vectors[:1], np.zeros((1, D), np.float32)):
        hits = searcher.search(query, 200)
        assert_exact(hits, vectors, query, 200)
        assert_exact(searcher.search(query, 10), vectors, query, 10)


def test_scores_are_those_of_the_search_to_the_bit(opened: Opened) -> None:
    searcher, query = opened(normal(sum(SIZES))), normal(1, 1)
    hits = searcher.search(query, 20)
    for ids, scores in zip(hits.ids[0], hits.scores[0], strict=True):
        assert searcher.scores(query[0], np.array([ids])) == scores
    rising = np.sort(hits.ids[0])
    assert np.array_equal(searcher.scores(query[0], rising), hits.scores[0][np.argsort(hits.ids[0])])
    assert searcher.scores(query[0], np.empty(0, np.int64)).shape == (0,)


def test_one_query_and_many_give_the_same(opened: Opened) -> None:
    searcher, queries = opened(normal(sum(SIZES))), normal(30, 1)
    mask = frozen(np.random.default_rng(2).random(sum(SIZES)) < 0.6)
    for subset in (None, mask):
        many = searcher.search(queries, 10, subset)
        assert same(many, searcher.search(queries, 10, subset, threads=4))
        assert same(many, searcher.search(queries.copy("F"), 10, subset))
        for i in range(len(queries)):
            one = searcher.search(queries[i : i + 1], 10, subset)
            assert np.array_equal(one.ids[0], many.ids[i])
            assert np.array_equal(one.scores[0], many.scores[i])
    assert searcher.search(queries[:0], 10).ids.shape[0] == 0


def test_a_mask_that_changes_is_seen_and_one_that_cannot_is_made_ready_once(opened: Opened) -> None:
    vectors, query = normal(sum(SIZES)), normal(1, 1)
    searcher = opened(vectors)
    mask = np.ones(len(vectors), bool)
    for _ in range(3):
        best = searcher.search(query, 5, mask).ids[0]
        assert_exact(searcher.search(query, 5, mask), vectors, query, 5, mask)
        mask[best] = False
    masks = [frozen(np.random.default_rng(i).random(len(vectors)) < 0.4) for i in range(3 * dense_searcher.KEPT)]
    for _ in range(2):
        for one in masks:
            assert_exact(searcher.search(query, 5, one), vectors, query, 5, one)
            assert searcher._chosen(one) is searcher._chosen(one)
    assert len(searcher._ready) == dense_searcher.KEPT


def test_searches_of_several_threads_at_once(opened: Opened) -> None:
    """From the very first, for which the index is made."""
    vectors, queries = normal(sum(SIZES)), normal(8, 1)
    masks = [None, *(frozen(np.random.default_rng(i).random(len(vectors)) < 0.5) for i in range(12))]
    searcher = opened(vectors)
    start = threading.Barrier(6)
    wrong: list[object] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        start.wait()
        try:
            for _ in range(15):
                mask, k = masks[rng.integers(len(masks))], int(rng.integers(1, 30))
                assert_exact(searcher.search(queries, k, mask, 1 + seed % 2), vectors, queries, k, mask)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_graph_that_leads_to_too_few_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only documents far from the query count, and the search looks no further than the nearest."""
    for module, name, value in ((dense_segment, "MANY", 1), (dense_choice, "STEP", 0), (dense_choice, "EXPLORED", 1)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(dense_choice, "WIDER", 0)
    monkeypatch.setattr(dense_choice, "COPIED", 0)
    vectors = normal(400)
    query = vectors[:1]
    mask = np.zeros(400, bool)
    mask[np.argsort(vectors @ query[0])[:15]] = True
    searcher = DenseSearcher(tmp_path, [segment_of(tmp_path / "x", vectors)])
    index = searcher.segments[0].index()
    bits = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
    assert (index.search(query, 10, params=faiss.SearchParametersHNSW(efSearch=1, sel=bits))[1] == -1).any()
    assert_exact(searcher.search(query, 10, mask), vectors, query, 10, mask)


@pytest.mark.parametrize(
    ("k", "count", "documents", "expected"),
    [
        (10, 54_615, 54_615, False),
        (10, 27_000, 54_615, False),
        (10, 5_400, 54_615, True),
        (1_000, 54_615, 54_615, True),
        (100, 10**6, 10**6, False),
        (10, 10**6, 10**7, False),
        (10, 1, 10**7, True),
        (10**6, 10**7, 10**7, True),
    ],
)
def test_all_are_compared_where_the_graph_would_be_slower(k: int, count: int, documents: int, expected: bool) -> None:
    assert dense_choice.compares_all(k, count, documents) == expected


def test_what_cannot_be_searched_is_refused(opened: Opened) -> None:
    searcher = opened(normal(sum(SIZES)))
    good = normal(1, 1)
    for value in (np.nan, np.inf, -np.inf, 1e20):
        bad = good.copy()
        bad[0, 3] = value
        with pytest.raises(VectorsError, match="row 0 has NaN"):
            searcher.search(bad, 5)
    with pytest.raises(VectorsError, match="has 15 dimensions, the index has 16"):
        searcher.search(good[:, :15], 5)
    with pytest.raises(VectorsError, match="expected \\(vectors, dimensions\\)"):
        searcher.search(good[0], 5)
    with pytest.raises(VectorsError, match="expected float32 or float16"):
        searcher.search(good.astype(np.float64), 5)
    for k in (0, -1, 2.5, True):
        with pytest.raises(SettingError, match="k"):
            searcher.search(good, k)
    for threads in (0, 10**6):
        with pytest.raises(SettingError, match="threads"):
            searcher.search(good, 5, threads=threads)


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "row 7 has NaN"), (np.inf, "row 7 has NaN"), (65_520, "row 7 is beyond float16"), (1e20, "row 7")],
)
def test_what_cannot_be_stored_is_refused(tmp_path: Path, value: float, message: str) -> None:
    rows = normal(10)
    rows[7, 2] = value
    with pytest.raises(VectorsError, match=message):
        write_dense(tmp_path / "x", [rows[:4], rows[4:]], 10, D, 1)


@pytest.mark.parametrize("rows", [normal(10, d=D + 1), normal(10)[0], normal(10)[None]])
def test_wrong_shapes_are_refused(tmp_path: Path, rows: np.ndarray) -> None:
    with pytest.raises(VectorsError, match=r"expected \(documents, 16\)"):
        write_dense(tmp_path / "x", [rows], 10, D, 1)


@pytest.mark.parametrize("many", [10**9, 1], ids=["flat", "graph"])
def test_merging_keeps_rows_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr(dense_segment, "MANY", many)
    monkeypatch.setattr(dense_segment, "CHUNK_ROWS", 7)
    rows = normal(60).astype(np.float16)
    rows[:4, 0] = 65504, -65504, 2.0**-24, -0.0
    alive = np.random.default_rng(1).random(60) < 0.7
    alive[40:50] = False
    cuts = [0, 25, 40, 50, 60]
    parts = [segment_of(tmp_path / str(a), rows[a:b]) for a, b in pairwise(cuts)]
    masks = [alive[a:b] for a, b in pairwise(cuts)]
    facts = merge_dense(tmp_path / "merged", list(zip(parts, masks, strict=True)), 1)
    merged = open_dense(tmp_path / "merged", facts)
    assert merged.has_graph == (many == 1)
    assert np.array_equal(merged.vectors.view(np.uint16), rows[alive].view(np.uint16))
    query = normal(1, 1)
    assert_exact(DenseSearcher(tmp_path, [merged]).search(query, 9), rows[alive], query, 9)


def forged(path: Path, facts: DenseFacts, name: str, change: Callable[[np.ndarray], None]) -> OpenDense:
    """The segment with an array changed, of the right size; its checksum is not looked at here."""
    file = path / f"{name}.npy"
    values = np.load(file)
    change(values)
    header = file.read_bytes()[: -values.nbytes]
    file.write_bytes(header + values.tobytes())
    return open_dense(path, facts)


FORGERIES: dict[str, tuple[str, Callable[[np.ndarray], None]]] = {
    "a document that is not there": ("neighbours", lambda values: values.__setitem__(3, len(values))),
    "a negative document": ("neighbours", lambda values: values.__setitem__(3, -2)),
    "another layer": ("neighbours", lambda values: values.__setitem__(slice(None), 7)),
    "no layer": ("levels", lambda values: values.__setitem__(0, 0)),
    "a high layer": ("levels", lambda values: values.__setitem__(0, 255)),
    "one layer more": ("levels", lambda values: values.__setitem__(0, values[0] + 1)),
    "layers swapped": ("levels", lambda values: values.__setitem__(slice(None), values[::-1].copy())),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_faiss_never_sees_a_forged_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgery: str) -> None:
    monkeypatch.setattr(dense_segment, "MANY", 1)
    facts = segment_of(tmp_path / "x", normal(400)).facts
    name, change = FORGERIES[forgery]
    with pytest.raises(DamagedIndex, match="has a graph"):
        forged(tmp_path / "x", facts, name, change).index()


def test_a_graph_begins_at_its_top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_segment, "MANY", 1)
    segment = segment_of(tmp_path / "x", normal(400))
    low = int(np.argmin(segment.graph.levels))
    with pytest.raises(DamagedIndex, match="begins below its top"):
        replace(segment.graph, entry=low).index(segment.vectors)


def test_a_graph_is_the_one_that_faiss_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_segment, "MANY", 1)
    rows = normal(700)
    made = faiss.IndexHNSWSQ(D, faiss.ScalarQuantizer.QT_fp16, dense_graph.LINKS, faiss.METRIC_INNER_PRODUCT)
    made.hnsw.efConstruction = dense_graph.EXPLORED_TO_BUILD
    faiss.omp_set_num_threads(1)
    made.add(rows.astype(np.float16).astype(np.float32))
    stored = segment_of(tmp_path / "x", rows).index()
    queries = normal(20, 5)
    assert np.array_equal(made.search(queries, 10)[1], stored.search(queries, 10)[1])
    assert stored.ntotal == 700


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_no_numbers_are_damage(tmp_path: Path, value: float) -> None:
    facts = segment_of(tmp_path / "x", normal(30)).facts
    segment = forged(tmp_path / "x", facts, "vectors", lambda values: values.__setitem__(slice(None), value))
    with pytest.raises(DamagedIndex, match="NaN or infinity"):
        DenseSearcher(tmp_path, [segment]).search(normal(1), 5)


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch, room: int) -> Iterator[None]:
    """Arrays take so many bytes, and no more."""
    write = arrays.ArrayWriter.write

    def writes(self: arrays.ArrayWriter, values: np.ndarray) -> None:
        nonlocal room
        room -= values.nbytes
        if room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, values)

    with monkeypatch.context() as patch:
        patch.setattr(arrays.ArrayWriter, "write", writes)
        yield


def put(collection: Collection, rows: np.ndarray, name: str) -> None:
    documents = [Document(f"{name}{i}", "text") for i in range(len(rows))]
    with collection.writing() as writer:
        writer.add(documents, Representations(len(rows), rows))


def test_a_full_disk_leaves_the_collection_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_segment, "MANY", 1)
    collection = Collection.create(tmp_path / "x", Views(dense=True), {})
    put(collection, normal(30), "a")
    for room in (0, 500, 1500):
        with full_disk(monkeypatch, room), pytest.raises(IndexFolderError, match="No space left"):
            put(collection, normal(30), "b")
    collection.check()
    assert len(list(tmp_path.glob("x/segment-*"))) == 1
    put(collection, normal(30), "b")
    assert collection.snapshot().dense.documents == 60


@pytest.mark.parametrize("many", [10**9, 1], ids=["flat", "graph"])
def test_damaged_vectors_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr(dense_segment, "MANY", many)
    collection = Collection.create(tmp_path / "x", Views(dense=True), {})
    put(collection, normal(30), "a")
    (file,) = (tmp_path / "x").glob(f"segment-*/dense/{VECTORS}")
    whole = file.read_bytes()
    collection.check()
    rng = np.random.default_rng(0)
    for place in [0, len(whole) - 1, *rng.integers(len(whole), size=40).tolist()]:
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(changed)
        with pytest.raises(DamagedIndex):
            collection.check()
    for size in (0, 64, len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(DamagedIndex):
            collection.check()
    file.write_bytes(whole)
    collection.check()


def test_a_commit_keeps_what_faiss_has_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_segment, "MANY", 1)
    collection = Collection.create(tmp_path / "x", Views(dense=True), {})
    put(collection, normal(30), "a")
    before = collection.snapshot()
    index = before.dense.segments[0].index()
    with collection.writing() as writer:
        writer.delete(["a3"])
    put(collection, normal(5), "b")
    after = collection.snapshot()
    assert after.dense is not before.dense
    assert after.dense.segments[0].index() is index
    assert not after.alive.flags.writeable
