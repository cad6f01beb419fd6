"""Training examples from files: what is read, and what each broken line says."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given

from asterism.errors import DiskFull, InputError
from asterism.files import whole_files
from asterism.training.examples import (
    Example,
    TrainingSet,
    read_training_set,
    read_training_sets,
    write_training_set,
)
from tests.full_disks import create_on_full_disk

from .sets import in_texts, training_sets

DATA = Path(__file__).parents[4] / "shared" / "data"
CORPUS = """{"_id": "a", "title": "T", "text": "one"}
{"_id": "b", "text": "two"}
{"_id": "empty", "text": ""}
{"_id": "c", "title": "", "text": "two"}
{"_id": "d", "text": "three"}
"""
QUERIES = '{"_id": "1", "text": "eins"}\n{"_id": "2", "text": "zwei"}\n{"_id": "3", "text": "drei"}\n'
QRELS = "query-id\tcorpus-id\tscore\n2\tb\t1\n2\tc\t2\n2\td\t1\n1\ta\t1\n1\tb\t0\n3\ta\t0\n"


def write_folder(at: Path, corpus: str = CORPUS, queries: str = QUERIES, qrels: str = QRELS) -> Path:
    (at / "qrels").mkdir(parents=True)
    (at / "corpus.jsonl").write_text(corpus)
    (at / "queries.jsonl.gz").write_bytes(gzip.compress(queries.encode()))
    (at / "qrels" / "train.tsv").write_text(qrels)
    return at


def test_a_folder(tmp_path: Path) -> None:
    """All documents with a text are passages, equal ones once; only queries with a relevant document are examples."""
    read = read_training_set(write_folder(tmp_path))
    assert read == TrainingSet(["eins", "zwei"], ["T one", "two", "three"], [Example(0, (0,)), Example(1, (1, 2))])
    with pytest.raises(InputError, match=r"no split 'test' .*: choose one of train"):
        read_training_set(tmp_path, "test")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qrels": QRELS + "3\tx\t1\n"}, r"train\.tsv: document 'x' of query '3' is not in the corpus, .* its 5 doc"),
        ({"qrels": QRELS + "3\tempty\t1\n"}, r"train\.tsv: document 'empty' of query '3' is empty"),
        ({"qrels": QRELS + "3\ta\n"}, r"train\.tsv, line 8 has 2 columns"),
        ({"qrels": QRELS.splitlines()[0] + "\n1\ta\t0"}, r"train\.tsv judges no document relevant"),
        ({"queries": QUERIES.replace("zwei", "three")}, r"document 'd' of query '2' has the query's own text"),
        ({"queries": QUERIES.replace("zwei", " ")}, r"queries\.jsonl\.gz: query '2' is empty"),
        ({"corpus": CORPUS + '{"_id": "a", "text": "x"}'}, r"corpus\.jsonl:6: document 'a' comes twice"),
        ({"corpus": CORPUS + '{"_id": "e"}'}, r"corpus\.jsonl:6: the object has no 'text'"),
    ],
)
def test_bad_folders(tmp_path: Path, change: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_training_set(write_folder(tmp_path, **change))


def test_a_folder_without_corpus(tmp_path: Path) -> None:
    (write_folder(tmp_path) / "corpus.jsonl").unlink()
    with pytest.raises(InputError, match=r"has neither corpus\.jsonl nor corpus\.jsonl\.gz"):
        read_training_set(tmp_path)


GOOD = '{"query": "q", "pos": ["a"]}\n'


@pytest.mark.parametrize("packed", [False, True])
def test_lines(tmp_path: Path, packed: bool) -> None:
    content = (
        '{"query": "q", "pos": ["a", "a"], "neg": ["b", "c"], "pos_scores": [2, 2], "neg_scores": [0.5, -1e3]}\n'
        '\n{"query": "p", "pos": "b", "id": 7}\n{"query": "q", "pos": ["c"], "pos_scores": [1]}\n'
    )
    file = tmp_path / ("x.jsonl.gz" if packed else "x.JSONL")
    file.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    first = Example(0, (0,), (1, 2), {0: 2.0, 1: 0.5, 2: -1000.0})
    expected = TrainingSet(["q", "p"], ["a", "b", "c"], [first, Example(1, (1,)), Example(0, (2,), (), {2: 1.0})])
    assert read_training_set(file) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"not JSON \(.*at column 2\)"),
        ("[1]", "a list, expected one JSON object per line"),
        ('{"query": "q", "pos": ["a"], "pos_scores": [NaN]}', "NaN is not a JSON number"),
        ('{"pos": ["a"]}', "the object has no 'query'"),
        ('{"query": "q", "neg": ["a"]}', "the object has no 'pos'"),
        ('{"query": 1, "pos": ["a"]}', "query is a number, expected a text"),
        ('{"query": "\\t", "pos": ["a"]}', "query is empty"),
        ('{"query": "q", "pos": []}', "'pos' is an empty list, expected at least one positive"),
        ('{"query": "q", "pos": null}', "'pos' is null, expected a list of texts"),
        ('{"query": "q", "pos": {"a": 1}}', "'pos' is an object, expected a list of texts"),
        ('{"query": "q", "pos": ["a", ""]}', r"pos\[1\] is empty"),
        ('{"query": "q", "pos": ["a", ["b"]]}', r"pos\[1\] is a list, expected a text"),
        ('{"query": "q", "pos": ["\\ud800"]}', r"pos\[0\] has half a surrogate pair"),
        ('{"query": "q", "pos": ["a"], "neg": []}', "'neg' is an empty list, expected at least one text, or no 'neg'"),
        ('{"query": "q", "pos": ["a"], "neg": 7}', "'neg' is a number"),
        ('{"query": "q", "pos": ["a", "q"]}', "the query is its own document: 'pos' has the same text"),
        ('{"query": "q", "pos": ["a"], "neg": ["q"]}', "the query is its own document: 'neg' has the same text"),
        ('{"query": "q", "pos": ["a"], "neg": ["b", "a"]}', "a text is both in 'pos' and in 'neg', .*: 'a'"),
        ('{"query": "q", "pos": ["a"], "pos_scores": [1, 2]}', "pos_scores has 2 numbers for 1 texts"),
        ('{"query": "q", "pos": ["a"], "pos_scores": {}}', "pos_scores is an object, expected a list of numbers"),
        ('{"query": "q", "pos": ["a"], "pos_scores": ["1"]}', r"pos_scores\[0\] is a string, expected a number"),
        ('{"query": "q", "pos": ["a"], "pos_scores": [true]}', r"pos_scores\[0\] is true, expected a number"),
        ('{"query": "q", "pos": ["a"], "pos_scores": [1e999]}', r"pos_scores\[0\] is not finite"),
        ('{"query": "q", "pos": ["a"], "pos_scores": [-1e39]}', r"pos_scores\[0\] is -1e\+39, expected at most 3\.4"),
        (f'{{"query": "q", "pos": ["a"], "pos_scores": [1{"0" * 400}]}}', r"pos_scores\[0\] is not finite"),
        ('{"query": "q", "pos": ["a"], "neg_scores": [1]}', "the object has neg_scores, expected pos_scores, or no sc"),
        (
            '{"query": "q", "pos": ["a"], "neg": ["b"], "pos_scores": [1]}',
            "has pos_scores, expected pos_scores and neg_scores, or no scores",
        ),
        ('{"query": "q", "pos": ["a", "a"], "pos_scores": [1, 2]}', "pos_scores has two scores for one text"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    """The file, the line and the reason, in one line."""
    (tmp_path / "x.jsonl").write_text(GOOD + "\n" + line + "\n" + GOOD)
    with pytest.raises(InputError, match=rf"x\.jsonl:3: .*{message}") as caught:
        read_training_set(tmp_path / "x.jsonl")
    assert "\n" not in str(caught.value)


def test_bad_paths(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.jsonl:1: cannot be read \(No such file or directory\)"):
        read_training_set(tmp_path / "x.jsonl")
    (tmp_path / "x.jsonl").touch()
    with pytest.raises(InputError, match=r"x\.jsonl has no examples"):
        read_training_set(tmp_path / "x.jsonl")
    with pytest.raises(InputError, match=r"x\.csv is not of a known kind, expected a folder"):
        read_training_set(tmp_path / "x.csv")
    with pytest.raises(InputError, match="there are no paths"):
        read_training_sets([])


def test_several_paths(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"query": "eins", "pos": "two", "neg": ["T one", "new"]}')
    read = read_training_sets([write_folder(tmp_path / "folder"), tmp_path / "x.jsonl"])
    assert (read.queries, read.passages) == (["eins", "zwei"], ["T one", "two", "three", "new"])
    assert read.examples == [Example(0, (0,)), Example(1, (1, 2)), Example(0, (1,), (0, 3))]


@given(training_sets())
def test_written_and_read(training: TrainingSet) -> None:
    """The same examples; and what was read is written and read as the same set, numbers included."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "x.jsonl"
        write_training_set(training, file)
        read = read_training_set(file)
        assert in_texts(read) == in_texts(training)
        write_training_set(read, file)
        assert read_training_set(file) == read
        assert os.listdir(folder) == ["x.jsonl"]


def test_what_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure leaves the file that was there before."""
    training = TrainingSet(["q"], ["a"], [Example(0, (0,))])
    with pytest.raises(InputError, match=r"does not end in \.jsonl"):
        write_training_set(training, tmp_path / "x.txt")
    with pytest.raises(InputError, match="there is no folder"):
        write_training_set(training, tmp_path / "absent" / "x.jsonl")
    (tmp_path / "x.jsonl").write_text(GOOD)
    if os.path.exists("/dev/full"):
        monkeypatch.setattr(whole_files, "create_file", create_on_full_disk)
        with pytest.raises(DiskFull, match=r"x\.jsonl cannot be written \(No space left on device\)"):
            write_training_set(training, tmp_path / "x.jsonl")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("x.jsonl", GOOD)]


@pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not there")
@pytest.mark.parametrize(
    ("name", "sizes"),
    [("fairytaleqa_section", (8538, 8523, 4094, 9498)), ("squad_sent_nqg", (11877, 11804, 13447, 11877))],
)
def test_real_folders(name: str, sizes: tuple[int, ...]) -> None:
    """Examples, unique queries, unique passages, positives."""
    read = read_training_set(DATA / name)
    positives = sum(len(example.positives) for example in read.examples)
    assert (len(read), len(read.queries), len(read.passages), positives) == sizes
