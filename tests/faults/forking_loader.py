"""Loads each folder in its own fork and encodes two texts: imports happen once, and a crash ends only the fork.

python -m tests.faults.forking_loader     reads lines "kind<TAB>precision<TAB>folder", answers with an Outcome as JSON
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

import asterism
from asterism.errors import AsterismError

TEXTS = ["The quick brown fox: naïve café, 東京!", "How do I run a function every few seconds? " * 8]
PATIENCE = 10.0  # seconds
MOST_ADDRESSES = 8 << 30  # bytes: an allocation bomb must not exhaust the machine


@dataclass(frozen=True)
class Outcome:
    """What happened to a folder: encoded, refused, crashed or hung; the message, the time and the peak memory."""

    kind: str
    message: str
    seconds: float
    megabytes: float


class ForkingLoader:
    """The process that forks; for use in a with statement."""

    def __enter__(self) -> ForkingLoader:
        command = [sys.executable, "-m", __name__]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def load(self, folder: Path, pairs: bool, precision: str = "float32") -> Outcome:
        """Load `folder`, as a cross-encoder if `pairs`."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{'pairs' if pairs else 'texts'}\t{precision}\t{folder}\n")
        stdin.flush()
        return Outcome(**json.loads(stdout.readline()))


def _use(kind: str, precision: str, folder: str) -> None:
    if kind == "pairs":
        asterism.load_pair_scorer(folder, threads=1, precision=precision).score(TEXTS[0], TEXTS)
        return
    encoder = asterism.load_encoder(folder, threads=1, precision=precision)
    encoder.encode_document(TEXTS)
    encoder.encode_query(TEXTS)
    if "multi" in encoder.views:
        encoder.document_spans(TEXTS[0])
    encoder.describe()


def _in_child(*given: str) -> tuple[str, str]:
    try:
        _use(*given)
    except AsterismError as error:
        message = str(error)
        right = message.strip() and len(message.splitlines()) == 1 and len(message) < 2500
        return ("refused" if right else "crashed"), message[:3000]
    except BaseException:
        return "crashed", traceback.format_exc()[-2000:]
    return "encoded", ""


def _outcome(*given: str) -> Outcome:
    reader, writer = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
        os.write(writer, json.dumps(_in_child(*given)).encode())
        os._exit(0)
    os.close(writer)
    answered = bool(select.select([reader], [], [], PATIENCE)[0])
    if not answered:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    _, status, used = os.wait4(child, 0)
    what, message = json.loads(answer) if answer else ("crashed", f"signal {os.WTERMSIG(status)}")
    return Outcome(what if answered else "hung", message, time.monotonic() - began, used.ru_maxrss / 1024)


def main() -> None:

    for line in sys.stdin:
        print(json.dumps(asdict(_outcome(*line.rstrip("\n").split("\t")))), flush=True)


if __name__ == "__main__":
    main()
