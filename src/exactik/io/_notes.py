"""What a reader has to say about a file besides its contents."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from exactik.errors import FileError, FileWarning, one_line

__all__ = ["Notes", "warnings_noted"]


class Notes:
    """Collects what is odd about a file, and decides whether to go on.

    Three grades: what is merely worth knowing (`odd`), what had to be guessed (`assume`, which also
    warns), and what is lost or contradicts itself (`damaged`, which warns, or refuses if strict).
    """

    def __init__(self, path: str, strict: bool = False):
        """Begin with nothing to say about a file."""
        self.path, self.strict = path, strict
        self.texts: list[str] = []

    def odd(self, text: str, place: str = "") -> None:
        """Note a fact."""
        self.texts.append(one_line(f"{place}: {text}" if place != "" else text))

    def assume(self, text: str, place: str = "") -> None:
        """Note a guess that may be wrong, and warn of it."""
        self.odd(text, place)
        warnings.warn(f"{self.path}: {self.texts[-1]}", FileWarning, stacklevel=_outside())

    def damaged(self, text: str, place: str = "") -> None:
        """Note what was dropped or contradicts itself, and warn of it; raise if strict."""
        if self.strict:
            raise FileError(self.path, text, place)
        self.assume(text, place)

    def error(self, text: str, place: str = "") -> FileError:
        """Return the error for a file that cannot be used; the caller raises it."""
        return FileError(self.path, text, place)

    @property
    def all(self) -> tuple[str, ...]:
        """Everything noted."""
        return tuple(self.texts)


def _outside() -> int:
    """Return the stack level of whoever called the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("exactik"):
        frame, level = frame.f_back, level + 1
    return level


@contextmanager
def warnings_noted(notes: list[str], path: str) -> Iterator[None]:
    """Take warnings about files as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FileWarning)
        yield
    for one in caught:
        if issubclass(one.category, FileWarning):
            notes.append(str(one.message).removeprefix(f"{path}: "))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
