"""Views on the command line: kept, searched, explained and evaluated."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from asterism import Retriever, TermCounting
from asterism.retriever.jobs import describe_job, start_job
from asterism.search.fusion import M3
from asterism.settings import K1, B
from tests import layouts
from tests.unit.cli.running import jsonl, on_terminal, run

METHODS = ["exact", "colbert", "xtr", "dense", "lexical", "hybrid"]
FUSIONS = ["hybrid:linear", "hybrid:rrf", *(f"hybrid:{name}" for name in M3)]
CORPUS: list[dict[str, Any]] = [
    {"_id": "fox", "title": "", "text": "The quick brown fox jumps over the lazy dog.", "metadata": {"year": 1999}},
    {"_id": "light", "title": "Speed", "text": "Who first measured the speed of light?", "metadata": {"year": 2001}},
    {"_id": "moon", "title": "天体：月球", "text": "月球是地球唯一的天然卫星。", "metadata": {"year": 2020}},
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of each kind one."""
    folder = tmp_path_factory.mktemp("models")
    for layout in (layouts.bge_m3, layouts.colbert, layouts.sentence_transformer):
        layout(folder / layout.__name__)
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return jsonl(tmp_path_factory.mktemp("corpus") / "corpus.jsonl", CORPUS)


def indexed(corpus: Path, model: Path, to: Path, *options: object) -> Path:
    ran = run("index", corpus, "--to", to, "--model", model, "-q", *options)
    assert (ran.code, ran.out) == (0, "")
    return to


@pytest.fixture(scope="module")
def full(corpus: Path, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All views, terms by the model's weights; not to be changed."""
    return indexed(corpus, models / "bge_m3", tmp_path_factory.mktemp("full") / "x.ast")


@pytest.fixture(scope="module")
def worded(corpus: Path, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Token vectors and counted words; not to be changed."""
    return indexed(corpus, models / "colbert", tmp_path_factory.mktemp("worded") / "x.ast")


# --- index ---


def test_k1_and_b_are_kept(corpus: Path, models: Path, tmp_path: Path) -> None:
    made = indexed(corpus, models / "colbert", tmp_path / "x.ast", "--k1", 1.5, "--b", 0)
    (info,) = run("info", made, "--json").lines()
    assert (info["k1"], info["b"]) == (1.5, 0)
    with Retriever.open(made) as opened:
        assert opened.collection.views().counting == TermCounting(k1=1.5, b=0)


def test_k1_and_b_have_the_defaults_that_the_help_says(worded: Path, full: Path) -> None:
    (info,) = run("info", worded, "--json").lines()
    assert (info["k1"], info["b"]) == (K1, B)
    said = " ".join(run("index", "--help").out.split())
    assert f"[default: {K1}]" in said
    assert f"[default: {B}]" in said
    (info,) = run("info", full, "--json").lines()  # a model's weights
    assert (info["k1"], info["b"]) == (None, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--k1", "-1"), "k1 is -1.0, expected a number from 0 to 1000"),
        (("--b", "1.5"), "b is 1.5, expected a number from 0 to 1"),
        (("--k1", "nan"), "k1 is nan"),
        (("--b", "0.5", "--views", "multi"), "there is no lexical view"),
    ],
)
def test_k1_and_b_that_cannot_be_used(
    options: tuple[str, ...], message: str, corpus: Path, models: Path, tmp_path: Path
) -> None:
    ran = run("index", corpus, "--to", tmp_path / "x.ast", "--model", models / "colbert", "-q", *options)
    assert ran.code == 2
    assert message in ran.err
    assert not (tmp_path / "x.ast").exists()


@pytest.mark.parametrize(
    ("given", "kept"),
    [("lexical", ["lexical"]), ("dense, lexical", ["dense", "lexical"]), ("lexical,multi,", ["lexical", "multi"])],
)
def test_views_are_kept(corpus: Path, models: Path, tmp_path: Path, given: str, kept: list[str]) -> None:
    options = ("--views", given, "--most-vectors", 4, "--json")
    ran = run("index", corpus, "--to", tmp_path / "x.ast", "--model", models / "bge_m3", *options)
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines()[0]["views"] == kept == run("info", tmp_path / "x.ast", "--json").lines()[0]["views"]
    assert ran.lines()[0]["vectors"] <= 3 * 4
    assert run("check", tmp_path / "x.ast", "-q").code == 0


@pytest.mark.parametrize(
    ("model", "views", "message"),
    [
        ("bge_m3", "sparse", "views is ['sparse'], expected some of dense, lexical, multi"),
        ("bge_m3", "dense;lexical", "views is ['dense;lexical']"),
        ("bge_m3", ",", "views is [], expected some of"),
        ("bge_m3", "", "views is [], expected some of"),
        ("colbert", "dense", "the model has no dense vectors (it has multi): choose another view"),
        ("sentence_transformer", "multi,lexical", "the model has no multi vectors (it has dense)"),
    ],
)
def test_wrong_views(corpus: Path, models: Path, tmp_path: Path, model: str, views: str, message: str) -> None:
    ran = run("index", corpus, "--to", tmp_path / "x.ast", "--model", models / model, "--views", views)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert message in ran.err
    assert not (tmp_path / "x.ast").exists()


def test_an_index_begun_with_other_views_is_not_gone_on_with(corpus: Path, models: Path, tmp_path: Path) -> None:
    to = indexed(corpus, models / "colbert", tmp_path / "x.ast", "--views", "lexical")
    with Retriever.open(to) as opened:
        start_job(opened.collection, describe_job([str(corpus)], str(models / "colbert"), views=["lexical"]))
    ran = run("index", corpus, "--to", to, "--model", models / "colbert")
    assert (ran.code, "was begun with other inputs or settings (encoder, views)" in ran.err) == (2, True)


# --- search ---


@pytest.mark.parametrize("method", [*METHODS, *FUSIONS])
def test_every_method_as_json(full: Path, method: str) -> None:
    with Retriever.open(full) as opened:
        expected = opened.search("the quick light", method=method)
    ran = run("search", full, "the quick light", "--method", method, "--json", "--explain")
    assert (ran.code, ran.err) == (0, "")
    assert [(line["id"], line["score"]) for line in ran.lines()] == [(hit.id, hit.score) for hit in expected]
    for line in ran.lines():
        shares = line.get("shares", [])
        assert bool(shares) == method.startswith("hybrid")
        if shares:
            assert sum(share["share"] for share in shares) == pytest.approx(line["score"], abs=1e-6)
        for match in [*line["matches"], *(match for share in shares for match in share["matches"])]:
            if match["begin"] >= 0:
                written = line[match["field"]][match["begin"] : match["end"]]
                assert written.lower() == match["token"].strip("#▁").lower() or match["token"] == "<unk>"


@pytest.mark.parametrize("method", ["dense", "lexical", "hybrid", "hybrid:rrf"])
def test_explained_in_lines(full: Path, method: str) -> None:
    data = run("search", full, "the quick light", "--method", method, "--json", "--explain").lines()
    plain = run("search", full, "the quick light", "--method", method, "--explain").out.splitlines()
    shares = [share for line in data for share in line.get("shares", [])]
    matches = [match for share in [*data, *shares] for match in share["matches"]]
    assert len(plain) == len(data) + len(shares) + len(matches)
    if shares:
        assert sum(line.split("\t")[2:3] == ["dense"] for line in plain) == len(data)


def test_words_and_their_places(worded: Path) -> None:
    (line,) = run("search", worded, "speed light", "--method", "lexical", "--explain", "--json").lines()
    places = [(match["query_token"], match["field"], match["begin"], match["end"]) for match in line["matches"]]
    assert (line["id"], places) == ("light", [("speed", "title", 0, 5), ("light", "text", 32, 37)])
    plain = run("search", worded, "speed light", "--method", "lexical", "--explain").out
    assert "\tspeed\tspeed\ttitle:0-5\n" in plain
    assert "\tlight\tlight\ttext:32-37\n" in plain


def test_chinese_words_and_their_places(worded: Path) -> None:
    for method in ("lexical", "hybrid"):
        line = run("search", worded, "月球 卫星", "--method", method, "--explain", "--json").lines()[0]
        assert line["id"] == "moon"
        found = line if method == "lexical" else next(one for one in line["shares"] if one["view"] == "lexical")
        places = [(match["query_token"], match["field"], match["begin"], match["end"]) for match in found["matches"]]
        assert ("月球", "title", 3, 5) in places
        assert ("卫星", "text", 10, 12) in places
    plain = run("search", worded, "月球", "--method", "lexical", "--explain").out
    assert "\t月球\t月球\ttitle:3-5\n" in plain


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("bm25", "method is 'bm25', expected one of 'colbert'"),
        ("hybrid:bm25", "fusion is 'bm25', expected one of 'standard', 'linear'"),
        ("dense", "method 'dense' needs the view 'dense', the index has lexical, multi: build it with --views"),
        ("hybrid:m3-all", "m3-all needs the view 'dense', the index has lexical, multi: build it with --views"),
    ],
)
def test_methods_that_cannot_be(worded: Path, method: str, message: str) -> None:
    ran = run("search", worded, "fox", "--method", method)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert message in ran.err


def test_no_word_in_common(worded: Path) -> None:
    """The index has documents, and no filter was given: neither is the reason."""
    ran = run("search", worded, "zebra", "--method", "lexical")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "nothing found: no document has a word of the query\n"
    filtered = run("search", worded, "zebra", "--method", "lexical", "--filter", '{"year": 1999}')
    assert filtered.err == "nothing found: no document that matches the filter has a word of the query\n"


def test_a_lexical_search_needs_no_model(corpus: Path, models: Path, tmp_path: Path) -> None:
    """Nor does it say of words that it counts that the model does not know them."""
    model = shutil.copytree(models / "colbert", tmp_path / "model")
    folder = indexed(corpus, model, tmp_path / "x.ast")
    assert run("search", folder, "月球", "--method", "lexical").err == ""
    shutil.rmtree(model)
    ran = run("search", folder, "speed", "--method", "lexical", "--explain")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.split("\t")[2] == "light"


def test_hybrid_on_a_terminal(worded: Path) -> None:
    code, shown = on_terminal("search", worded, "speed light", "--method", "hybrid", "--explain")
    assert code == 0
    for part in ("from lexical", "from multi", "answered by", "(hybrid)"):
        assert part in shown


# --- evaluate ---


def judged(folder: Path, queries: list[dict[str, str]], judgements: list[tuple[str, str]]) -> Path:
    jsonl(folder / "queries.jsonl", queries)
    (folder / "qrels").mkdir()
    rows = [f"{query}\t{document}\t1" for query, document in judgements]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]), encoding="utf-8")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    queries = [{"_id": f"q{i}", "text": one["text"]} for i, one in enumerate(CORPUS)]
    return judged(tmp_path / "beir", queries, [(f"q{i}", one["_id"]) for i, one in enumerate(CORPUS)])


def test_evaluate_takes_all_that_the_views_allow(full: Path, worded: Path, data: Path) -> None:
    for folder, methods in ((full, METHODS), (worded, [name for name in METHODS if name != "dense"])):
        ran = run("evaluate", folder, "--data", data)
        assert (ran.code, ran.err) == (0, "")
        table = [line.split("\t") for line in ran.out.splitlines() if not line.startswith("#")]
        assert [row[0] for row in table[1:]] == methods
        assert len({len(row) for row in table}) == 1
        pairs = len(methods) * (len(methods) - 1) // 2
        assert sum("p = " in line for line in ran.out.splitlines()) == pairs
    (lexical,) = run("evaluate", worded, "--data", data, "--methods", "lexical", "--json").lines()
    assert lexical["nDCG@10"] == 1  # queries that are documents word for word


def test_evaluate_fusions(full: Path, data: Path, tmp_path: Path) -> None:
    ran = run("evaluate", full, "--data", data, "--methods", ",".join(FUSIONS), "--json", "--run", tmp_path / "run")
    assert (ran.code, ran.err) == (0, "")
    assert [line["method"] for line in ran.lines()] == FUSIONS
    assert all(0 < line["nDCG@10"] <= 1 for line in ran.lines())
    names = [name.replace(":", "-") for name in FUSIONS]  # Windows allows no colon
    assert {file.name for file in tmp_path.glob("run*")} == {f"run.{name}" for name in names}
    assert {(tmp_path / f"run.{name}").read_text().split()[5] for name in names} == {
        f"asterism-{name}" for name in names
    }


@pytest.mark.parametrize("methods", ["bm25", "hybrid:bm25", "exact,dense", "hybrid:m3-multi"])
def test_evaluate_refuses(worded: Path, data: Path, methods: str) -> None:
    """Before any search."""
    ran = run("evaluate", worded, "--data", data, "--methods", methods)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_queries_of_another_language_in_another_folder(models: Path, tmp_path: Path) -> None:
    """The index is of one folder, queries and judgements of another; documents are known by their ids."""
    english = [
        {"_id": "d1", "title": "Fox", "text": "The quick brown fox jumps over the lazy dog."},
        {"_id": "d2", "title": "Licht 1676", "text": "Who first measured the speed of light?"},
        {"_id": "d3", "title": "", "text": "Run a function every few seconds."},
    ]
    corpus = jsonl(tmp_path / "en" / "corpus.jsonl", english).parent
    german = judged(
        tmp_path / "de",
        [
            {"_id": "q1", "text": "Welcher schnelle Fuchs springt über den faulen Hund?"},
            {"_id": "q2", "text": "Wer hat als Erster die Geschwindigkeit von Licht gemessen, 1676?"},
        ],
        [("q1", "d1"), ("q2", "d2")],
    )
    jsonl(german / "corpus.jsonl", [{"_id": "d9", "text": "Dies wird nicht gelesen."}])
    folder = indexed(corpus, models / "sentence_transformer", tmp_path / "x.ast")
    ran = run("evaluate", folder, "--data", german, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert [line["method"] for line in ran.lines()] == ["dense", "lexical", "hybrid"]
    assert all((line["queries"], line["Recall@1000"]) == (2, 1) for line in ran.lines() if line["method"] != "lexical")
    lexical = ran.lines()[1]
    assert lexical["Recall@10"] == 0.5  # one query has a word and a year in common, the other has none
