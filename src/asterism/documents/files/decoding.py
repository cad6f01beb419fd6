"""From bytes to text: UTF-8 first, then a byte order mark, a declared encoding, and what charset-normalizer finds."""

from __future__ import annotations

import codecs
import re

from ...errors import UnreadableFile

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Among all that charset-normalizer knows, it confuses western texts with encodings that nobody uses.
CANDIDATES = (
    *("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256"),
    *("cp932", "euc_jp", "gb18030", "big5", "euc_kr"),
)
WITH_ERRORS = "utf-8 with errors"  # each is read as one replacement character
MOST_ERRORS = 0.02  # of all bytes
SAMPLE = 1 << 16  # bytes
DECLARED = re.compile(rb"(?:charset|coding|encoding)\s*[=:]\s*[\"']?([A-Za-z0-9_.:-]{1,40})")
ALLOWED = re.compile(r"cp\d+|(?:iso)?8859|iso2022|koi8|mac|big5|gb|hz|euc|shift|johab|latin|tis|kz|ascii")
NOT_IN_TEXTS = bytes([*range(1, 8), *range(14, 27), *range(28, 32), 127])  # backspace overstrikes, escape colours
NOT_ASCII = re.compile(rb"[^\n]{0,4096}[\x80-\xff][^\n]{0,4096}")


def decode_text(data: bytes) -> tuple[str, str | None]:
    """The text with newlines only, and its encoding if it is not UTF-8."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _decode_marked(data, encoding)
    if b"\0" in data:
        return _decode_unmarked_utf16(data)
    if len(data.translate(None, NOT_IN_TEXTS)) < 0.95 * len(data):
        raise _refuse_binary()
    try:
        return _unify_newlines(data.decode("utf-8")), None
    except UnicodeDecodeError:
        text, found = _decode_other(data)
        return _unify_newlines(text), found


def _decode_marked(data: bytes, encoding: str) -> tuple[str, str | None]:
    try:
        text = data.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            "encoding",
            f"it begins with the mark of {encoding.upper()}, but byte {error.start:,} does not follow it: "
            "save it as UTF-8",
        ) from error
    if "\0" in text:
        raise _refuse_binary()
    return _unify_newlines(text), None if encoding == "utf-8" else encoding


def _decode_unmarked_utf16(data: bytes) -> tuple[str, str]:
    """UTF-16 of mostly Latin text: every second byte is NUL."""
    even, odd = data[:SAMPLE:2].count(0), data[1:SAMPLE:2].count(0)
    half = min(len(data), SAMPLE) / 2
    encoding = "utf-16-le" if odd > 0.7 * half and not even else "utf-16-be" if even > 0.7 * half and not odd else ""
    try:
        text = data.decode(encoding) if encoding else "\0"
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise _refuse_binary()
    return _unify_newlines(text), encoding


def _decode_other(data: bytes) -> tuple[str, str]:
    """The text and the encoding of bytes that are not UTF-8."""
    lenient = data.decode("utf-8", "replace")
    bad = lenient.count("\ufffd")
    if len(lenient) - len(lenient.encode("ascii", "ignore")) >= 5 * bad:  # four of five sequences are right
        return lenient, WITH_ERRORS
    for encoding in (*_find_declared(data), *_detect(data)):
        try:
            return data.decode(encoding), _name_encoding(encoding, data)
        except UnicodeDecodeError:
            continue
    if bad <= MOST_ERRORS * len(data):  # a few stray bytes in a text that is otherwise ASCII
        return lenient, WITH_ERRORS
    raise UnreadableFile("encoding", "neither UTF-8 nor another known encoding: save it as UTF-8")


def find_codec(name: str) -> str | None:
    """Python's name of an encoding of texts; None for one that is not known, or is no such encoding."""
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return codec if ALLOWED.match(codec.replace("-", "")) else None


def _find_declared(data: bytes) -> list[str]:
    """What the file itself says at its beginning: an HTML page, an XML document, a source file."""
    found = DECLARED.search(data[:1024])
    codec = find_codec(found[1].decode("ascii")) if found else None
    return [codec] if codec else []


def _detect(data: bytes) -> list[str]:
    """Encodings that the bytes may have, the best first."""
    from charset_normalizer import from_bytes

    sample = b""
    for line in NOT_ASCII.finditer(data):
        sample += line[0] + b"\n"
        if len(sample) > SAMPLE:
            break
    matches = list(from_bytes(sample, cp_isolation=list(CANDIDATES), enable_fallback=False))
    matches.sort(
        key=lambda match: (round(match.chaos, 2), -round(match.coherence, 1), CANDIDATES.index(match.encoding))
    )
    encodings = [match.encoding for match in matches]
    if encodings and sample.decode(encodings[0], "replace") == sample.decode("cp1252", "replace"):
        encodings.insert(0, "cp1252")  # both are right, and it is the usual one
    return encodings


def _name_encoding(encoding: str, data: bytes) -> str:
    """As people write it; Latin-1 is all of Windows-1252 but the bytes from 0x80 to 0x9f."""
    if encoding in ("cp1252", "iso8859-1") and not re.search(rb"[\x80-\x9f]", data):
        return "latin-1"
    return encoding.replace("_", "-")


def _unify_newlines(text: str) -> str:
    """Lines end as editors count them: at \\n or \\r\\n, and at \\r only in a file that has no \\n."""
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    return text.replace("\r", " " if "\n" in text else "\n")


def _refuse_binary() -> UnreadableFile:
    return UnreadableFile("binary", "not a text, and of no format that can be read: leave it out")
