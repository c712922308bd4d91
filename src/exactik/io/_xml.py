"""XML as a plain tree of elements that know their line, read without trusting the file.

Entities are refused, declared or external (by defusedxml), and so are files that are larger, deeper
or richer in elements than any robot. Nothing here recurses, so depth costs no stack. Prefixes are
part of the tag, as in the parsers that robots are written for, and need no declaration.

OpenSim's own parser takes files that no strict one takes: bytes of cp1252 under a declaration of
UTF-8, and closing tags after the end of the document. `read_xml` takes them too where it is given
notes to say so in.

Values are in attributes (URDF, MJCF) or in the text of an element (OpenSim). Text is no longer than
the file, since there are no entities; blanks between elements are not kept. Of two elements with
one tag OpenSim takes the first, and so do its properties here.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterator
from xml.sax import SAXException, SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl, Locator

from exactik.errors import FileError, Note
from exactik.io._notes import Notes, warn_of

# What float() takes besides, such as 1_000 or Arabic digits, no other reader of these files takes.
NUMBER_PATTERN = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)", re.I
)
BRACKETS = str.maketrans("()[]~,", "      ")  # that old files of OpenSim put around vectors

Vector = tuple[float, float, float]
MAX_BYTES = 32 * 2**20
MAX_DEPTH = 2000
MAX_ELEMENTS = 500_000


class Element:
    """One element: its tag, its attributes, what is inside it, and where it stands.

    Attributes:
        tag: with its prefix, if it has one.
        attributes: name → text.
        text: what is directly inside it besides elements, without the blanks around.
        children: in the order of the file.
        path: the file that it comes from.
        line: the line of its opening tag.
    """

    __slots__ = ("attributes", "children", "line", "path", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], path: str, line: int):
        """Make an element without text or children."""
        self.tag, self.attributes, self.path, self.line = tag, attributes, path, line
        self.text = ""
        self.children: list[Element] = []

    @property
    def place(self) -> str:
        """Where it stands: 'line 12, <joint name="elbow">'."""
        name = self.attributes.get("name", "")
        label = f' name="{_shorten(name)}"' if name != "" else ""
        return f"line {self.line}, <{_shorten(self.tag)}{label}>"

    def error(self, message: str, code: str = "malformed") -> FileError:
        """Return the error that names this element."""
        return FileError(self.path, message, self.place, code)

    def warn(self, text: str, code: str = "damage") -> None:
        """Warn of something at this element that is not kept."""
        warn_of(self.path, Note(code, "damage", self.place, text))

    def find_children(self, *tags: str) -> Iterator[Element]:
        """Run over the children with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def find_child(self, tag: str) -> Element | None:
        """Return the only child with this tag, None if there is none."""
        matches = list(self.find_children(tag))
        if len(matches) > 1:
            raise matches[1].error(f"a second <{tag}> in {self.place}; expected at most one")
        return matches[0] if len(matches) == 1 else None

    def find_descendants(self, *tags: str) -> Iterator[Element]:
        """Run over the descendants, those with one of these tags if any is given, in file order."""
        stack = self.children[::-1]
        while len(stack) > 0:
            element = stack.pop()
            if len(tags) == 0 or element.tag in tags:
                yield element
            stack.extend(reversed(element.children))

    def read_required(self, key: str, what: str) -> str:
        """Return an attribute that has to be there; `what` it is goes into the error."""
        value = self.attributes.get(key, "").strip()
        if value == "":
            raise self.error(f"attribute {key!r} is missing; expected {what}")
        return value

    def read_choice(self, key: str, default: str, *choices: str) -> str:
        """Return an attribute that is one of a few words."""
        value = self.attributes.get(key, default).strip()
        if value not in choices:
            raise self.error(f"{key} is {_shorten(value)!r}; expected one of {', '.join(choices)}")
        return value

    def read_numbers(
        self,
        key: str,
        default: tuple[float, ...],
        *,
        infinite: bool = False,
        fewer: bool = False,
    ) -> tuple[float, ...]:
        """Return an attribute of as many numbers as its default has.

        Args:
            default: what holds if it is absent.
            infinite: whether infinity is a value, as it is for limits.
            fewer: whether there may be fewer numbers, the rest being those of the default.
        """
        text = self.attributes.get(key)
        if text is None:
            return default
        values = self._parse_numbers(text, key, len(default), infinite=infinite, fewer=fewer)
        return values + default[len(values) :]

    def read_number(self, key: str, default: float) -> float:
        """Return an attribute that is one finite number."""
        return self.read_numbers(key, (default,))[0]

    def parse_text(self, count: int, *, infinite: bool = False) -> tuple[float, ...]:
        """Return the text of the element as so many numbers; infinity may be one, or not."""
        return self._parse_numbers(self.text, "its text", count, infinite=infinite)

    def _parse_numbers(
        self, text: str, what: str, count: int, *, infinite: bool, fewer: bool = False
    ) -> tuple[float, ...]:
        words = text.split()
        wanted = "a number" if count == 1 else f"{'up to ' if fewer else ''}{count} numbers"
        if len(words) != count and not (fewer and 0 < len(words) < count):
            raise self.error(f"{what} is {_shorten(text)!r}; expected {wanted}, found {len(words)}")
        for word in words:
            if not NUMBER_PATTERN.fullmatch(word):
                raise self.error(f"{what} has {_shorten(word)!r}; expected {wanted}")
        values = tuple(map(float, words))
        if not infinite and not all(map(math.isfinite, values)):
            raise self.error(f"{what} is {_shorten(text)!r}; expected {wanted}, all finite")
        return values

    # --- properties as OpenSim has them: elements of their own, with the value in the text

    @property
    def plain_name(self) -> str:
        """The name of an object, without blanks, which OpenSim takes out as well."""
        return "".join(self.attributes.get("name", "").split())

    def first(self, tag: str) -> Element | None:
        """Return the first child with this tag, None if there is none."""
        return next(self.find_children(tag), None)

    def text_of(self, *tags: str, default: str = "") -> str:
        """Return the text of the first of these properties that is there and not empty."""
        for tag in tags:
            child = self.first(tag)
            if child is not None and child.text != "":
                return child.text
        return default

    def words_of(self, tag: str) -> tuple[str, ...]:
        """Return a property that is a list of names."""
        return tuple(self.text_of(tag).translate(BRACKETS).split())

    def numbers_of(self, tag: str) -> tuple[float, ...]:
        """Return a property of any number of numbers; none if it is absent."""
        child = self.first(tag)
        if child is None:
            return ()
        words = child.text.translate(BRACKETS).split()
        plain = " ".join(words)
        values = child._parse_numbers(plain, "its text", len(words), infinite=True)
        if not all(map(math.isfinite, values)):
            raise child.error(f"{child.text[:40]!r} has a number that is not finite")
        return values

    def vector_of(self, tag: str, default: Vector) -> Vector:
        """Return a property of three numbers."""
        values, child = self.numbers_of(tag), self.first(tag)
        if child is None or len(values) == 0:
            return default
        if len(values) != 3:
            raise child.error(f"{child.text[:40]!r}; expected 3 numbers, found {len(values)}")
        return values[0], values[1], values[2]

    def number_of(self, tag: str, default: float) -> float:
        """Return a property of one number, which may be infinite."""
        child = self.first(tag)
        if child is None or child.text == "":
            return default
        return child.parse_text(1, infinite=True)[0]

    def finite_of(self, tag: str, default: float) -> float:
        """Return a property of one finite number."""
        value = self.number_of(tag, default)
        if not math.isfinite(value):
            raise self.error(f"its {tag} is {value:g}; expected a finite number")
        return value

    def flag_of(self, tag: str, default: bool) -> bool:
        """Return a property that is true or false."""
        child = self.first(tag)
        if child is None or child.text == "":
            return default
        word = child.text.lower()
        if word not in ("true", "false", "1", "0"):
            raise child.error(f"{child.text[:40]!r}; expected true or false")
        return word in ("true", "1")


def _shorten(text: str, length: int = 60) -> str:
    """Return the text on one line, cut where it gets long."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


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
            text = f"text behind the end of <{_shorten(handler.root.tag)}> was left out"
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
