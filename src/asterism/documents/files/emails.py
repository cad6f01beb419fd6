"""E-mail: the subject, who wrote to whom, and the text."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Iterator
from contextlib import suppress
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any

from ...errors import UnreadableFile
from .chunking import Chunking
from .decoding import decode_text, find_codec
from .html import HIDDEN, HtmlReader
from .metadata import take_metadata
from .outline import Outline
from .packing import Piece, pack_passages, shorten_heading
from .passages import Passage, Place
from .source import SourceWriter, clean_text
from .text import split_paragraphs

LONGEST_HEADER = 2000  # characters
HEADERS = ("from", "to", "cc", "message-id")


def read_email(data: bytes, chunking: Chunking) -> Iterator[Passage]:
    """The passages of a message; attachments are named in the metadata."""
    message = email.message_from_bytes(data, policy=email.policy.compat32)  # others parse headers at great length
    if not message.keys():
        raise UnreadableFile("damaged", "no header, expected an e-mail: is it complete?")
    parts = [part for part in message.walk() if not part.is_multipart()]
    attached = [name for part in parts if (name := _read_header(part.get_filename()))]
    metadata = take_metadata(_read_fields(message) | ({"attachments": attached} if attached else {}))
    subject = shorten_heading(_read_header(message.get("subject")))
    writer, outline = SourceWriter(), Outline((subject,) if subject else (), metadata)
    shown = [part for part in parts if not part.get_filename() and part.get_content_maintype() == "text"]
    plain = [part for part in shown if part.get_content_subtype() == "plain"]
    for part in plain or shown:
        _add_part(writer, outline, part)
    return pack_passages(writer.finish(), outline.finish(), chunking)


def _add_part(writer: SourceWriter, outline: Outline, part: Message) -> None:
    text = clean_text(_decode(part))
    if part.get_content_subtype() == "html":
        HtmlReader(writer, outline, HIDDEN, lines=False).read(text)
        return
    begin, _ = writer.add(text, Place())
    for piece in split_paragraphs(text, 0, len(text)):
        outline.add(Piece(begin + piece.begin, begin + piece.end))


def _decode(part: Message) -> str:
    """The text of a part, in the encoding that it names if that is right."""
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    codec = find_codec(part.get_content_charset() or "")
    try:
        return content.decode(codec).replace("\r\n", "\n") if codec else decode_text(content)[0]
    except UnicodeDecodeError:
        return decode_text(content)[0]


def _read_header(value: Any) -> str:
    """A header on one line, decoded where that is possible."""
    text = str(value or "")[:LONGEST_HEADER]
    with suppress(ValueError, LookupError):  # an encoding that there is not, or bytes that it has not
        text = str(make_header(decode_header(text)))
    return " ".join(text.split())


def _read_fields(message: Message) -> dict[str, Any]:
    fields: dict[str, Any] = {name: found for name in HEADERS if (found := _read_header(message.get(name)))}
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        fields["date"] = parsedate_to_datetime(_read_header(message.get("date")))
    return fields
