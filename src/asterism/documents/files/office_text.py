"""The text in the XML of Word and PowerPoint: paragraphs and tables, whatever stands around them.

Both formats call the same things by the same names, in namespaces of their own. A document of Word may have parts of
the other: its drawings. Recursion is bounded by the parser, which refuses deep documents.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from .xml_trees import parse_xml

OPEN_XML = "http://schemas.openxmlformats.org"
WORD = f"{{{OPEN_XML}/wordprocessingml/2006/main}}"
DRAWING = f"{{{OPEN_XML}/drawingml/2006/main}}"
MATHS = f"{{{OPEN_XML}/officeDocument/2006/math}}"
LINK = f"{{{OPEN_XML}/officeDocument/2006/relationships}}"
ALTERNATIVES = f"{{{OPEN_XML}/markup-compatibility/2006}}AlternateContent"

PARAGRAPHS = frozenset((f"{WORD}p", f"{DRAWING}p"))
TABLES = frozenset((f"{WORD}tbl", f"{DRAWING}tbl"))
ROWS = frozenset((f"{WORD}tr", f"{DRAWING}tr"))
CELLS = frozenset((f"{WORD}tc", f"{DRAWING}tc"))
BLOCKS = PARAGRAPHS | TABLES
LONGEST_LABEL = 200  # characters: a longer cell is not said again, or a small file could be a large text
TEXTS = frozenset((f"{WORD}t", f"{DRAWING}t", f"{MATHS}t"))
SIGNS = {
    **dict.fromkeys((f"{WORD}br", f"{WORD}cr", f"{DRAWING}br"), "\n"),
    **dict.fromkeys((f"{WORD}tab", f"{WORD}ptab"), "\t"),
    f"{WORD}noBreakHyphen": "-",
}
# What was deleted or moved away, how it looks (with the places of tabs), and how a word is pronounced.
LEFT_OUT = frozenset(f"{WORD}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "rt"))
# A diagram and a chart stand in files of their own: the element and the attribute that name them.
LINKED = {
    f"{{{OPEN_XML}/drawingml/2006/diagram}}relIds": f"{LINK}dm",
    f"{{{OPEN_XML}/drawingml/2006/chart}}chart": f"{LINK}id",
}


def find_blocks(element: Any) -> Iterator[Any]:
    """The paragraphs and tables inside an element, but not those inside each other."""
    return _find(element, BLOCKS)


def read_paragraph(paragraph: Any) -> str:
    """The text of a paragraph without that of the text boxes in it."""
    words = [
        element.text or "" if element.tag in TEXTS else SIGNS.get(element.tag, "")
        for element in _walk(paragraph, BLOCKS)
    ]
    return "".join(words).strip("\n")


def read_rows(table: Any) -> Iterator[str]:
    """A line for each row; where a cell goes on from the row above, its label is said again."""
    labels: dict[int, str] = {}  # of columns
    for row in _find(table, ROWS):
        column = _read_number(row.find(f"{WORD}trPr/{WORD}gridBefore"), 0)
        cells = []
        for cell in _find(row, CELLS):
            text = labels.get(column, "") if _goes_on(cell) else " ".join(" ".join(read_lines(cell)).split())
            labels[column] = text if len(text) <= LONGEST_LABEL else ""
            column += _read_number(cell.find(f"{WORD}tcPr/{WORD}gridSpan"), 1)
            cells.append(text)
        if any(cells):
            yield " | ".join(filter(None, cells))


def read_lines(element: Any) -> Iterator[str]:
    """All paragraphs and rows inside an element; text boxes follow the paragraph that they stand in."""
    for block in find_blocks(element):
        if block.tag in TABLES:
            yield from read_rows(block)
        else:
            text = read_paragraph(block)
            if text.strip():
                yield text
            yield from read_lines(block)


def read_linked(element: Any, links: Any, taken: set[str]) -> Iterator[str]:
    """The lines of diagrams, and the titles of charts; those in `taken` are left out, and others added to it."""
    for drawing in element.iter(*LINKED):
        link = links.get(drawing.get(LINKED[drawing.tag]))
        if link is not None and not link.is_external and str(link.target_part.partname) not in taken:
            taken.add(str(link.target_part.partname))
            yield from read_lines(parse_xml(link.target_part.blob))


def _walk(element: Any, closed: Collection[str]) -> Iterator[Any]:
    """What stands inside an element, in order; elements that are `closed` are not entered."""
    waiting = _list_children(element)
    while waiting:
        inner = waiting.pop()
        if inner.tag not in LEFT_OUT:
            yield inner
            if inner.tag not in closed:
                waiting += _list_children(inner)


def _find(element: Any, tags: Collection[str]) -> Iterator[Any]:
    return (inner for inner in _walk(element, tags) if inner.tag in tags)


def _list_children(element: Any) -> list[Any]:
    """The children from the last to the first; of alternatives that say the same, the first one alone."""
    return list(element[:1] if element.tag == ALTERNATIVES else reversed(element))


def _goes_on(cell: Any) -> bool:
    """Whether a cell is merged with the one above."""
    merged = cell.find(f"{WORD}tcPr/{WORD}vMerge")
    return cell.get("vMerge") in ("1", "true") if merged is None else merged.get(f"{WORD}val") != "restart"


def _read_number(element: Any, default: int) -> int:
    """The value of an element of Word: a number of columns."""
    value = "" if element is None else element.get(f"{WORD}val", "")
    return int(value) if value.isdecimal() and len(value) < 6 else default
