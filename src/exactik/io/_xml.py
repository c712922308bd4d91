"""XML as a plain tree of elements that know their line, read without trusting the file.

Entities are refused, declared or external (by defusedxml), and so are files that are larger, deeper
or richer in elements than any robot. Nothing here recurses, so depth costs no stack. Prefixes are
part of the tag, as in the parsers that robots are written for, and need no declaration.

Values are in attributes (URDF, MJCF) or in the text of an element (OpenSim). Text is no longer than
the file, since there are no entities; blanks between elements are not kept.

OpenSim's own parser takes files that no strict one takes: bytes of cp1252 under a declaration of
UTF-8, and closing tags after the end of the document. `read_xml` takes them too where it is given
notes to say so in.
"""

from __future__ import annotations

import os
import re
import stat
from xml.sax import SAXException, SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl, Locator

from exactik.errors import FileError
from exactik.io._element import Element, shorten
from exactik.io._notes import Notes

MAX_BYTES = 32 * 2**20
MAX_DEPTH = 2000
MAX_ELEMENTS = 500_000


def read_xml(path: str | os.PathLike[str], tolerant: Notes | None = None) -> Element:
    """Return the root element of an XML file, or raise a `FileError` that says what is wrong.

    Args:
        tolerant: takes note of bytes that are no UTF-8 and of text behind the root element; without
            it such files are refused.
    """
    from defusedxml.common import DefusedXmlException
    from defusedxml.expatreader import create_parser

    path = os.fspath(path)
    data = _read_bytes(path)
    if tolerant is not None:
        data = _to_utf8(data, tolerant)
    if data[:1].isspace():
        # Real robots begin with an empty line, which only a file without declaration may. Blanked
        # out rather than cut off, it leaves the lines their numbers.
        data = re.sub(rb"^\s+<\?xml[^>]*\?>", lambda m: b"\n" * m[0].count(b"\n"), data, count=1)
    parser = create_parser(forbid_dtd=False, forbid_entities=True, forbid_external=True)
    handler = TreeBuilder(path, parser)
    parser.setContentHandler(handler)
    try:
        parser.feed(data)
        parser.close()
    except SAXParseException as error:
        if tolerant is not None and handler.root is not None and len(handler.open) == 0:
            text = f"text behind the end of <{shorten(handler.root.tag)}> was left out"
            tolerant.remark(text, f"line {error.getLineNumber()}", code="stray-text")
            return handler.root
        text = f"not well-formed XML: {error.getMessage()}"
        raise FileError(path, text, f"line {error.getLineNumber()}") from None
    except DefusedXmlException:
        text = "declares an XML entity or refers to another document; expected plain elements"
        raise FileError(path, text, f"line {parser.getLineNumber()}") from None
    except (SAXException, LookupError, ValueError) as error:  # an encoding that nobody knows
        if isinstance(error, FileError):
            raise
        raise FileError(path, f"not readable as XML: {error}") from None
    assert handler.root is not None
    return handler.root


class TreeBuilder(ContentHandler):
    """Makes the tree while the parser runs, and keeps it bounded."""

    def __init__(self, path: str, locator: Locator):
        super().__init__()
        self.path, self.locator = path, locator
        self.root: Element | None = None
        self.open: list[Element] = []
        self.texts: list[list[str]] = []  # of the open elements, in pieces
        self.count = 0

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        line = self.locator.getLineNumber() or 0
        element = Element(name, dict(attrs.items()), self.path, line)
        self.count += 1
        if len(self.open) >= MAX_DEPTH:
            raise element.error(f"elements are nested more than {MAX_DEPTH} deep")
        if self.count > MAX_ELEMENTS:
            raise element.error(f"the file has more than {MAX_ELEMENTS} elements")
        if len(self.open) > 0:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])

    def characters(self, content: str) -> None:
        self.texts[-1].append(content)

    def endElement(self, name: str) -> None:
        self.open.pop().text = "".join(self.texts.pop()).strip()


def _read_bytes(path: str) -> bytes:
    """Return what is in a file, if it is a file and not too large."""
    try:
        # Looked at before it is opened: to open a pipe may wait for ever.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileError(path, "not a file; expected the path of one")
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileError(path, f"cannot be read: {reason}") from error
    if len(data) > MAX_BYTES:
        raise FileError(path, f"larger than {MAX_BYTES // 2**20} MiB; expected a robot description")
    if data.strip() == b"":
        raise FileError(path, "empty; expected XML")
    return data


def _to_utf8(data: bytes, notes: Notes) -> bytes:
    """Return the bytes as UTF-8, if they declare it, or nothing, and are in fact cp1252."""
    declared = re.match(rb"\s*<\?xml[^>]*encoding\s*=\s*[\"']([^\"']*)", data[:200])
    if declared is not None and declared[1].lower() not in (b"utf-8", b"utf8"):
        return data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        notes.remark("a byte is no UTF-8; read as cp1252", f"line {line}", code="encoding-guessed")
        return data.decode("cp1252", errors="replace").encode("utf-8")
    return data
