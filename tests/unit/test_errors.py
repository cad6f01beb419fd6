"""Every error has a code that programs can rely on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import asterism.results
from asterism import errors
from asterism.errors import AsterismError, UnknownDocument

SCHEMA = json.loads((Path(asterism.results.__file__).parent / "schema.json").read_text(encoding="utf-8"))


def error_classes() -> list[type[AsterismError]]:
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, AsterismError)]
    return [kind for kind in found if not kind.__name__.startswith("_")]


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [vars(kind)["code"] for kind in error_classes()]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in codes)


def test_the_schema_lists_every_code() -> None:
    listed = SCHEMA["$defs"]["error"]["properties"]["error"]["properties"]["code"]["enum"]
    assert sorted(listed) == sorted(kind.code for kind in error_classes())


def test_an_error_as_json() -> None:
    error = UnknownDocument("there is no document with the id 'cow'")
    assert error.to_json() == {"error": {"code": "unknown-document", "message": str(error)}}


def test_the_docstring_draws_every_class() -> None:
    drawn = re.findall(r"^[│├└─ ]*(\w+)", errors.__doc__.split("\n\n")[1], re.MULTILINE)
    assert sorted(drawn) == sorted(kind.__name__ for kind in error_classes())
