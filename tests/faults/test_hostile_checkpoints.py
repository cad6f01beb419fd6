"""Hostile checkpoints: loaded, or refused in one line; never a crash, a hang or an exhausted memory."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from .forking_loader import PATIENCE, ForkingLoader, Outcome
from .hostile_checkpoints import LAYOUTS, PAIRS, make_honest, make_hostile

MOST_MEGABYTES = 500  # above the honest model's


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_honest(tmp_path_factory.mktemp("honest"))


@pytest.fixture(scope="module")
def loader() -> Iterator[ForkingLoader]:
    with ForkingLoader() as loader:
        yield loader


@pytest.fixture(scope="module")
def peaks(honest: dict[str, Path], loader: ForkingLoader) -> dict[str, float]:
    """Layout -> megabytes that its honest model takes."""
    found = {name: loader.load(folder, name in PAIRS) for name, folder in honest.items()}
    assert {name: outcome.message for name, outcome in found.items() if outcome.kind != "encoded"} == {}
    return {name: outcome.megabytes for name, outcome in found.items()}


def attacked(
    numbers: range, honest: dict[str, Path], peaks: dict[str, float], loader: ForkingLoader, folder: Path
) -> dict[str, Outcome]:
    """What was wrong with a folder -> what happened."""
    found = {}
    for number in numbers:
        said = make_hostile(honest, number, folder)
        layout = list(honest)[number % len(honest)]
        outcome = loader.load(folder, layout in PAIRS, "int8" if number % 5 == 4 else "float32")
        found[said] = outcome
        assert outcome.kind in ("encoded", "refused"), f"{said}: {outcome}"
        assert outcome.seconds < PATIENCE, f"{said}: {outcome}"
        assert outcome.megabytes < peaks[layout] + MOST_MEGABYTES, f"{said}: {outcome}"
        shutil.rmtree(folder)
    return found


def test_some(honest: dict[str, Path], peaks: dict[str, float], loader: ForkingLoader, tmp_path: Path) -> None:
    found = attacked(range(40), honest, peaks, loader, tmp_path / "model")
    assert len(found) == 40


@pytest.mark.slow
def test_five_hundred(honest: dict[str, Path], peaks: dict[str, float], loader: ForkingLoader, tmp_path: Path) -> None:
    found = attacked(range(500), honest, peaks, loader, tmp_path / "model")
    kinds = Counter(outcome.kind for outcome in found.values())
    slowest = max(found, key=lambda said: found[said].seconds)
    largest = max(found, key=lambda said: found[said].megabytes)
    print(f"\n{len(found)} folders in {len(LAYOUTS)} layouts: {dict(kinds)}; honest peak {max(peaks.values()):.0f} MB")
    print(f"slowest {found[slowest].seconds:.1f} s ({slowest}); largest {found[largest].megabytes:.0f} MB ({largest})")
    assert kinds["refused"] > 250
    assert kinds["encoded"] > 25
