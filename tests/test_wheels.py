"""What pyproject.toml promises about wheels; `make wheel` builds and tests those of a machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]


def test_pyproject_names_the_same_versions_of_python_everywhere() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")  # Python 3.10 cannot parse it by itself
    assert re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text) == VERSIONS
    (built,) = re.findall(r"^build = \[(.*)\]$", text, re.M)
    assert re.findall(r'"cp(\d+)-\*"', built) == [version.replace(".", "") for version in VERSIONS]
    assert re.findall(r'^requires-python = "(.*)"$', text, re.M) == [f">={VERSIONS[0]}"]
    assert re.findall(r'^target-version = "(.*)"$', text, re.M) == ["py310"]


def test_the_smoke_test_refuses_the_source_itself() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "smoke_test.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "expected an installed one: install a wheel first" in done.stderr
