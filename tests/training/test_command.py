"""The command `asterism train`: what it prints, what it refuses, and that Ctrl-C loses nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from scripts.json_docs import COMMANDS

from tests.training.tiny import SMALL, SMALL_PAIRS

COMMAND = [str(Path(sys.executable).with_name("asterism")), "train"]


def list_arguments(model: Path, pairs: Path, to: Path, *changes: str) -> list[str]:
    given = (f"model.backbone={model}", *SMALL, *changes)
    return ["xtr", "--data", str(pairs), "--to", str(to), *(part for one in given for part in ("--set", one))]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=240)


def test_json(model: Path, pairs: Path, tmp_path: Path) -> None:
    done = run(*list_arguments(model, pairs, tmp_path / "x"), "--json", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(json.loads(done.stdout)) == COMMANDS["train"]


def test_a_cross_encoder(model: Path, pairs: Path, tmp_path: Path) -> None:
    given = (f"model.backbone={model}", *SMALL_PAIRS)
    done = run("cross_cls", "--data", str(pairs), "--to", str(tmp_path / "x"), *(f"--set={one}" for one in given))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith(f"; next: asterism.load_pair_scorer('{tmp_path / 'x'}').score(QUERY, TEXTS)\n")


def test_wrong_use_is_one_line(model: Path, pairs: Path, tmp_path: Path) -> None:
    done = run(*list_arguments(model, pairs, tmp_path / "x", "run.rat=1"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "[run] has no setting 'rat': did you mean 'rate'?" in done.stderr
    done = run(*list_arguments(model, pairs, tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "exists already" in done.stderr


def test_ctrl_c_and_again(model: Path, pairs: Path, tmp_path: Path) -> None:
    arguments = list_arguments(model, pairs, tmp_path / "x", "run.steps=4000", "run.evaluate_every=2")
    running = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begin = time.monotonic()
    while not (tmp_path / "x.run" / "checkpoint.pt").exists() and time.monotonic() < begin + 200:
        time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in errors
    assert not (tmp_path / "x").exists()
    again = run(*list_arguments(model, pairs, tmp_path / "x", "run.steps=4000", "run.evaluate_every=2", "run.rate=1"))
    assert again.returncode != 0  # another run: nothing is overwritten
    assert "is of another run" in again.stderr
