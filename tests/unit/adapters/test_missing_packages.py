"""Without its package an adapter says what to install."""

from __future__ import annotations

import importlib
import sys

import pytest

from asterism.errors import MissingPackage


@pytest.mark.parametrize(
    ("adapter", "module", "package", "extra"),
    [
        ("langchain", "langchain_core", "langchain-core", "langchain"),
        ("llama_index", "llama_index", "llama-index-core", "llama-index"),
        ("mteb", "mteb", "mteb", "mteb"),
    ],
)
def test_message(adapter: str, module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = f"asterism.adapters.{adapter}"
    for name in list(sys.modules):
        if name.split(".")[0] == module or name == ours or name.startswith(f"{ours}."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackage, match=rf"needs {package} \(.+\): pip install 'asterism\[{extra}\]'$"):
        importlib.import_module(f"asterism.adapters.{adapter}")
