"""BEIR folders: what is kept, and what each broken file says."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from asterism.errors import InputError
from asterism.evaluation.datasets import EvaluationSet, read_evaluation_set
from asterism.files import bounded_lines

SCIFACT = Path(__file__).parents[4] / "shared" / "data" / "scifact"
HEADER = "query-id\tcorpus-id\tscore\n"
QUERIES = '{"_id": "2", "text": "zwei"}\n\n{"_id": "1", "text": "one", "metadata": {}}\n{"_id": "3", "text": "trois"}\n'
QRELS = HEADER + "1\ta\t2\n2\tb\t1\n1\tc d\t-1\n"


def folder(at: Path, queries: str | bytes = QUERIES, qrels: str | bytes = QRELS) -> Path:
    (at / "qrels").mkdir()
    (at / "queries.jsonl").write_bytes(queries.encode() if isinstance(queries, str) else queries)
    (at / "qrels" / "test.tsv").write_bytes(qrels.encode() if isinstance(qrels, str) else qrels)
    return at


def test_judged_queries_in_the_order_of_their_file(tmp_path: Path) -> None:
    read = read_evaluation_set(folder(tmp_path), "test")
    assert list(read.queries.items()) == [("2", "zwei"), ("1", "one")]
    assert list(read.qrels.items()) == [("2", {"b": 1}), ("1", {"a": 2, "c d": -1})]
    assert (len(read), read.without_relevant) == (2, 0)  # the third has no judgement at all


def test_queries_without_a_relevant_document_are_left_out_and_counted(tmp_path: Path) -> None:
    read = read_evaluation_set(folder(tmp_path, qrels=HEADER + "1\ta\t0\n2\tb\t1\n1\tc\t-1\n2\ta\t0\n3\ta\t0"), "test")
    assert (list(read.queries), read.qrels) == (["2"], {"2": {"b": 1, "a": 0}})
    assert (len(read), read.without_relevant) == (1, 2)


def test_no_query_has_a_relevant_document(tmp_path: Path) -> None:
    message = r"test\.tsv judges no document relevant: all judgements of its 2 queries are 0 or less, expected at"
    with pytest.raises(InputError, match=message):
        read_evaluation_set(folder(tmp_path, qrels=HEADER + "1\ta\t0\n2\tb\t-1\n"), "test")


def test_compressed_is_the_same(tmp_path: Path) -> None:
    plain = read_evaluation_set(folder(tmp_path), "test")
    for file in (tmp_path / "queries.jsonl", tmp_path / "qrels" / "test.tsv"):
        with gzip.open(f"{file}.gz", "wb") as packed:
            packed.write(file.read_bytes())
        file.unlink()
    assert read_evaluation_set(str(tmp_path), "test") == plain


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    windows = [b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() for text in (QUERIES, QRELS)]
    read = read_evaluation_set(folder(tmp_path, *windows), "test")
    assert read.qrels == {"2": {"b": 1}, "1": {"a": 2, "c d": -1}}


def test_line_separators_inside_a_text(tmp_path: Path) -> None:
    read = read_evaluation_set(folder(tmp_path, QUERIES.replace("one", "o\u2028n\u0085e")), "test")
    assert read.queries["1"] == "o\u2028n\u0085e"


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ('{"_id": "1", "text": "one"}\n{"_id": ', r"queries\.jsonl, line 2 is not JSON"),
        ("[" * 100_000, r"line 1 is not JSON"),
        ('{"a":' * 100_000, r"line 1 is not JSON"),
        ('{"_id": "1", "text": "one", "n": %s}' % ("9" * 5000), r"line 1 is not JSON"),
        ('{"_id": "1", "text": "one", "n": NaN}', r"line 1 is not JSON \(NaN is not a JSON number\)"),
        ('{"_id": "1", "text": "\\ud800"}', r"line 1: query '1': text has half a surrogate pair"),
        ('{"_id": "\\udfff", "text": "one"}', r"line 1: query .* has half a surrogate pair"),
        ('{"_id": "1", "text": "a\\u0000"}', r"line 1: query '1': text has a NUL"),
        ('{"_id": ' + "[" * 300 + "]" * 300 + "}", r"line 1 has _id = \[+\.\.\.\]+, expected a string"),
        ("[1]", r"line 1 is a list, expected a JSON object with _id and text"),
        ('{"text": "one"}', r"line 1 has no _id, expected a string"),
        ('{"_id": "1"}', r"line 1 has no text, expected a string"),
        ('{"_id": 1, "text": "one"}', r"line 1 has _id = 1, expected a string"),
        (QUERIES + '{"_id": "3", "text": "again"}', r"line 5: query '3' comes twice"),
        (b'{"_id": "1", "text": "\xff"}', r"line 1 is not UTF-8"),
        ('{"_id": "1", "text": "one"}', r"test\.tsv judges query '2', which .*queries\.jsonl does not have"),
    ],
)
def test_bad_queries(tmp_path: Path, queries: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_evaluation_set(folder(tmp_path, queries=queries), "test")


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        ("", r"test\.tsv, line 1 is '', expected the header 'query-id\\tcorpus-id\\tscore'"),
        ("1\ta\t2\n", r"line 1 is '1\\ta\\t2', expected the header"),
        (QRELS + "1\tx\n", r"line 5 has 2 columns, expected 3"),
        (QRELS + "1 0 x 1\n", r"line 5 has 1 columns, expected 3"),
        (QRELS + "\n1\tx\t1.0\n", r"line 6: score is '1\.0', expected a whole number"),
        (QRELS + "1\tx\t1_0\n", r"line 5: score is '1_0'"),
        (QRELS + "1\ta\t2\n", r"line 5: document 'a' of query '1' is judged twice"),
        (HEADER, r"test\.tsv has no judgement"),
    ],
)
def test_bad_qrels(tmp_path: Path, qrels: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_evaluation_set(folder(tmp_path, qrels=qrels), "test")


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent is not a folder"):
        read_evaluation_set(tmp_path / "absent", "test")
    with pytest.raises(InputError, match=r"has neither queries\.jsonl nor queries\.jsonl\.gz"):
        read_evaluation_set(tmp_path, "test")
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    with pytest.raises(InputError, match=r"no split 'test' \(qrels/test\.tsv\): there is none in .*qrels"):
        read_evaluation_set(tmp_path, "test")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "train.tsv").write_text(QRELS)
    (tmp_path / "qrels" / "dev.tsv.gz").write_text("")
    with pytest.raises(InputError, match=r"no split 'test' .*: choose one of dev, train"):
        read_evaluation_set(tmp_path, "test")


@pytest.mark.parametrize("name", ["queries.jsonl", "qrels/test.tsv"])
def test_files_that_are_no_files(tmp_path: Path, name: str) -> None:
    """A fifo is not waited for."""
    at = folder(tmp_path)
    (at / name).unlink()
    os.mkfifo(at / name)
    with pytest.raises(InputError, match=r"has neither queries\.jsonl|has no split 'test'"):
        read_evaluation_set(at, "test")
    (at / name).unlink()
    (at / name).symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"has neither queries\.jsonl|has no split 'test'"):
        read_evaluation_set(at, "test")


def test_names_that_are_too_long(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no split 'x+'"):
        read_evaluation_set(folder(tmp_path), "x" * 5000)
    with pytest.raises(InputError, match=r"is not a folder"):
        read_evaluation_set("x" * 5000, "test")


@pytest.mark.parametrize("name", ["queries.jsonl", "qrels/test.tsv"])
def test_a_line_without_end(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_lines, "LONGEST_LINE", 1000)
    at = folder(tmp_path)
    (at / f"{name}.gz").write_bytes(gzip.compress((at / name).read_bytes() + b"x" * 1001))
    (at / name).unlink()
    with pytest.raises(InputError, match=r"\.gz, line 5: the line has more than 1,000 bytes"):
        read_evaluation_set(at, "test")


def test_damaged_archives(tmp_path: Path) -> None:
    at = folder(tmp_path)
    packed = gzip.compress((at / "queries.jsonl").read_bytes())
    (at / "queries.jsonl").unlink()
    flipped = packed[:20] + bytes([packed[20] ^ 255]) + packed[21:]
    for content in (b"no archive", packed[:-12], flipped):
        (at / "queries.jsonl.gz").write_bytes(content)
        with pytest.raises(InputError, match=r"queries\.jsonl\.gz"):
            read_evaluation_set(at, "test")


@pytest.mark.skipif(not SCIFACT.is_dir(), reason=f"{SCIFACT} is not there")
def test_scifact() -> None:
    read = read_evaluation_set(SCIFACT, "test")
    assert len(read) == 300
    assert sum(len(judgements) for judgements in read.qrels.values()) == 339


@pytest.mark.parametrize("name", ["test.tsv", "test.qrels", "test.trec", "test.txt"])
def test_judgements_in_the_form_of_trec(tmp_path: Path, name: str) -> None:
    made = folder(tmp_path, qrels=HEADER + "1\ta\t2\n2\tb\t1\n1\tc\t-1\n")
    before = read_evaluation_set(made, "test")
    (made / "qrels" / "test.tsv").unlink()
    (made / "qrels" / name).write_text("1 0 a 2\n2\tQ0\tb\t1\n1 0   c -1\n")
    assert read_evaluation_set(made, "test") == before
    with pytest.raises(InputError, match="choose one of test"):
        read_evaluation_set(made, "dev")


def test_a_broken_line_among_those_of_trec(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2 has 3 columns, expected 4"):
        read_evaluation_set(folder(tmp_path, qrels="q1 0 d1 1\nq1 d2 1\n"), "test")


def test_empty_queries_are_known_by_their_ids() -> None:
    data = EvaluationSet({"q1": "fox", "q2": " \n", "q3": ""}, {f"q{i}": {"d": 1} for i in (1, 2, 3)})
    assert data.empty == ["q2", "q3"]
    assert data.leave_out_empty() == EvaluationSet({"q1": "fox"}, {"q1": {"d": 1}})
    with pytest.raises(InputError, match="all 1 queries are empty"):
        EvaluationSet({"q": ""}, {"q": {"d": 1}}).leave_out_empty()
