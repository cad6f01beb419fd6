"""The adapter inside mteb itself, on a task that is made here: mteb's measures against ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asterism import Document, Retriever
from asterism.errors import InputError, SettingError
from asterism.evaluation.metrics import measure
from tests import layouts

mteb = pytest.importorskip("mteb", reason="mteb is not installed")
pytestmark = pytest.mark.reference

from datasets import Dataset  # noqa: E402
from mteb.abstasks import AbsTaskRetrieval  # noqa: E402
from mteb.abstasks.task_metadata import TaskMetadata  # noqa: E402
from mteb.models import SearchProtocol  # noqa: E402

from asterism.adapters.mteb import AsterismSearch  # noqa: E402


def words(rng: np.random.Generator, least: int, most: int) -> str:
    return " ".join(rng.choice(layouts.WORDS, int(rng.integers(least, most))))


def made() -> tuple[list[dict], list[dict], dict[str, dict[str, int]], dict[str, list[str]]]:
    """Corpus, queries, judgements, candidates; the instruction is to be ignored."""
    rng = np.random.default_rng(0)
    corpus = [{"id": f"d{i}", "title": words(rng, 0, 3), "text": words(rng, 2, 9)} for i in range(60)]
    queries = [{"id": f"q{i}", "text": words(rng, 2, 5), "instruction": words(rng, 5, 6)} for i in range(12)]
    qrels, candidates = {}, {}
    for query in queries:
        some = [f"d{i}" for i in rng.choice(60, 15, replace=False)]
        qrels[query["id"]] = {id: int(grade) for id, grade in zip(some[:4], rng.integers(1, 4, 4), strict=True)}
        candidates[query["id"]] = some
    return corpus, queries, qrels, candidates


CORPUS, QUERIES, QRELS, CANDIDATES = made()


def task(reranking: bool = False) -> AbsTaskRetrieval:
    class Made(AbsTaskRetrieval):
        metadata = TaskMetadata(
            name="MadeReranking" if reranking else "MadeRetrieval",
            description="made in a test",
            type="Reranking" if reranking else "Retrieval",
            dataset={"path": "made/here", "revision": "1"},
            eval_splits=["test"],
            category="t2t",
            eval_langs=["eng-Latn"],
            main_score="ndcg_at_10",
        )

        def load_data(self, *args: Any, **kwargs: Any) -> None:
            split = {
                "corpus": Dataset.from_list(CORPUS),
                "queries": Dataset.from_list(QUERIES),
                "relevant_docs": QRELS,
                "top_ranked": CANDIDATES if reranking else None,
            }
            self.dataset = {"default": {"test": split}}
            self.data_loaded = True

    return Made()


def scores(model: AsterismSearch, reranking: bool = False) -> dict[str, float]:
    found = mteb.evaluate(model, task(reranking), cache=None, show_progress_bar=False, co2_tracker=False)
    return found.task_results[0].scores["test"][0]


@pytest.fixture(scope="module")
def direct(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same corpus without mteb."""
    with Retriever.create(tmp_path_factory.mktemp("direct") / "x.ast", model) as made:
        made.add(Document(row["id"], row["text"], row["title"]) for row in CORPUS)
        yield made


def agree(theirs: dict[str, float], run: dict[str, dict[str, float]]) -> None:
    ours = {name: values.mean() for name, values in measure(QRELS, run).items()}
    for name, other in (
        ("nDCG@10", "ndcg_at_10"),
        ("MRR@10", "mrr_at_10"),
        ("Recall@10", "recall_at_10"),
        ("Recall@100", "recall_at_100"),
        ("Success@5", "hit_rate_at_5"),
    ):
        assert theirs[other] == pytest.approx(ours[name], abs=1e-5), name
    assert 0 < ours["nDCG@10"] < 1


@pytest.mark.parametrize("method", [None, "colbert", "xtr", "exact"])
def test_retrieval(model: Path, direct: Retriever, method: str | None) -> None:
    search = AsterismSearch(model, method=method)
    assert isinstance(search, SearchProtocol)
    run = {row["id"]: {hit.id: hit.score for hit in direct.search(row["text"], 60, method=method)} for row in QUERIES}
    agree(scores(search), run)


def test_reranking(model: Path, direct: Retriever) -> None:
    """So few vectors are searched exactly: a search among candidates is a search among all, and the others dropped."""
    everything = {row["id"]: direct.search(row["text"], 60) for row in QUERIES}
    run = {id: {hit.id: hit.score for hit in found if hit.id in CANDIDATES[id]} for id, found in everything.items()}
    assert all(len(found) == 15 for found in run.values())
    agree(scores(AsterismSearch(model), reranking=True), run)


def indexed(model: Path, rows: list[dict] = CORPUS, **settings: Any) -> AsterismSearch:
    search = AsterismSearch(model, **settings)
    search.index(Dataset.from_list(rows), task_metadata=task().metadata, hf_split="test", hf_subset="default")
    return search


def test_top_k_blank_queries_and_odd_candidates(model: Path) -> None:
    search = indexed(model)
    queries = Dataset.from_list([{"id": "1", "text": "the fox"}, {"id": "2", "text": " "}])
    found = search.search(queries, top_k=3)
    assert [len(found[id]) for id in ("1", "2")] == [3, 0]
    found = search.search(queries, top_k=3, top_ranked={"1": ["d1", "d2", "nothing"]})
    assert found["1"].keys() == {"d1", "d2"}
    assert search.search(queries, top_k=3, top_ranked={}) == {"1": {}, "2": {}}


def test_a_folder_is_used_again(model: Path, tmp_path: Path) -> None:
    first = indexed(model, folder=tmp_path / "kept")
    (path,) = (tmp_path / "kept").iterdir()
    with Retriever.open(path) as made:
        made.delete(["d1", "d2"])  # as if it had been interrupted
    first.close()
    assert len(Retriever.open(path)) == 58
    indexed(model, folder=tmp_path / "kept", method="xtr")
    assert list((tmp_path / "kept").iterdir()) == [path]
    assert len(Retriever.open(path)) == 60
    with pytest.raises(InputError, match="60 documents, the corpus 59"):
        indexed(model, CORPUS[1:], folder=tmp_path / "kept")


def test_a_temporary_folder_goes(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    search = indexed(model)
    search.index(Dataset.from_list(CORPUS[:5]), task_metadata=task().metadata, hf_split="test", hf_subset="default")
    assert len(list(tmp_path.iterdir())) == 1
    del search
    assert not list(tmp_path.iterdir())


def test_results_of_other_settings_are_others() -> None:
    metas = [
        AsterismSearch("some/model", method=method, **settings).mteb_model_meta
        for method in (None, "xtr")
        for settings in ({}, {"build": 1})
    ]
    assert [meta.name for meta in metas] == ["asterism/model"] * 2 + ["asterism/model-xtr"] * 2
    assert len({meta.revision for meta in metas}) == 4


def test_errors(model: Path) -> None:
    with pytest.raises(InputError, match="index\\(\\) before search"):
        AsterismSearch(model).search(Dataset.from_list(QUERIES), top_k=3)
    with pytest.raises(SettingError, match="method"):
        indexed(model, method="xrt")
    with pytest.raises(TypeError, match="depth"):
        indexed(model, depth=3)
