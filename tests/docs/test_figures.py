"""Figures that a document quotes are those of the table they come from, and every table says what makes it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .documents import ROOT, read_rows

README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
PERFORMANCE, RESULTS, HOWTO = (ROOT / "docs" / name for name in ("performance.md", "results.md", "howto.md"))
BUILDS = read_rows(PERFORMANCE, "engine")
COMMAND = re.compile(r"make bench-|python (?:benchmarks|experiments|scripts)/|\| command \|")
WORK = ROOT / "build" / "bge_m3"


def build_of(engine: str) -> dict[str, str]:
    (row,) = [row for name, row in BUILDS.items() if re.fullmatch(rf"{re.escape(engine)} \d[\d.]*", name[0])]
    return row


def default_of(engine: str) -> dict[str, str]:
    """Its default point at k = 10 on one thread."""
    return BUILDS[(engine, "10", "default")]


def test_readme_quotes_our_build_and_search() -> None:
    build, search = build_of("asterism 4-bit"), default_of("asterism 4-bit")
    assert f"built in {build['build s']} s on two cores" in README
    assert f"{float(build['bytes per vector']):.0f} bytes a vector" in README
    assert f"{search['ms']} ms a query on one core at a recall@10 of {search['recall@10']}" in README
    fine = default_of("asterism 4-bit+float16")
    assert f"{fine['ms']} ms at {fine['recall@10']} with a float16 copy" in README


def test_readme_quotes_the_smallest_lead() -> None:
    defaults = [row for name, row in BUILDS.items() if name[1:2] == ("10",) and row["point"].startswith("default")]
    peers = {row["engine"]: float(row["times faster"]) for row in defaults if row["times faster"]}
    assert len(peers) == 6
    assert (
        f"Each of six published engines, at its default settings, takes at least {min(peers.values())} times" in README
    )


def test_readme_quotes_hybrid_and_the_best_single_view() -> None:
    def two(name: str) -> tuple[float, float]:
        row = {column: cell.strip("*") for column, cell in read_rows(RESULTS, "")[(name,)].items()}
        return float(row["hybrid"]), max(float(row[view]) for view in ("dense", "lexical", "colbert"))

    hybrid, single = two("mean")
    assert f"a mean nDCG@10 of {hybrid:.1f}; the best single view {single:.1f}" in README
    hybrid, single = two("scifact")
    assert f"on scifact {hybrid:.1f} and {single:.1f}" in README


@pytest.mark.parametrize(
    ("bits", "engine"),
    [
        ("2", "asterism 2-bit"),
        ("4 (default)", "asterism 4-bit"),
        ('4 with `refinement="float16"`', "asterism 4-bit+float16"),
    ],
)
def test_howto_quotes_sizes_and_recall(bits: str, engine: str) -> None:
    size, recall = build_of(engine)["bytes per vector"], default_of(engine)["recall@10"]
    assert f"| {bits} | {size} | {recall} |" in HOWTO.read_text(encoding="utf-8")


@pytest.mark.parametrize("document", [PERFORMANCE, RESULTS], ids=lambda path: path.name)
def test_every_table_names_its_command(document: Path) -> None:
    """In its section, or before the first one."""
    first, *sections = document.read_text(encoding="utf-8").split("\n## ")
    for section in sections:
        if "\n|---" in section:
            assert COMMAND.search(section.split("\n|---")[0]) or COMMAND.search(first), section.splitlines()[0]


def test_results_are_those_of_the_last_run() -> None:
    if not WORK.exists():
        pytest.skip(f"{WORK} is not here: experiments/bge_m3/run.py makes it")
    command = [sys.executable, str(ROOT / "scripts" / "results_tables.py"), "--check", "--work", str(WORK)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_tables_are_replaced(tmp_path: Path) -> None:
    from scripts.results_tables import replace_tables

    (tmp_path / "english.md").write_text("### Title\n\n| a |\n|---|\n| 2 |\n")
    text = "x\n<!-- table: english -->\n\n| a |\n|---|\n| 1 |\n\n<!-- table: other -->\n\n| b |\n\ny\n"
    assert replace_tables(text, tmp_path) == text.replace("| 1 |", "| 2 |")
