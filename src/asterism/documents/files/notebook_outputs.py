"""What a cell of a notebook printed, showed and returned, and how it failed."""

from __future__ import annotations

import re
from typing import Any

from .html import HIDDEN, HtmlReader
from .outline import Outline
from .source import SourceWriter

LONGEST_HTML = 1 << 16  # characters of a page in an output: the rest is not parsed
OBJECT = re.compile(r"<[^<>]* object(?: at 0x[0-9a-f]+)?>")  # what Python says of a thing that is shown in another form


def read_outputs(outputs: Any, longest: int) -> str:
    """The beginning of all outputs of a cell as text: up to `longest` characters."""
    found = ""
    for output in outputs if isinstance(outputs, list) else []:
        if isinstance(output, dict) and len(found) < longest:
            text = _read_output(output)[:longest].rstrip()
            found += f"{text}\n" if text else ""
    return found[:longest].strip("\n")


def join_text(given: Any) -> str:
    """A text, which may be a list of lines."""
    lines = given if isinstance(given, list) else [given]
    return "".join(line for line in lines if isinstance(line, str))


def _read_output(output: dict[str, Any]) -> str:
    """What it printed, the best form of what it showed, or the name and the message of its error."""
    data = output.get("data")
    shown = _choose_form(data) if isinstance(data, dict) else ""
    error = ": ".join(filter(None, (join_text(output.get(name)) for name in ("ename", "evalue"))))
    return join_text(output.get("text")) or shown or error


def _choose_form(data: dict[str, Any]) -> str:
    """Markdown, text, a page or LaTeX: the first that there is. A text that only names an object is the last."""
    plain = join_text(data.get("text/plain"))
    is_named = OBJECT.fullmatch(plain.strip()) is not None
    forms = (
        join_text(data.get("text/markdown")),
        "" if is_named else plain,
        _read_page(join_text(data.get("text/html"))),
        join_text(data.get("text/latex")),
        plain,
    )
    return next((form for form in forms if form.strip()), "")


def _read_page(text: str) -> str:
    writer = SourceWriter()
    HtmlReader(writer, Outline(), HIDDEN, lines=False).read(text[:LONGEST_HTML])
    return writer.finish().text
