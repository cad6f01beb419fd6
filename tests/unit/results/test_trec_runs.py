"""TREC run files are read back as they were written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.errors import DiskFull, InputError
from asterism.files import bounded_lines, whole_files
from asterism.results import read_trec_run, write_trec_run
from asterism.results.trec_runs import stream_trec_run
from tests.full_disks import create_on_full_disk

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=5)
SCORES = st.floats(allow_nan=False, allow_infinity=False)
RUNS = st.dictionaries(WORDS, st.dictionaries(WORDS, SCORES, min_size=1, max_size=5), max_size=4)


def test_run_lines(tmp_path: Path) -> None:
    file = tmp_path / "x.run"
    write_trec_run(file, {"q2": {"b": 1, "c": 2.5, "a": 1}, "q1": {"é": np.float32(0.1)}}, "mine")
    assert file.read_text(encoding="utf-8").splitlines() == [
        "q2 Q0 c 1 2.5 mine",
        "q2 Q0 a 2 1.0 mine",
        "q2 Q0 b 3 1.0 mine",
        "q1 Q0 é 1 0.10000000149011612 mine",
    ]


@given(RUNS)
def test_run_round_trip(tmp_path_factory: pytest.TempPathFactory, run: dict[str, dict[str, float]]) -> None:
    file = tmp_path_factory.mktemp("runs") / "x.run"
    write_trec_run(file, run, "mine")
    back = read_trec_run(file)
    assert back == run
    assert list(back) == list(run)
    assert all(list(scores.values()) == sorted(scores.values(), reverse=True) for scores in back.values())


@pytest.mark.parametrize(
    ("run", "tag", "message"),
    [
        ({"q 1": {"a": 1.0}}, "t", r"query id 'q 1' is empty or has white space"),
        ({"q": {"a": 1.0, "a\tb": 1.0}}, "t", r"document id 'a\\tb' is empty or has white space"),
        ({"q": {"": 1.0}}, "t", r"document id '' is empty"),
        ({"q": {"\ud800": 1.0}}, "t", r"document id '\\ud800' is not valid Unicode"),
        ({"q": {"a": 1.0}}, "two words", r"tag 'two words'"),
        ({"q": {"a": float("nan")}}, "t", r"query 'q', document 'a' has score nan"),
        ({"q": {"a": float("-inf")}}, "t", r"has score -inf, expected a finite number"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, run: dict[str, dict[str, float]], tag: str, message: str) -> None:
    (tmp_path / "x.run").write_text("old")
    with pytest.raises(InputError, match=message):
        write_trec_run(tmp_path / "x.run", {"before": {"a": 1.0}, **run}, tag)
    assert [file.name for file in tmp_path.iterdir()] == ["x.run"]
    assert (tmp_path / "x.run").read_text() == "old"


@pytest.mark.parametrize("path", ["absent/x.run", ".", "a-file/x.run"])
def test_where_nothing_can_be_written(tmp_path: Path, path: str) -> None:
    (tmp_path / "a-file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_trec_run(tmp_path / path, {}, "t")
    assert [file.name for file in tmp_path.iterdir()] == ["a-file"]


@given(RUNS)
def test_parts_are_the_whole(tmp_path_factory: pytest.TempPathFactory, run: dict[str, dict[str, float]]) -> None:
    folder = tmp_path_factory.mktemp("runs")
    write_trec_run(folder / "whole.run", run, "mine")
    with stream_trec_run(folder / "parts.run", "mine") as write:
        for query, scores in run.items():
            write({query: scores})
            assert not (folder / "parts.run").exists()
    assert (folder / "parts.run").read_bytes() == (folder / "whole.run").read_bytes()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(5, "the index is on a bad disk")])
def test_an_error_between_parts_leaves_nothing_and_is_not_changed(tmp_path: Path, error: BaseException) -> None:
    (tmp_path / "x.run").write_text("old")

    def fail_after_a_part() -> None:
        with stream_trec_run(tmp_path / "x.run", "t") as write:
            write({"q": {"a": 1.0}})
            raise error

    with pytest.raises(type(error)) as raised:
        fail_after_a_part()
    assert raised.value is error
    assert [file.name for file in tmp_path.iterdir()] == ["x.run"]
    assert (tmp_path / "x.run").read_text() == "old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("documents", [1, 10_000])  # it fails when the file is closed, and before
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, documents: int) -> None:
    monkeypatch.setattr(whole_files, "create_file", create_on_full_disk)
    with pytest.raises(DiskFull, match=r"x\.run cannot be written \(No space left on device\)"):
        write_trec_run(tmp_path / "x.run", {"q": {f"d{i}": 1.0 for i in range(documents)}}, "t")
    assert not list(tmp_path.iterdir())


def test_a_device_is_neither_replaced_nor_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.run")
    (tmp_path / "y.run").symlink_to("/dev/zero")
    for name in ("x.run", "y.run"):
        with pytest.raises(InputError, match=r"cannot be written .it is not a regular file"):
            write_trec_run(tmp_path / name, {"q": {"a": 1.0}}, "t")
        with pytest.raises(InputError, match=r"cannot be read .it is a (fifo|device), expected a regular file"):
            read_trec_run(tmp_path / name)
    assert (tmp_path / "x.run").is_fifo()


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / f".x.run.new-{os.getpid()}").symlink_to(tmp_path / "mine")
    write_trec_run(tmp_path / "x.run", {"q": {"a": 1.0}}, "t")
    assert (tmp_path / "mine").read_text() == "mine"
    assert read_trec_run(tmp_path / "x.run") == {"q": {"a": 1.0}}


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_lines, "LONGEST_LINE", 1000)
    (tmp_path / "x.run").write_bytes(b"q" * 1001)
    with pytest.raises(InputError, match=r"x\.run is not a TREC run file: the line has more than 1,000 bytes"):
        read_trec_run(tmp_path / "x.run")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"q Q0 a 1 0.5", r"x\.run, line 3 has 5 columns, expected 6"),
        (b"q Q0 a 1 high t", r"line 3: score is 'high', expected a finite number"),
        (b"q Q0 a 1 nan t", r"line 3: score is 'nan'"),
        (b"q Q0 b 7 0.5 t", r"line 3: document 'b' of query 'q' comes twice"),
        (b"q Q0 \xff 1 0.5 t", r"x\.run is not UTF-8"),
    ],
)
def test_bad_lines(tmp_path: Path, line: bytes, message: str) -> None:
    (tmp_path / "x.run").write_bytes(b"q Q0 b 1 0.5 t\n\n" + line + b"\n")
    with pytest.raises(InputError, match=message):
        read_trec_run(tmp_path / "x.run")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.run cannot be read \(No such file"):
        read_trec_run(tmp_path / "x.run")


def test_columns_may_be_separated_by_tabs(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_text("q\tQ0\ta\t0\t-1e3\tt\n")
    assert read_trec_run(str(tmp_path / "x.run")) == {"q": {"a": -1000.0}}
