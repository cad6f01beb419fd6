"""asterism evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asterism import Retriever
from asterism.cli import INTERRUPTED
from asterism.results import Ranking
from tests.unit.cli.running import CORPUS, jsonl, run


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Queries that are documents word for word."""
    queries = [{"_id": f"q{i}", "text": one["text"]} for i, one in enumerate(CORPUS)]
    jsonl(tmp_path / "beir" / "queries.jsonl", queries)
    (tmp_path / "beir" / "qrels").mkdir()
    rows = [f"q{i}\t{one['_id']}\t1" for i, one in enumerate(CORPUS)]
    for split in ("test", "dev"):
        text = "\n".join(["query-id\tcorpus-id\tscore", *rows[: 1 if split == "dev" else 3]])
        (tmp_path / "beir" / "qrels" / f"{split}.tsv").write_text(text)
    return tmp_path / "beir"


def test_evaluate_as_a_table(made: Path, judged: Path) -> None:
    ran = run("evaluate", made, "--data", judged)
    table = [line.split("\t") for line in ran.out.splitlines() if not line.startswith("#")]
    notes = [line for line in ran.out.splitlines() if line.startswith("#")]
    assert (ran.code, ran.err) == (0, "")
    assert table[0][:3] == ["method", "nDCG@10", "MRR@10"]
    assert [row[0] for row in table[1:]] == ["exact", "colbert", "xtr", "lexical", "hybrid"]
    assert len({len(row) for row in table}) == 1
    assert notes[0].startswith("# 3 queries, index ")
    assert len(notes) == 1 + 10  # pairs of methods
    assert all("p = " in note for note in notes[1:])


def test_evaluate_as_json_with_runs(made: Path, judged: Path, tmp_path: Path) -> None:
    ran = run("evaluate", made, "--data", judged, "--methods", "exact, xtr", "--json", "--run", tmp_path / "run")
    lines = ran.lines()
    assert (ran.code, ran.err) == (0, "")
    assert [line["method"] for line in lines] == ["exact", "xtr"]
    for line in lines:
        assert (line["queries"], line["Recall@10"]) == (3, 1)
        assert 0 < line["nDCG@10"] <= 1
        assert 0 < line["p50_ms"] <= line["p99_ms"]
        other = next(one for one in lines if one is not line)
        (against,) = line["differences"]
        assert against["method"] == other["method"]
        assert against["difference"] == pytest.approx(line["nDCG@10"] - other["nDCG@10"])
        assert 0 < against["p"] <= 1
        rows = [row.split() for row in (tmp_path / f"run.{line['method']}").read_text().splitlines()]
        assert len(rows) == 9
        assert rows[0][0:2] == ["q0", "Q0"]
        assert rows[0][5] == f"asterism-{line['method']}"
    one = run("evaluate", made, "--data", judged, "--split", "dev", "--methods", "exact", "--run", tmp_path / "one")
    assert one.code == 0
    assert len((tmp_path / "one").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--methods", "bm25"), "method is 'bm25', expected one of 'colbert'"),
        (("--methods", "xtr,xtr"), "expected different methods"),
        (("--split", "train"), "choose one of dev, test"),
        (("--run", "/nowhere/run"), "there is no folder /nowhere"),
        (("--run", "."), "--run is ., expected the name of a file"),
        (("--run", "/", "--methods", "exact"), "--run is /, expected the name of a file"),
    ],
)
def test_evaluate_refuses(made: Path, judged: Path, options: tuple[str, ...], message: str) -> None:
    ran = run("evaluate", made, "--data", judged, *options)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert message in ran.err


def test_evaluate_with_other_documents(made: Path, judged: Path) -> None:
    (judged / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq0\tother\t1")
    ran = run("evaluate", made, "--data", judged)
    assert (ran.code, ran.out) == (2, "")
    assert "index that corpus first" in ran.err


def test_evaluate_leaves_out_queries_without_a_relevant_document(made: Path, judged: Path, tmp_path: Path) -> None:
    """The means are those of the others, and the number is told."""
    arguments = ("evaluate", made, "--data", judged, "--split", "dev", "--methods", "exact,lexical")
    plain = run(*arguments, "--json").lines()
    qrels = (judged / "qrels" / "dev.tsv").read_text()
    (judged / "qrels" / "dev.tsv").write_text(f"{qrels}\nq1\tlight\t0\nq2\tlight\t-1\nq2\tfox\t0")
    more = run(*arguments, "--json", "--run", tmp_path / "r").lines()
    for before, after in zip(plain, more, strict=True):
        assert (before["queries"], before["without_relevant"]) == (1, 0)
        assert (after["queries"], after["without_relevant"]) == (1, 2)
        assert {key: before[key] for key in before if "@" in key} == {key: after[key] for key in after if "@" in key}
    assert {line.split()[0] for line in (tmp_path / "r.exact").read_text().splitlines()} == {"q0"}
    assert "# 1 queries (2 without a relevant document left out), index " in run(*arguments).out


def test_evaluate_without_any_relevant_document(made: Path, judged: Path) -> None:
    (judged / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq0\tfox\t0")
    ran = run("evaluate", made, "--data", judged)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "judges no document relevant" in ran.err


def test_an_interruption_leaves_whole_runs_only(
    made: Path, judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first method's run is there; of the second's there is nothing."""
    search_many = Retriever.search_many

    def interrupt(self: Retriever, *arguments: Any, method: str, **options: Any) -> list[Ranking]:
        if method == "xtr":
            raise KeyboardInterrupt
        return search_many(self, *arguments, method=method, **options)

    monkeypatch.setattr(Retriever, "search_many", interrupt)
    (tmp_path / "runs").mkdir()
    options = ("--methods", "exact,xtr", "--run", tmp_path / "runs" / "x")
    assert run("evaluate", made, "--data", judged, *options).code == INTERRUPTED
    assert [file.name for file in (tmp_path / "runs").iterdir()] == ["x.exact"]
    assert len((tmp_path / "runs" / "x.exact").read_text().splitlines()) == 9


def test_an_empty_and_a_very_long_query_do_not_stop_the_others(made: Path, judged: Path) -> None:
    texts = {"q0": CORPUS[0]["text"], "q1": " ", "q2": "fox " * 30_000}
    jsonl(judged / "queries.jsonl", [{"_id": id, "text": text} for id, text in texts.items()])
    ran = run("evaluate", made, "--data", judged, "--methods", "exact,lexical", "--json")
    assert ran.code == 0
    notes = ran.err.splitlines()
    assert notes[0] == "asterism: query 'q1' is empty: it finds nothing and counts 0"
    assert len(notes) == 3  # token vectors and words have limits of their own
    assert all("is too long: the first" in note for note in notes[1:])
    for line in ran.lines():
        assert (line["queries"], line["empty_queries"]) == (3, ["q1"])
        assert line["Recall@10"] < 0.7
