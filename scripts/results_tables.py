"""Put the tables that experiments/bge_m3/run.py made into docs/results.md.

    python experiments/bge_m3/run.py --data ../shared/data --work build/bge_m3
    python scripts/results_tables.py [--check] [--work build/bge_m3]

A table of results.md follows a comment that names it: `<!-- table: english -->`. Tables that were not made stay as they
are. With --check nothing is written: a difference is printed and the exit code is 1.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "results.md"
WORK = ROOT / "build" / "bge_m3"
TABLE = re.compile(r"^<!-- table: (?P<name>\w+) -->\n\n(?P<lines>(?:\|[^\n]*\n)+)", re.M)


def replace_tables(text: str, work: Path) -> str:
    """The document with the tables found in the work folder."""

    def replace(found: re.Match[str]) -> str:
        made = work / f"{found['name']}.md"
        if not made.exists():
            return found[0]
        lines = [line for line in made.read_text(encoding="utf-8").splitlines(True) if line.startswith("|")]
        return f"<!-- table: {found['name']} -->\n\n{''.join(lines)}"

    return TABLE.sub(replace, text)


def main() -> int:
    """Write docs/results.md, or say what is out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--work", type=Path, default=WORK)
    arguments = parser.parse_args()
    current = DOCUMENT.read_text(encoding="utf-8")
    wanted = replace_tables(current, arguments.work)
    if not arguments.check:
        DOCUMENT.write_text(wanted, encoding="utf-8", newline="\n")
        return 0
    names = (DOCUMENT.name, str(arguments.work))
    sys.stdout.writelines(difflib.unified_diff(current.splitlines(True), wanted.splitlines(True), *names))
    return int(current != wanted)


if __name__ == "__main__":
    sys.exit(main())
