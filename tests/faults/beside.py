"""Processes that work beside each other until they are told to stop, by the end of their standard input."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONG = 300.0  # seconds without a line after which a process is taken to be stuck

Process = subprocess.Popen[str]


def start(module: str, *arguments: object) -> Process:
    command = [sys.executable, "-m", f"tests.faults.{module}", *map(str, arguments)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, cwd=ROOT, text=True, **pipes)


@contextmanager
def ended(processes: list[Process]) -> Iterator[None]:
    """Kill those that still run when the block ends."""
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def wait_for_line(process: Process) -> str:
    assert select.select([process.stdout], [], [], LONG)[0], f"no line from {process.args} in {LONG} s"
    return process.stdout.readline() or process.stderr.read()


def stop(processes: list[Process]) -> list[str]:
    """Tell all of them to stop, then wait; returns what each has printed since the last line."""
    for process in processes:
        process.stdin.close()
        process.stdin = None
    printed = [process.communicate(timeout=LONG) for process in processes]
    for process, (out, errors) in zip(processes, printed, strict=True):
        assert process.returncode == 0, out + errors
    return [out for out, _ in printed]


def is_stopped() -> bool:
    """Called by such a process: has its standard input ended?"""
    return bool(select.select([sys.stdin], [], [], 0)[0])
