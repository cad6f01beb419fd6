"""Word documents and presentations: no text is lost in what stands around it."""

from __future__ import annotations

import time

import pytest

from asterism.documents.files.chunking import Chunking
from asterism.documents.files.passages import Passage
from asterism.documents.files.reading import read_file

from .made_files import make_docx, make_pptx
from .made_office import drop_properties, make_slide, make_word

TABLE = "<w:tbl>{}</w:tbl>"


def read_word(body: str, **parts: str) -> str:
    (passage,) = read_passages("a.docx", make_word(body, **parts))
    return passage.text


def read_slide(shapes: str, **parts: str) -> str:
    (passage,) = read_passages("a.pptx", make_slide(shapes, **parts))
    return passage.text


def read_passages(name: str, data: bytes) -> tuple[Passage, ...]:
    return read_file(name, data, Chunking()).passages


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def paragraph(text: str) -> str:
    return f"<w:p>{run(text)}</w:p>"


def row(*cells: str) -> str:
    return "<w:tr>" + "".join(f"<w:tc>{cell}</w:tc>" for cell in cells) + "</w:tr>"


@pytest.mark.parametrize(
    "inside",
    [
        '<w:ins w:id="1">{}</w:ins>',
        '<w:moveTo w:id="1">{}</w:moveTo>',
        "<w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>",
        '<w:fldSimple w:instr="TITLE">{}</w:fldSimple>',
        '<w:smartTag w:element="name">{}</w:smartTag>',
        '<w:hyperlink w:anchor="x">{}</w:hyperlink>',
        '<w:hyperlink><w:ins w:id="1"><w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt></w:ins></w:hyperlink>',
        '<w:customXml w:element="name">{}</w:customXml>',
    ],
)
def test_words_of_a_paragraph(inside: str) -> None:
    body = f"<w:p>{run('One ')}{inside.format(run('walrus'))}{run(' more.')}</w:p>"
    assert read_word(body) == "One walrus more."


def test_signs_and_equations() -> None:
    body = (
        "<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t>"
        "<w:noBreakHyphen/><w:t>d </w:t></w:r><m:oMath><m:r><m:t>x=1</m:t></m:r></m:oMath>"
        "<w:r><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>"
    )
    assert read_word(body) == "a\tb\nc-d x=1漢"


def test_deleted_words_are_not_found() -> None:
    moved = f'<w:p><w:moveFrom w:id="1">{run("walrus")}</w:moveFrom>{run("One ")}'
    deleted = f'<w:del w:id="2">{run("seal")}<w:r><w:delText>seal</w:delText></w:r></w:del>'
    assert read_word(f'{moved}{deleted}<w:moveTo w:id="1">{run("walrus")}</w:moveTo></w:p>') == "One walrus"


def test_content_controls_around_blocks() -> None:
    control = "<w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>"
    rows = row(paragraph("a"), paragraph("b")) + control.format(row(paragraph("c"), paragraph("d")))
    cell = "<w:tr><w:tc>" + paragraph("e") + "</w:tc>" + control.format(f"<w:tc>{paragraph('f')}</w:tc>") + "</w:tr>"
    body = control.format(paragraph("One.") + control.format(paragraph("Two."))) + TABLE.format(rows + cell)
    assert read_word(body) == "One.\n\nTwo.\na | b\nc | d\ne | f"


def test_cells() -> None:
    """Equal neighbours are two cells; a merged one is one, and says its label in every row; tables stand in tables."""
    label = "<w:tc><w:tcPr><w:vMerge w:val='restart'/></w:tcPr>" + paragraph("label") + "</w:tc>"
    again = "<w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc>"
    wide = "<w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>" + paragraph("wide") + "</w:tc>"
    rest = f"<w:tc>{paragraph('5')}</w:tc><w:tc>{paragraph('5')}</w:tc>"
    inner = f"<w:tr>{again}<w:tc>{TABLE.format(row(paragraph('x'), paragraph('y')))}<w:p/></w:tc></w:tr>"
    rows = f"<w:tr>{label}{rest}</w:tr><w:tr>{again}{rest}</w:tr><w:tr>{wide}{rest}</w:tr>{inner}"
    assert read_word(TABLE.format(rows)) == "label | 5 | 5\nlabel | 5 | 5\nwide | 5 | 5\nwide | x | y"


def test_text_boxes_are_read_once() -> None:
    box = f"<w:txbxContent>{paragraph('In a box.')}</w:txbxContent>"
    drawing = (
        f"<mc:AlternateContent><mc:Choice><w:drawing>{box}</w:drawing></mc:Choice><mc:Fallback><w:pict>{box}</w:pict>"
    )
    body = f"<w:p>{run('Before ')}<w:r>{drawing}</mc:Fallback></mc:AlternateContent></w:r>{run('and after.')}</w:p>"
    assert read_word(body) == "Before and after.\n\nIn a box."


def test_notes_follow_what_refers_to_them() -> None:
    references = "".join(f'<w:r><w:{kind}Reference w:id="1"/></w:r>' for kind in ("footnote", "endnote", "comment"))
    notes = {
        f"{kind}s": f'<w:{kind}s><w:{kind} w:id="1">{paragraph(f"A {kind}.")}</w:{kind}></w:{kind}s>'
        for kind in ("footnote", "endnote", "comment")
    }
    body = f"<w:p>{run('One.')}{references}{references}</w:p>{paragraph('Two.')}"
    assert read_word(body, **notes) == "One.\n\nA footnote.\n\nA endnote.\n\nA comment.\n\nTwo."


DIAGRAM = (
    "<dgm:dataModel><dgm:pt><dgm:t><a:p><a:r><a:t>In a diagram.</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>"
)
CHART = "<c:chartSpace><c:title><a:p><a:r><a:t>Of a chart.</a:t></a:r></a:p></c:title></c:chartSpace>"


def test_diagrams_and_titles_of_charts() -> None:
    drawings = '<dgm:relIds r:dm="diagramData"/><c:chart r:id="chart"/><c:chart r:id="chart"/>'
    body = f"<w:p>{run('One.')}<w:r><w:drawing>{drawings}</w:drawing></w:r></w:p>"
    assert read_word(body, diagramData=DIAGRAM, chart=CHART) == "One.\n\nIn a diagram.\n\nOf a chart."
    shape = f"<p:graphicFrame><a:graphic><a:graphicData>{drawings}</a:graphicData></a:graphic></p:graphicFrame>"
    assert read_slide(shape, diagramData=DIAGRAM, chart=CHART) == "In a diagram.\nOf a chart."


def test_shapes_of_a_slide() -> None:
    text = "<p:sp><p:txBody><a:p><a:r><a:t>{}</a:t></a:r><a:br/><a:fld><a:t>2</a:t></a:fld></a:p></p:txBody></p:sp>"
    groups = "<p:grpSp>" * 60 + text.format("deep") + "</p:grpSp>" * 60
    either = f"<mc:AlternateContent><mc:Choice>{text.format('new')}</mc:Choice><mc:Fallback>{text.format('old')}"
    cell = "<a:tc><a:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></a:txBody></a:tc>"
    table = f"<p:graphicFrame><a:tbl><a:tr>{cell.format('5') * 2}</a:tr></a:tbl></p:graphicFrame>"
    shapes = f"{groups}{either}</mc:Fallback></mc:AlternateContent>{table}"
    assert read_slide(shapes) == "deep\n2\nnew\n2\n5 | 5"


def test_the_end_of_a_long_title_of_a_slide_is_in_its_text() -> None:
    title = "long " * 60 + "walrus"
    (passage,) = read_passages("a.pptx", make_slide("<p:sp><p:txBody><a:p/></p:txBody></p:sp>", title))
    assert passage.text == title


def test_documents_without_properties_have_no_metadata() -> None:
    for name, data in (("a.docx", make_docx()), ("a.pptx", make_pptx())):
        assert all(passage.metadata for passage in read_passages(name, data))
        assert all(passage.metadata == {} for passage in read_passages(name, drop_properties(data)))


def test_merged_cells_cannot_make_a_small_file_large() -> None:
    """A table as wide as it says, or a long cell in every row, would be gigabytes."""
    began = time.monotonic()
    wide = f"<w:tr><w:tc><w:tcPr><w:gridSpan w:val='999999999'/></w:tcPr>{paragraph('wide')}</w:tc></w:tr>"
    tall = f"<w:tr><w:tc><w:tcPr><w:vMerge w:val='restart'/></w:tcPr>{paragraph('tall ' * 10_000)}</w:tc></w:tr>"
    again = "<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc></w:tr>" * 20_000
    passages = read_passages("a.docx", make_word(TABLE.format(wide + tall + again)))
    assert sum(len(passage.text) for passage in passages) < 100_000
    assert time.monotonic() - began < 60
