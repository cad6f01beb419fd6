"""Run every block of README.md, docs/quickstart.md, howto.md and encoders.md, and write what it prints below it.

    python scripts/docs_output.py [--check] [--data DIR] [FILE …]

Each document runs in an empty folder of its own, from top to bottom. What a block is, its first line says:

    ```sh        commands that must succeed; their output is not shown
    ```console   lines that begin with `$ ` are commands; what a terminal of 80 columns shows follows each
    ```python    a program; a ```text block right after it holds what it prints

`needs=NAME` after the language: run only if NAME is a folder of --data, an installed package or a program.
`by-hand` after it: never run here (it would install or test the project itself, or is a sketch).

With --check nothing is written: a difference is printed and the exit code is 1. Seconds, milliseconds and megabytes do
not count as differences, nor do the last digits of scores.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib.util
import io
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "docs/quickstart.md", "docs/howto.md", "docs/encoders.md")
BLOCK = re.compile(
    r"^```(?P<language>\w+)(?P<words>[^\n]*)\n(?P<body>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.M | re.S
)
COMMAND = re.compile(r"^\$ (?P<command>(?:[^\n]*[|\\]\n)*[^\n]*)\n(?P<shown>(?:(?!\$ )[^\n]*\n)*)", re.M)
SCORE = re.compile(r"\b\d+\.\d{3,}\b")  # its last digit depends on the instructions that a processor has
VARYING = re.compile(r"\b\d[\d,]*(\.\d+)?(?= (s|ms|MB)\b)")


@dataclass(frozen=True)
class Block:
    """A fenced block of a document, with the output that the document shows for it."""

    language: str
    words: tuple[str, ...]  # after the language
    body: str
    shown: str  # of the text block that follows Python; empty where there is none
    line: int  # of the first line of the body, from 0

    @property
    def by_hand(self) -> bool:
        """Whether only a person runs it."""
        return "by-hand" in self.words

    @property
    def needs(self) -> list[str]:
        """What must be there to run it."""
        return [word.removeprefix("needs=") for word in self.words if word.startswith("needs=")]


@dataclass(frozen=True)
class Folder:
    """Where the blocks of one document run."""

    path: Path
    data: Path | None

    def has(self, name: str) -> bool:
        """Whether a folder of the data (linked here from now on), a package or a program has this name."""
        if self.data is not None and (self.data / name).is_dir():
            if not (self.path / name).exists():
                (self.path / name).symlink_to((self.data / name).resolve())
            return True
        return importlib.util.find_spec(name) is not None or shutil.which(name) is not None

    def run_commands(self, script: str) -> str:
        """What a terminal shows of some commands: stdout, then stderr; paths are shown as if relative to here."""
        # stdout is a terminal, stderr is not: progress bars would be drawn there.
        environment = {**os.environ, "TERM": "dumb"}  # 80 columns, no colours
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        ours, theirs = pty.openpty()
        with tempfile.TemporaryFile() as notes, os.fdopen(ours, "rb", buffering=0) as terminal:
            running = subprocess.Popen(
                ["bash", "-ec", script],
                cwd=self.path,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=notes,
            )
            os.close(theirs)
            printed = _read_to_the_end(terminal)
            code = running.wait()
            notes.seek(0)
            output = _clean((printed + notes.read()).decode().replace(f"{self.path}/", ""))
        if code:
            raise SystemExit(f"{script}\nended with {code}:\n{output}")
        return output

    def run_python(self, block: Block, document: Path) -> str:
        """What a program prints; a traceback names the document's own lines."""
        program = compile("\n" * block.line + block.body, str(document), "exec")
        printed = io.StringIO()
        before = Path.cwd()
        os.chdir(self.path)
        try:
            with contextlib.redirect_stdout(printed):
                exec(program, {"__name__": "__main__"})
        finally:
            os.chdir(before)
        return _clean(printed.getvalue())


def find_blocks(text: str) -> Iterator[tuple[re.Match[str], Block]]:
    """The fenced blocks of a document that name a language, and their places."""
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("body"))
        yield found, Block(found["language"], tuple(found["words"].split()), found["body"], found["shown"] or "", line)


def make_output(document: Path, folder: Folder) -> str:
    """The document, each of its blocks with what it prints now."""
    text = document.read_text(encoding="utf-8")
    parts, end = [], 0
    for found, block in find_blocks(text):
        lacking = [name for name in block.needs if not folder.has(name)]
        if lacking:
            print(f"{document.name}:{block.line}: not run, needs {' '.join(lacking)}", file=sys.stderr)
        if lacking or block.by_hand:
            continue
        parts += [text[end : found.start()], _run(block, document, folder, found[0])]
        end = found.end()
    return "".join([*parts, text[end:]])


def _run(block: Block, document: Path, folder: Folder, source: str) -> str:
    """The source of a block as it should be."""
    if block.language == "sh":
        folder.run_commands(block.body)
        return source
    if block.language == "console":
        body = COMMAND.sub(lambda one: _with_output(one, folder.run_commands), block.body)
        return source.replace(block.body, body)
    if block.language == "python":
        printed = folder.run_python(block, document)
        if same(printed, block.shown):
            return source
        source = source[: source.index("```\n", 3) + 4]
        return f"{source}\n```text\n{printed}```\n" if printed else source
    return source


def _with_output(one: re.Match[str], run: Callable[[str], str]) -> str:
    """A command of a console block and what it prints."""
    printed, shown = run(one["command"]), one["shown"]
    blank = shown[len(shown.rstrip("\n")) + 1 :] if shown.strip() else shown  # before the next command
    if same(printed, shown.strip("\n") + "\n" if shown.strip() else ""):
        return one[0]
    return f"$ {one['command']}\n{printed}{blank}"


def same(first: str, second: str) -> bool:
    """Whether two outputs differ in nothing but what varies from run to run, or from one processor to another."""
    first, second = VARYING.sub("…", first), VARYING.sub("…", second)
    pairs = list(zip(SCORE.findall(first), SCORE.findall(second), strict=False))
    near = all(
        len(a) == len(b) and abs(float(a) - float(b)) < 2.5 * 10.0 ** -len(a.partition(".")[2]) for a, b in pairs
    )
    return near and SCORE.sub("…", first) == SCORE.sub("…", second)


def _clean(printed: str) -> str:
    lines = printed.replace("\r\n", "\n").strip("\n").split("\n")
    return "".join(f"{line.rstrip()}\n" for line in lines) if any(lines) else ""


def _read_to_the_end(terminal: io.RawIOBase) -> bytes:
    parts = []
    with contextlib.suppress(OSError):  # Linux says EIO when the last program has closed it
        while part := terminal.read(65536):
            parts.append(part)
    return b"".join(parts)


def main() -> int:
    """Write the documents, or say what is out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    stale = False
    for document in [path.resolve() for path in arguments.files] or [ROOT / name for name in DOCUMENTS]:
        with tempfile.TemporaryDirectory() as folder:
            wanted = make_output(document, Folder(Path(folder).resolve(), arguments.data))
        current = document.read_text(encoding="utf-8")
        if wanted == current:
            continue
        if arguments.check:
            stale = True
            names = (document.name, "what it prints now")
            sys.stdout.writelines(difflib.unified_diff(current.splitlines(True), wanted.splitlines(True), *names))
        else:
            document.write_text(wanted, encoding="utf-8", newline="\n")
    if stale:
        print("output in the documents is not up to date: run python scripts/docs_output.py", file=sys.stderr)
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
