"""Small files of every format, made by the libraries that people make them with."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from email.message import EmailMessage

MARKDOWN = """---
title: Guide
tags: [search, files]
date: 2024-05-01
---
# Guide

Words before the parts.

## Install

Paragraph one. It has two sentences.

```sh
# not a heading
pip install asterism

make
```

### Linux

- first item
- second item

    code in a list

| a | b |
|---|---|
| 1 | 2 |

Setext *heading*
----------------

Last words.
"""

RST = """=====
Guide
=====

Words before the parts.

Install
=======

Like this::

    $ pip install asterism

    $ make

Linux
-----

* first item
* second item

.. code-block:: python

   print("hello")
"""

HTML = """<!DOCTYPE html>
<html><head><title>A page</title>
<style>p { color: red }</style></head>
<body>
<nav><a href="/">Home</a></nav>
<p>Before &amp; after
  the headings.</p>
<h1>Guide<a class="headerlink" href="#g">¶</a></h1>
<p>First <b>words</b>.
<p>Second words.
<ul><li>one<li>two</ul>
<h2>Install</h2>
<pre>pip install asterism
  make
</pre>
<table><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table>
<script>alert("hidden")</script>
</body></html>
"""

PYTHON = '''"""What the module is for."""

import os

LIMIT = 3


# Why it is here.
@decorate
def first(a):
    """Say a."""
    return a


class Thing:
    """A thing."""

    size = 1

    def grow(self):
        return self.size + 1

    async def shrink(self):
        return 0


print(first(LIMIT))
'''

CSV = """id,title,text,year,author
a,First,"A text of
two lines, quoted.",1999,Ole
b,Second,Another text.,2004,

c,Third,The last.,2010,Ada
"""

JSONL = """{"_id": "a", "title": "First", "text": "A text.", "metadata": {"year": 1999}, "author": "Ole"}

{"id": 2, "text": "Another text."}
{"name": "Ada", "born": {"year": 1815, "in": ["London", "England"]}}
"""

NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Analysis\n", "\n", "Why we look."]},
            {
                "cell_type": "code",
                "source": "print(1 + 1)",
                "outputs": [{"output_type": "stream", "text": ["2\n"]}],
            },
            {"cell_type": "markdown", "source": "## Result\nIt is two."},
        ],
        "metadata": {},
        "nbformat": 4,
    },
    indent=1,
)


def make_pdf(pages: list[str]) -> bytes:
    """A PDF with one line a page."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for text in pages:
        kids.append(f"{len(objects) + 1} 0 R")
        font = "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
        box = "/MediaBox [0 0 600 800]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {box} /Resources {font} /Contents {len(objects) + 2} 0 R >>")
        stream = f"BT /F 12 Tf 50 700 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(pages)} >>"
    written = "%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(written)}\n%%EOF\n"
    return f"{written}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("ascii")


def make_docx() -> bytes:
    import docx

    document = docx.Document()
    document.core_properties.author = "Ole"
    document.add_heading("Guide", 1)
    document.add_paragraph("Words before the parts.")
    document.add_heading("Install", 2)
    document.add_paragraph("How to install it.")
    table = document.add_table(2, 2)
    for row, cells in zip(table.rows, (("name", "size"), ("fox", "small")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    return _save(document)


def make_pptx() -> bytes:
    import pptx

    presentation = pptx.Presentation()
    for title, body in (("Opening", "Welcome to all."), ("Results", "It is faster.")):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
    slide.notes_slide.notes_text_frame.text = "Say it slowly."
    return _save(presentation)


def make_xlsx() -> bytes:
    """Two sheets; the second begins in the third row."""
    import xlsxwriter  # python-pptx needs it too

    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as book:
        people = book.add_worksheet("People")
        for number, row in enumerate((("name", "born"), ("Ada", 1815), ("Ole", 1644))):
            people.write_row(number, 0, row)
        notes = book.add_worksheet("Notes")
        notes.write_row(2, 1, ("title", "text"))
        notes.write_row(3, 1, ("First", "A long note."))
    return stream.getvalue()


def make_epub() -> bytes:
    container = '<container xmlns="urn:c"><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
    package = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
    <metadata><dc:title>The Book</dc:title><dc:creator>Ole</dc:creator></metadata>
    <manifest><item id="two" href="two.xhtml"/><item id="one" href="one%20page.xhtml"/></manifest>
    <spine><itemref idref="one"/><itemref idref="two"/></spine></package>"""
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>{0}</h1><p>Words of {0}.</p></body></html>'
    return make_zip(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container,
            "OPS/book.opf": package,
            "OPS/one page.xhtml": page.format("One"),
            "OPS/two.xhtml": page.format("Two"),
        }
    )


def make_zip(members: dict[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def make_email() -> bytes:
    message = EmailMessage()
    message["Subject"] = "Grüße aus der Ferne"
    message["From"] = "Ole <ole@example.org>"
    message["To"] = "ada@example.org"
    message["Date"] = "Wed, 01 May 2024 10:00:00 +0000"
    message.set_content("Dear Ada,\n\nall is well.\n")
    message.add_alternative("<p>Dear <b>Ada</b></p>", subtype="html")
    message.add_attachment(b"\0\1", maintype="application", subtype="octet-stream", filename="plan.bin")
    return message.as_bytes()


def make_parquet() -> bytes:
    import pyarrow
    from pyarrow import parquet

    stream = io.BytesIO()
    rows = {"id": ["a", "b"], "text": ["A text.", "Another."], "year": [1999, 2004]}
    parquet.write_table(pyarrow.table(rows), stream)
    return stream.getvalue()


def _save(document: object) -> bytes:
    stream = io.BytesIO()
    document.save(stream)  # type: ignore[attr-defined]
    return stream.getvalue()


def make_files() -> dict[str, bytes]:
    """One of each format: name -> content."""
    texts = {
        "a.txt": "One paragraph.\n\nAnother paragraph.\n",
        "a.md": MARKDOWN,
        "a.rst": RST,
        "a.html": HTML,
        "a.csv": CSV,
        "a.tsv": "name\tsize\nfox\tsmall\n",
        "a.json": '[{"title": "A", "text": "x y"}, {"b": [1, 2]}]',
        "a.jsonl": JSONL,
        "a.ipynb": NOTEBOOK,
        "a.py": PYTHON,
        "a.c": "int main(void) {\n  return 0;\n}\n\nint other;\n",
    }
    return {
        **{name: text.encode() for name, text in texts.items()},
        "a.md.gz": gzip.compress(MARKDOWN.encode(), mtime=0),
        "a.pdf": make_pdf(["The first page.", "The second page."]),
        "a.docx": make_docx(),
        "a.pptx": make_pptx(),
        "a.xlsx": make_xlsx(),
        "a.epub": make_epub(),
        "a.eml": make_email(),
        "a.parquet": make_parquet(),
    }
