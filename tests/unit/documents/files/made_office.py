"""Word documents and presentations with what their libraries do not write."""

from __future__ import annotations

import io
import re
import zipfile

from .made_files import make_zip

OPEN_XML = "http://schemas.openxmlformats.org"
NAMES = " ".join(
    f'xmlns:{prefix}="{OPEN_XML}/{path}/2006/{name}"'
    for prefix, path, name in (
        ("w", "wordprocessingml", "main"),
        ("a", "drawingml", "main"),
        ("p", "presentationml", "main"),
        ("r", "officeDocument", "relationships"),
        ("m", "officeDocument", "math"),
        ("mc", "markup-compatibility", ""),
        ("dgm", "drawingml", "diagram"),
        ("c", "drawingml", "chart"),
    )
).replace('2006/"', '2006"')
KINDS = f"{OPEN_XML}/officeDocument/2006/relationships"
MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def make_word(body: str, **parts: str) -> bytes:
    """A document without properties and styles; `parts` are roots of other files, by the kind of their relationship."""
    links = "".join(f'<Relationship Id="{kind}" Type="{KINDS}/{kind}" Target="{kind}.xml"/>' for kind in parts)
    package = f'<Relationship Id="r1" Type="{KINDS}/officeDocument" Target="word/document.xml"/>'
    return make_zip(
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{MAIN}"/></Types>',
            "_rels/.rels": _relate(package),
            "word/document.xml": f"<w:document {NAMES}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": _relate(links),
            **{f"word/{kind}.xml": content.replace(">", f" {NAMES}>", 1) for kind, content in parts.items()},
        }
    )


def make_slide(shapes: str, title: str = "", **parts: str) -> bytes:
    """A presentation of one slide, with shapes and other files as above."""
    from pptx import Presentation
    from pptx.opc.package import Part
    from pptx.opc.packuri import PackURI
    from pptx.oxml import parse_xml

    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = title
    for kind, content in parts.items():
        data = content.replace(">", f" {NAMES}>", 1).encode()
        part = Part(PackURI(f"/ppt/{kind}.xml"), "application/xml", presentation.part.package, data)
        shapes = shapes.replace(f'"{kind}"', f'"{slide.part.relate_to(part, f"{KINDS}/{kind}")}"')
    for shape in parse_xml(f"<p:spTree {NAMES}>{shapes}</p:spTree>"):
        slide.shapes.element.append(shape)
    stream = io.BytesIO()
    presentation.save(stream)
    return stream.getvalue()


def drop_properties(data: bytes) -> bytes:
    """The document without docProps/core.xml, as many programs write it."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    members: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    del members["docProps/core.xml"]
    for name in ("_rels/.rels", "[Content_Types].xml"):
        members[name] = re.sub(rb"<(?:Relationship|Override)[^>]*docProps/core\.xml[^>]*>", b"", bytes(members[name]))
    return make_zip(members)


def _relate(links: str) -> str:
    return f'<Relationships xmlns="{OPEN_XML}/package/2006/relationships">{links}</Relationships>'
