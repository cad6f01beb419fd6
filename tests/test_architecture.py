"""The picture in docs/design.md, enforced: who may import whom, and what `import asterism` costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import asterism

SOURCE = Path(asterism.__file__).parent
VALUES = {"errors", "settings", "documents", "results", "representations"}
MAY_IMPORT = {
    "errors": set(),
    "files": {"errors"},
    "settings": {"errors"},
    "documents": {"errors", "files"},
    "results": {"errors", "documents", "files"},
    "representations": {"errors"},
    "terms": {"errors", "representations"},
    "models": {"errors", "files"},
    "encoders": {"errors", "settings", "files", "representations", "terms", "models"},
    "kernels": {"errors"},
    "storage": {"errors", "files", "kernels"},
    "views": {"errors", "settings", "files", "representations", "kernels", "storage"},
    "collection": VALUES | {"files", "storage", "views"},
    "search": VALUES | {"views", "collection"},
    "retriever": VALUES | {"terms", "models", "encoders", "storage", "views", "collection", "search"},
    "evaluation": VALUES | {"files", "retriever"},
    "adapters": VALUES | {"retriever"},
    "cli": VALUES | {"files", "models", "retriever", "evaluation"},
}
HEAVY = {"torch", "transformers"}
MAY_BE_HEAVY = {"encoders/runtimes/torch.py"}


def part_of(file: Path) -> str:
    return file.relative_to(SOURCE).with_suffix("").parts[0]


def imports_of(file: Path) -> set[str]:
    """Parts of asterism, and outside packages, that a file imports anywhere in it."""
    found = set()
    depth = len(file.relative_to(SOURCE).parts)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.level == depth:
            found |= {node.module.split(".")[0]} if node.module else {name.name for name in node.names}
    return found


FILES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.name != "__init__.py")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports(file: Path) -> None:
    part = part_of(file)
    parts = {path.stem if path.suffix == ".py" else path.name for path in SOURCE.iterdir()}
    inside = imports_of(file) & parts - {part}
    assert inside <= MAY_IMPORT[part], f"{part} imports {inside - MAY_IMPORT[part]}"
    assert not imports_of(file) & HEAVY or str(file.relative_to(SOURCE)) in MAY_BE_HEAVY
    assert "asterism" not in imports_of(file)


def test_import_is_light() -> None:
    """Only NumPy; what `python -X importtime` adds up to is in docs/performance.md."""
    heavy = ("torch", "transformers", "onnx", "onnxruntime", "tokenizers", "typer", "rich")
    heavy += ("langchain_core", "llama_index", "mteb")
    code = f"import sys, asterism; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_all_is_true() -> None:
    assert sorted(asterism.__all__) == sorted(set(asterism.__all__))
    for name in asterism.__all__:
        assert hasattr(asterism, name)


def test_version_is_the_packages() -> None:
    from importlib.metadata import version

    assert asterism.__version__ == version("asterism")
