"""A corpus that every installation has: the docstrings of Python's standard library.

Python files are parsed, not imported. Only modules in C are imported, because they have no source.
"""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import inspect
import os
import sys
import sysconfig
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

from ..errors import DocumentError
from .document import Document

SKIPPED = {
    *("test", "tests", "idlelib", "lib2to3", "turtledemo", "ensurepip", "pydoc_data"),
    *("antigravity", "this", "xxlimited", "xxlimited_35", "xxsubtype"),
    "readline",  # changes the terminal when it is imported
}
C_ROUTINES = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    staticmethod,
)

Definition = ast.FunctionDef | ast.AsyncFunctionDef
Entry = tuple[str, str, str, str | None]  # id, title, kind, docstring


def read_stdlib_documents() -> Iterator[Document]:
    """One document for each public module, class, method and function that has a docstring, sorted by id."""
    found: dict[str, Document] = {}
    for module, entries in _read_modules():
        for id, title, kind, docstring in entries:
            text = inspect.cleandoc(docstring or "").strip()
            if text and id not in found:
                try:
                    found[id] = Document(id, text, title, {"kind": kind, "module": module})
                except DocumentError:  # half a surrogate pair in a codec's examples
                    continue
    yield from (found[id] for id in sorted(found))


def _read_modules() -> Iterator[tuple[str, Iterator[Entry]]]:
    stdlib = Path(sysconfig.get_path("stdlib"))
    for module, file in sorted(_find_python_files(stdlib)):
        yield module, _parse_file(module, file)
    for module in _find_c_modules(stdlib):
        yield module, _inspect_c_module(module)


def _is_public(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_") and name not in SKIPPED


# --- Python files ---


def _find_python_files(stdlib: Path) -> Iterator[tuple[str, Path]]:
    """The dotted name and the source file of every public module."""
    for folder, below, files in os.walk(stdlib):
        package = Path(folder).relative_to(stdlib).parts
        below[:] = [name for name in below if _is_public(name) and (package or name in sys.stdlib_module_names)]
        for file in files:
            stem, suffix = os.path.splitext(file)
            parts = package if stem == "__init__" else (*package, stem)
            if suffix == ".py" and parts and all(map(_is_public, parts)) and parts[0] in sys.stdlib_module_names:
                yield ".".join(parts), Path(folder) / file


def _parse_file(module: str, file: Path) -> Iterator[Entry]:
    try:
        with warnings.catch_warnings():  # escapes such as "\d" in old files
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    yield module, module, "module", ast.get_docstring(tree, clean=False)
    yield from _find_definitions(module, tree.body, "function")


def _find_definitions(parent: str, body: list[ast.stmt], kind: str) -> Iterator[Entry]:
    """The classes and functions in the body of a module or class, also inside an if, a try or a with."""
    for node in body:
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from _find_definitions(parent, _list_statements(node), kind)
        elif isinstance(node, Definition | ast.ClassDef) and _is_public(node.name):
            name = f"{parent}.{node.name}"
            docstring = ast.get_docstring(node, clean=False)
            if isinstance(node, ast.ClassDef):
                yield name, name + _write_class_signature(node) if docstring else name, "class", docstring
                yield from _find_definitions(name, node.body, "method")
            elif docstring:
                yield name, name + _write_signature(node, kind == "method"), kind, docstring


def _list_statements(node: ast.If | ast.Try | ast.With) -> list[ast.stmt]:
    """The statements of all branches, in order."""
    handlers = [statement for handler in getattr(node, "handlers", []) for statement in handler.body]
    return [*node.body, *handlers, *getattr(node, "orelse", []), *getattr(node, "finalbody", [])]


def _write_class_signature(node: ast.ClassDef) -> str:
    """The signature of the class's own __init__, or an empty string."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            return _write_signature(statement, True)
    return ""


def _write_signature(node: Definition, is_method: bool) -> str:
    """The signature for a caller, without self or cls; empty for a property."""
    decorators = {ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list}
    if decorators & {"property", "cached_property", "abstractproperty", "setter", "DynamicClassAttribute"}:
        return ""
    arguments = node.args
    if is_method and "staticmethod" not in decorators:
        positional = arguments.posonlyargs or arguments.args
        del positional[:1]
        del arguments.defaults[: max(0, len(arguments.defaults) - len(arguments.posonlyargs) - len(arguments.args))]
    return f"({ast.unparse(arguments)})"


# --- modules in C ---


def _find_c_modules(stdlib: Path) -> list[str]:
    """Public modules that are built in, or shared libraries of the standard library."""
    shared = {
        str(stdlib / "lib-dynload"),
        sysconfig.get_config_var("DESTSHARED"),
        os.path.join(sys.base_prefix, "DLLs"),
    }
    folders = sorted(folder for folder in shared if folder)
    found = []
    for name in filter(_is_public, sys.stdlib_module_names):
        spec = importlib.machinery.PathFinder.find_spec(name, folders)
        is_shared = spec is not None and isinstance(spec.loader, importlib.machinery.ExtensionFileLoader)
        if is_shared or name in sys.builtin_module_names:
            found.append(name)
    return sorted(found)


def _inspect_c_module(name: str) -> Iterator[Entry]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # audioop, nis, spwd …
            module = importlib.import_module(name)
    except ImportError:  # a library that it needs is missing
        return
    yield name, name, "module", _get_docstring(module)
    for key, value in sorted(vars(module).items()):
        is_its_own = getattr(value, "__module__", None) == name and getattr(value, "__name__", None) == key
        if not is_its_own or not _is_public(key):
            continue
        if isinstance(value, type):
            yield f"{name}.{key}", f"{name}.{key}", "class", _get_docstring(value)
            for method, routine in sorted(vars(value).items()):
                if _is_public(method) and isinstance(routine, C_ROUTINES):
                    yield f"{name}.{key}.{method}", f"{name}.{key}.{method}", "method", _get_docstring(routine)
        elif isinstance(value, types.BuiltinFunctionType):
            yield f"{name}.{key}", f"{name}.{key}", "function", _get_docstring(value)


def _get_docstring(thing: object) -> str | None:
    docstring = (thing.__func__ if isinstance(thing, staticmethod) else thing).__doc__
    return docstring if isinstance(docstring, str) else None
