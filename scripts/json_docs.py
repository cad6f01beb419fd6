"""docs/json.md: the schema, examples that the code itself wrote, and the codes of the errors.

python scripts/json_docs.py [--check]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import asterism.results
from asterism import Document, Explanation, Hit, Match, Ranking, errors
from asterism.errors import AsterismError, UnknownDocument
from asterism.results import Share

TARGET = Path(__file__).parents[1] / "docs" / "json.md"
SCHEMA = Path(asterism.results.__file__).parent / "schema.json"
REGENERATE = "python scripts/json_docs.py"
PAGE = f"""<!-- Made by `{REGENERATE}`; do not edit. -->
# Results as JSON

Results, explanations and errors have one JSON form. `asterism search --json` prints one `hit` a line, best first; in
Python every value has `to_json()`. The [schema](#the-schema) is JSON Schema (draft 2020-12) and comes with the package,
in `asterism/results/schema.json`. Keys are never renamed or removed; a later version may add some, to its schema too.

## hit

`Hit.to_json()`, and a line of `asterism search --json`:

```json
{{hit}}
```

With `--explain`, or `hit.to_json(explanation)`, also `matches` and `imputed`, for a hybrid search `shares`,
and for a search with one `length_penalty`:

```json
{{explained}}
```

## ranking

`Ranking.to_json()`; `ranking.to_json(explanations)` explains every hit. Timings are seconds.

```json
{{ranking}}
```

## explanation

`Explanation.to_json()`. Offsets count characters of the query and of the document's `field`, the end not included.

```json
{{explanation}}
```

## error

`AsterismError.to_json()`. The command prints errors as one line on stderr, with `--json` too.

```json
{{error}}
```

Programs tell errors apart by their code, which never changes; messages may change.

| code | class | means |
|---|---|---|
{{codes}}

## Other commands

Their `--json` prints one object, `list`, `get`, `evaluate` and `models` one a line: `command-NAME` of the schema. A
number that is not finite is `null`.

| command | keys |
|---|---|
{{commands}}

`tune` without `--data` prints `views` (by view, `found` and `weight`), `pairs`, `readable` and `kept`.

## The schema

```json
{{schema}}
```
"""
COMMANDS = {
    name.removeprefix("command-"): list(one["properties"])
    for name, one in json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"].items()
    if name.startswith("command-")
}
"""Command -> the keys of what it prints; a test runs them all."""

DOCUMENT = Document("fizeau", "A toothed wheel chops a beam.", "On the speed of light", {"year": 1849})
MATCHES = (
    Match("fast", 0, 4, "speed", "title", 7, 12, 0.72, False),
    Match("light", 5, 10, "light", "title", 16, 21, 0.9, False),
)


def error_classes() -> list[type[AsterismError]]:
    """Every class of the tree that is public, in the order of the file."""
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, AsterismError)]
    return [kind for kind in found if not kind.__name__.startswith("_")]


def json_docs() -> str:
    """The whole document."""
    hit = Hit(1, DOCUMENT.id, 1.62, DOCUMENT)
    explanation = Explanation("fast light", "colbert", DOCUMENT, 1.62, MATCHES)
    shares = (Share("dense", 0.5, 0.25, ()), Share("multi", 1.62, 0.41, MATCHES))
    hybrid = Explanation("fast light", "hybrid", DOCUMENT, 0.66, (), shares)
    ranking = Ranking("fast light", "colbert", (hit,), {"encode": 0.004, "probe": 0.0002})
    values = {
        "hit": _format(hit.to_json()),
        "explained": _format(Hit(1, DOCUMENT.id, 0.66, DOCUMENT).to_json(hybrid)),
        "ranking": _format(ranking.to_json()),
        "explanation": _format(explanation.to_json()),
        "error": _format(UnknownDocument("there is no document with the id 'cow'").to_json()),
        "codes": "\n".join(f"| `{kind.code}` | `{kind.__name__}` | {kind.__doc__} |" for kind in error_classes()),
        "commands": "\n".join(f"| `{name}` | {_format_keys(keys)} |" for name, keys in COMMANDS.items()),
        "schema": SCHEMA.read_text(encoding="utf-8").strip(),
    }
    return PAGE.format(**values)


def _format(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _format_keys(keys: list[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


def main(arguments: list[str]) -> int:
    """Write the file; with --check only say whether it is up to date."""
    if arguments not in ([], ["--check"]):
        print("usage: json_docs.py [--check]", file=sys.stderr)
        return 2
    wanted = json_docs()
    if arguments and TARGET.read_text(encoding="utf-8") != wanted:
        print(f"{TARGET.name} is not up to date: run {REGENERATE}", file=sys.stderr)
        return 1
    if not arguments:
        TARGET.write_text(wanted, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
