"""Does an installed asterism work? Three documents, a search by words, and a token index; no model, no network.

    python scripts/smoke_test.py

Runs in an empty folder, so that it is the installed package that is tested and not the one of this repository.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
DOCUMENTS = {
    "roemer": "Light takes time to travel.",
    "fizeau": "A toothed wheel chops a beam of light.",
    "darwin": "Natural selection preserves favourable variations.",
}


def search_words() -> list[str]:
    """The ids that the command finds in an index of words."""
    lines = [json.dumps({"_id": id, "text": text}) for id, text in DOCUMENTS.items()]
    Path("three.jsonl").write_text("\n".join(lines), encoding="utf-8")
    run_command("index", "three.jsonl", "--to", "three.ast", "--views", "lexical")
    found = run_command("search", "three.ast", "a wheel for light", "--json")
    return [json.loads(line)["id"] for line in found.splitlines()]


def run_command(*arguments: str) -> str:
    """What the command prints."""
    command = [str(Path(sys.executable).parent / "asterism"), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def search_tokens() -> int:
    """The document of a token index whose own vectors are the query."""
    import numpy as np

    from asterism import TokenIndex

    vectors = np.random.default_rng(0).standard_normal((3, 5, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    index = TokenIndex.build("three.tokens", list(vectors))
    return int(index.search(vectors[1], 1).ids[0])


def main() -> None:
    """Run it all."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        import asterism
        from asterism.kernels import _native

        if SOURCE in Path(asterism.__file__).resolve().parents:
            raise SystemExit(f"asterism is that of {SOURCE}, expected an installed one: install a wheel first")
        words, tokens = search_words(), search_tokens()
        os.chdir(SOURCE)  # the folder can go
    if words != ["fizeau", "roemer"] or tokens != 1:
        raise SystemExit(f"found {words} and {tokens}, expected ['fizeau', 'roemer'] and 1")
    kernels = ", ".join(_native.kernel_names())
    print(f"asterism {asterism.__version__} works with Python {platform.python_version()}; kernels: {kernels}")


if __name__ == "__main__":
    main()
