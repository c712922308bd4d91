"""The text of a file, with some of its elements changed and all else as it was.

Elements of the tree that was parsed are found in the text by their order, in which tags open.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from exactik.io._files import open_atomic, read_bytes
from exactik.io._xml import Element

TOKEN = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<![^>]*>|</[^>]*>|<(?:[^>\"']|\"[^\"]*\"|'[^']*')+>",
    re.S,
)


class Span(NamedTuple):
    """Where an element is in the text: its first character, its inside, the end of it."""

    start: int  # of the opening tag
    inner_start: int  # behind the opening tag
    inner_end: int  # before the closing tag; for <a/> both are its end, and there is no inside
    end: int  # behind the closing tag

    @property
    def is_empty_tag(self) -> bool:
        """Whether it is written as <a/>."""
        return self.inner_start == self.end


class DocumentText:
    """A file's text and the changes that are to be made in it."""

    def __init__(self, path: str, root: Element):
        """Take the text of a file that `root`, or an element around it, was parsed from."""
        data = read_bytes(path)
        try:
            self.text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.text = data.decode("cp1252", errors="replace")
        spans = _find_spans(self.text)
        # The object is the document itself, or stands in <OpenSimDocument>, before or after others.
        first = next(i for i, (tag, span) in enumerate(spans) if self._is(tag, span, root))
        elements = [root, *root.find_descendants()]
        self._spans = {
            id(element): span for element, (_, span) in zip(elements, spans[first:], strict=False)
        }
        self._elements = elements  # kept, for their ids are keys
        self._edits: list[tuple[int, int, str]] = []

    def _is(self, tag: str, span: Span, root: Element) -> bool:
        return tag == root.tag and self.text.count("\n", 0, span.start) + 1 == root.line

    def set_text(self, element: Element, text: str) -> None:
        """Replace what is inside an element."""
        span = self._spans[id(element)]
        if span.is_empty_tag:
            self.replace(element, f"<{element.tag}>{text}</{element.tag}>")
        else:
            self._edits.append((span.inner_start, span.inner_end, text))

    def set_numbers(self, element: Element, values: tuple[float, ...]) -> None:
        """Replace the numbers inside an element."""
        self.set_text(element, format_numbers(values))

    def replace(self, element: Element, text: str) -> None:
        """Put a text in place of an element, its tags included."""
        span = self._spans[id(element)]
        self._edits.append((span.start, span.end, text))

    def wrap(self, element: Element, before: str, after: str) -> None:
        """Put texts before and after an element."""
        span = self._spans[id(element)]
        self._edits += [(span.start, span.start, before), (span.end, span.end, after)]

    def append(self, element: Element, text: str) -> None:
        """Add a text at the end of what is inside an element."""
        span = self._spans[id(element)]
        if span.is_empty_tag:
            opening = self.text[span.start : span.end].removesuffix("/>").rstrip()
            self._edits.append((span.start, span.end, f"{opening}>{text}</{element.tag}>"))
        else:
            self._edits.append((span.inner_end, span.inner_end, text))

    def set_attribute(self, element: Element, name: str, value: str) -> None:
        """Replace an attribute in the opening tag."""
        span = self._spans[id(element)]
        opening = self.text[span.start : span.inner_start]
        found = re.search(rf"\b{name}\s*=\s*(\"[^\"]*\"|'[^']*')", opening)
        if found is not None:
            at = (span.start + found.start(1), span.start + found.end(1))
            self._edits.append((*at, f'"{value}"'))

    def render(self) -> str:
        """Return the text with all changes."""
        parts, at = [], 0
        for start, end, text in sorted(self._edits, key=lambda edit: edit[:2]):
            assert start >= at, "changes overlap"
            parts += [self.text[at:start], text]
            at = end
        return "".join((*parts, self.text[at:]))

    def save(self, path: str) -> None:
        """Write the text with all changes; the folder is made if there is none."""
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open_atomic(path) as file:
            file.write(self.render())


def format_numbers(values: tuple[float, ...]) -> str:
    """Return numbers with all their digits, blanks between them."""
    return " ".join(repr(float(value)) for value in values)


def _find_spans(text: str) -> list[tuple[str, Span]]:
    """Return tag and place of every element, in the order in which they open."""
    spans: list[tuple[str, Span]] = []
    open_elements: list[int] = []
    for token in TOKEN.finditer(text):
        word = token[0]
        if word.startswith(("<!", "<?")):
            continue
        if word.startswith("</"):
            if len(open_elements) == 0:
                break  # stray text behind the document
            k = open_elements.pop()
            tag, span = spans[k]
            spans[k] = tag, span._replace(inner_end=token.start(), end=token.end())
            continue
        tag = re.split(r"[\s/>]", word[1:], maxsplit=1)[0]
        spans.append((tag, Span(token.start(), token.end(), token.end(), token.end())))
        if not word.endswith("/>"):
            open_elements.append(len(spans) - 1)
    return spans
