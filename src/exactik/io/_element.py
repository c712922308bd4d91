"""An element of XML that knows its line, with numbers and words read from it and checked.

Values are in attributes (URDF, MJCF) or in the text of elements inside it (OpenSim). Of two
elements with one tag OpenSim takes the first, and so do its properties here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from exactik.errors import FileError, Note
from exactik.io._notes import warn_of

# What float() takes besides, such as 1_000 or Arabic digits, no other reader of these files takes.
NUMBER_PATTERN = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)", re.I
)
BRACKETS = str.maketrans("()[]~,", "      ")  # that old files of OpenSim put around vectors

Vector = tuple[float, float, float]


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
        label = f' name="{shorten(name)}"' if name != "" else ""
        return f"line {self.line}, <{shorten(self.tag)}{label}>"

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
            raise self.error(f"{key} is {shorten(value)!r}; expected one of {', '.join(choices)}")
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
            raise self.error(f"{what} is {shorten(text)!r}; expected {wanted}, found {len(words)}")
        for word in words:
            if not NUMBER_PATTERN.fullmatch(word):
                raise self.error(f"{what} has {shorten(word)!r}; expected {wanted}")
        values = tuple(map(float, words))
        if not infinite and not all(map(math.isfinite, values)):
            raise self.error(f"{what} is {shorten(text)!r}; expected {wanted}, all finite")
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


def shorten(text: str, length: int = 60) -> str:
    """Return the text on one line, cut where it gets long."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"
