"""The picture in docs/design.md, enforced: folders, sizes, who may import whom, and what `import asterism` costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

import asterism

ROOT = Path(__file__).parents[1]
SOURCE = Path(asterism.__file__).parent
VALUES = {"errors", "settings", "documents", "results", "representations"}
MAY_IMPORT = {
    "errors": set(),
    "files": {"errors"},
    "settings": {"errors"},
    "documents": {"errors", "settings", "files"},
    "results": {"errors", "documents", "files"},
    "representations": {"errors"},
    "terms": {"errors", "representations"},
    "models": {"errors", "files"},
    "encoders": {"errors", "settings", "files", "representations", "terms", "models"},
    "training": VALUES | {"files", "models", "encoders"},
    "kernels": {"errors"},
    "storage": {"errors", "files", "kernels"},
    "views": {"errors", "settings", "files", "representations", "kernels", "storage"},
    "factorised": {"errors", "settings", "files", "storage"},
    "collection": VALUES | {"files", "storage", "views"},
    "search": VALUES | {"storage", "views", "collection"},
    "retriever": VALUES | {"terms", "models", "encoders", "storage", "views", "factorised", "collection", "search"},
    "evaluation": VALUES | {"files", "retriever"},
    "adapters": VALUES | {"retriever"},
    "recipes": VALUES | {"files", "models", "encoders", "views", "retriever", "training"},
    "cli": VALUES | {"files", "models", "encoders", "factorised", "retriever", "evaluation", "recipes", "training"},
}
HEAVY = {"torch", "transformers"}
MAY_BE_HEAVY = {"encoders/runtimes/torch.py"}  # and training


def part_of(file: Path) -> str:
    return file.relative_to(SOURCE).with_suffix("").parts[0]


def imports_of(file: Path) -> set[str]:
    """Parts of asterism and other packages that a file imports, at any place."""
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
    assert part == "training" or bool(imports_of(file) & HEAVY) == (str(file.relative_to(SOURCE)) in MAY_BE_HEAVY)
    assert "asterism" not in imports_of(file)


def test_import_is_light() -> None:
    """It loads only NumPy; docs/performance.md has the time."""
    heavy = ("torch", "transformers", "onnx", "onnxruntime", "tokenizers", "typer", "rich")
    heavy += ("langchain_core", "llama_index", "mteb")
    code = f"import sys, asterism; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def names_for_type_checkers() -> dict[str, set[str]]:
    """Module -> names that asterism/__init__.py imports from it under TYPE_CHECKING."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    assert all(isinstance(node, ast.ImportFrom) and node.level == 1 for node in block.body)
    return {node.module: {name.asname or name.name for name in node.names} for node in block.body}


def test_all_is_what_is_visible() -> None:
    """One list of public names: for people, for `dir`, for `import *`, for type checkers and for lazy loading."""
    assert dir(asterism) == sorted(asterism.__all__)
    assert len(set(asterism.__all__)) == len(asterism.__all__)
    homes = {home: set(names) for home, names in asterism._HOMES.items()}
    assert names_for_type_checkers() == homes
    names = [name for names in asterism._HOMES.values() for name in names]
    assert sorted([*names, "__version__"]) == sorted(asterism.__all__)
    for home, names in homes.items():
        module = import_module(f"asterism.{home}")
        assert {name: getattr(asterism, name) for name in names} == {name: getattr(module, name) for name in names}


def test_a_star_import_gives_exactly_the_public_names() -> None:
    space: dict[str, object] = {}
    exec("from asterism import *", space)
    assert space.keys() - {"__builtins__"} == set(asterism.__all__)


def test_version_is_the_packages() -> None:
    assert asterism.__version__ == version("asterism")


LONGEST_FILE, LONGEST_FUNCTION = 350, 60


@pytest.mark.parametrize(
    "file",
    sorted(SOURCE.rglob("*.py")),
    ids=lambda file: str(file.relative_to(SOURCE)),
)
def test_files_and_functions_are_short(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_FILE
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = [(function.name, function.end_lineno - function.lineno + 1) for function in functions]
    assert [(name, length) for name, length in lengths if length > LONGEST_FUNCTION] == []


def folders_in(root: Path) -> set[str]:
    """Folders with files; a moved folder may leave one with only __pycache__ behind."""
    files = [path.relative_to(root) for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(folder) for file in files for folder in file.parents if folder != Path()}


def test_unit_tests_mirror_the_source() -> None:
    unit = folders_in(ROOT / "tests" / "unit")
    assert unit
    assert unit <= folders_in(SOURCE)


LINE = re.compile(r"(?P<indent>(?:  )*)(?P<name>[^ ]+)/(?: +(?P<about>.+))?")
FILE = re.compile(r"[\w-]+\.(?:py|cpp|hpp|inl)\b")


def drawn_folders() -> dict[Path, str]:
    """Folder -> description, from the first block under "## Folders": one line a folder, indented by depth."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    block = text.partition("\n## Folders\n")[2].split("```")[1]
    found: dict[Path, str] = {}
    path: list[str] = []
    for line in block.strip("\n").splitlines():
        match = LINE.fullmatch(line)
        assert match, f"not `name/  description`: {line!r}"
        depth = len(match["indent"]) // 2
        assert depth <= len(path), f"indented too far: {line!r}"
        path = [*path[:depth], match["name"]]
        place = ROOT.joinpath(*path)
        assert place not in found, f"twice: {line!r}"
        found[place] = match["about"] or ""
    return found


@pytest.mark.parametrize(("root", "deep"), [("src/asterism", True), ("native", True), ("tests", False)])
def test_design_draws_the_folders_that_exist(root: str, deep: bool) -> None:
    """All folders of the source, and the top folders of the tests, of which `unit` mirrors the source."""
    top = ROOT / root
    drawn = {str(folder.relative_to(top)) for folder in drawn_folders() if top in folder.parents}
    assert drawn == {folder for folder in folders_in(top) if deep or "/" not in folder}


def test_design_names_files_that_exist() -> None:
    drawn = drawn_folders()
    assert all(folder.is_dir() for folder in drawn)
    named = {folder / name for folder, about in drawn.items() for name in FILE.findall(about)}
    assert len(named) > 50
    assert {str(file.relative_to(ROOT)) for file in named if not file.is_file()} == set()
