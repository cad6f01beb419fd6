"""Lines of files: plain or gzip, damaged, too long."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from asterism.documents.document import Document
from asterism.documents.reading import read_documents, read_jsonl
from asterism.errors import DocumentError
from asterism.files import bounded_lines

from .written_files import write


def test_damaged_gzip(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"_id": f"{i}", "text": f"{i * 7919 % 10007}"}) + "\n" for i in range(50_000))
    whole = gzip.compress(lines.encode())
    cut = write(tmp_path / "cut.jsonl.gz", whole[: len(whole) // 2])
    read = []
    with pytest.raises(DocumentError, match=r"cannot be read .*end-of-stream") as caught:
        read.extend(document.id for document in read_jsonl(cut))
    line = int(str(caught.value).removeprefix(f"{cut}:").split(":")[0])
    assert 1 < line == len(read) + 1 < 50_000
    for name, content in {"crc": whole[:-8] + bytes(8), "body": whole[:20] + b"\xff" * 50 + whole[70:]}.items():
        with pytest.raises(DocumentError, match=f"{name}.jsonl.gz:[0-9]+: cannot be read"):
            list(read_jsonl(write(tmp_path / f"{name}.jsonl.gz", content)))


@pytest.mark.parametrize("name", ["x.jsonl", "x.tsv"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_longest_line(name: str, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_lines, "LONGEST_LINE", 1000)
    first = b'{"_id": "a", "text": "one"}\n' if name == "x.jsonl" else b"a\tone\n"
    content = first + b"\n" + b"x" * 1001
    file = write(tmp_path / name, gzip.compress(content) if packed else content)
    documents = read_documents(file)
    assert next(documents) == Document("a", "one")
    with pytest.raises(DocumentError, match=f"{name}:3: the line has more than 1,000 bytes, expected at most that"):
        next(documents)
