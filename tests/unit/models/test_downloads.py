"""Downloads into the cache: only verified files get there."""

from __future__ import annotations

from pathlib import Path

import pytest

from asterism.errors import DownloadError
from asterism.models import registry
from asterism.models.downloads import pull_into_cache
from asterism.models.pulls import GATE

from .stored_files import GOOD, HASHES, Files


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
    folder = registry.find_or_fetch_model("x")
    (folder / "sub" / "weights.bin").write_bytes(b"99999")
    assert registry.find_copy(model) is None
    assert registry.find_or_fetch_model("x") == folder
    assert (folder / "sub" / "weights.bin").read_bytes() == b"12345"
    assert left_in(cache / "models") == ["x", "x/config.json", "x/sha256.json", "x/sub", "x/sub/weights.bin"]
