"""Models of the hub: all files of one commit, and the same commit when they are fetched again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from asterism.errors import DownloadError
from asterism.models.downloads import RECORD
from asterism.models.registry import NamedModel, fetch_model, find_copy, locate_in_cache
from asterism.models.sources import Hub

OLD, NEW = "a" * 40, "b" * 40


class EntryNotFoundError(Exception):
    """As huggingface_hub names it."""


class LocalEntryNotFoundError(EntryNotFoundError):
    """As huggingface_hub names it: without a network."""


class Network:
    """The edge to the network: a repository of which there are commits, the newest first."""

    def __init__(self) -> None:
        self.commits = {OLD: {"config.json": b"old", "weights.bin": b"old weights"}}
        self.asked: list[tuple[str, str]] = []
        self.moves_while_fetching = False
        self.dead_at = ""

    def model_info(self, repository: str, *, revision: str | None = None) -> Any:
        if revision is not None and revision not in self.commits:
            raise OSError("404 Revision Not Found")
        return SimpleNamespace(sha=revision or next(iter(self.commits)))

    def hf_hub_download(self, repository: str, name: str, *, revision: str, local_dir: Path) -> None:
        self.asked.append((name, revision))
        if name == self.dead_at:
            raise LocalEntryNotFoundError("no connection")
        if name not in self.commits[revision]:
            raise EntryNotFoundError(name)
        (local_dir / name).write_bytes(self.commits[revision][name])
        if self.moves_while_fetching:
            self.push()

    def push(self) -> None:
        self.commits = {NEW: {"config.json": b"new", "weights.bin": b"new weights"}, **self.commits}


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Network:
    monkeypatch.setenv("ASTERISM_CACHE", str(tmp_path / "cache"))
    network, package, errors = Network(), ModuleType("huggingface_hub"), ModuleType("huggingface_hub.errors")
    package.hf_hub_download, package.model_info = network.hf_hub_download, network.model_info
    errors.EntryNotFoundError = EntryNotFoundError
    errors.LocalEntryNotFoundError = LocalEntryNotFoundError
    monkeypatch.setitem(sys.modules, "huggingface_hub", package)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", errors)
    return network


MODEL = NamedModel(
    "some/model", "", 1, dict.fromkeys(("config.json", "weights.bin", "tokenizer_config.json")), (Hub("some/model"),)
)


def test_all_files_are_of_one_commit(network: Network) -> None:
    network.moves_while_fetching = True
    folder = fetch_model(MODEL)
    assert {revision for _, revision in network.asked} == {OLD}
    assert (folder / "weights.bin").read_bytes() == b"old weights"
    assert json.loads((folder / RECORD).read_text())["revision"] == OLD
    assert find_copy(MODEL) == folder


def test_fetched_again_it_is_the_same(network: Network) -> None:
    folder = fetch_model(MODEL)
    network.push()
    (folder / "weights.bin").write_bytes(b"damaged")
    assert find_copy(MODEL) is None
    assert (fetch_model(MODEL) / "weights.bin").read_bytes() == b"old weights"
    assert json.loads((folder / RECORD).read_text())["revision"] == OLD


def test_a_dead_line_is_no_file_that_is_not_there(network: Network) -> None:
    network.dead_at = "tokenizer_config.json"
    with pytest.raises(DownloadError, match=r"tokenizer_config\.json: LocalEntryNotFoundError no connection"):
        fetch_model(MODEL)


def test_a_commit_that_is_gone(network: Network) -> None:
    folder = fetch_model(MODEL)
    network.push()
    del network.commits[OLD]
    (folder / "weights.bin").unlink()
    with pytest.raises(DownloadError, match=f"commit {OLD}: OSError 404"):
        fetch_model(MODEL)


@pytest.mark.parametrize("record", ["", "[]", '{"revision": 3}', '{"revision": "main"}', '{"revision": "../../x"}'])
def test_a_record_that_names_no_commit(network: Network, record: str) -> None:
    locate_in_cache(MODEL).mkdir(parents=True)
    (locate_in_cache(MODEL) / RECORD).write_text(record)
    assert json.loads((fetch_model(MODEL) / RECORD).read_text())["revision"] == OLD


def test_a_hub_that_answers_nonsense(network: Network) -> None:
    network.commits = {"main": network.commits[OLD]}
    with pytest.raises(DownloadError, match="gave commit 'main', expected 40 hexadecimal digits"):
        fetch_model(MODEL)
