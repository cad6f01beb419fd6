"""The schema of what asterism answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import asterism.results

SCHEMA = json.loads((Path(asterism.results.__file__).parent / "schema.json").read_text(encoding="utf-8"))
Validate = Callable[[str, Any], None]


@pytest.fixture(scope="session")
def validate() -> Validate:
    """Raises if a value, as a client parses it, is not the named object of the schema."""
    Draft202012Validator.check_schema(SCHEMA)
    validators = {name: Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"}) for name in SCHEMA["$defs"]}
    return lambda name, value: validators[name].validate(json.loads(json.dumps(value, allow_nan=False)))
