"""The documents that are tested, and the tables in them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def read_rows(document: Path, first_heading: str) -> dict[tuple[str, ...], dict[str, str]]:
    """Every row of the tables whose first column has this heading: its cells by their headings.

    A row is found by its cells up to the first that is a number; a later table does not replace it.
    """
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    headings: list[str] = []
    for line in document.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            headings = []
        elif not headings:
            headings = cells
        elif headings[0] == first_heading and not set(line) <= set("|-"):
            rows.setdefault(_key(cells), dict(zip(headings, cells, strict=True)))
    return rows


def _key(cells: list[str]) -> tuple[str, ...]:
    """The cells before the first number with a decimal point."""
    names: list[str] = []
    for cell in cells:
        if "." in cell and cell.replace(".", "", 1).replace(",", "").strip("*").isdigit():
            break
        names.append(cell)
    return tuple(names)
