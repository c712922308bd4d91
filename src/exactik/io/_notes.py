"""What a reader has to say about a file besides its contents."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from exactik.errors import Advice, FileError, FileWarning, Note


class Notes:
    """Collects the notes of one file, and decides whether to go on.

    Three severities: what is merely worth knowing (`remark`), what had to be guessed (`assume`,
    which also warns), and what is lost or contradicts itself (`flag_damage`, which warns, or
    refuses if strict).
    """

    def __init__(self, path: str, strict: bool = False):
        """Begin with nothing to say about a file."""
        self.path, self.strict = path, strict
        self._notes: list[Note] = []

    def remark(self, text: str, place: str = "", *, code: str = "remark", **more: Any) -> None:
        """Note a fact; `more` are the value and the advice of a `Note`."""
        self._notes.append(Note(code, "remark", place, text, **more))

    def assume(self, text: str, place: str = "", *, code: str = "assumption", **more: Any) -> None:
        """Note a guess that may be wrong, and warn of it."""
        self._warn(Note(code, "assumption", place, text, **more))

    def flag_damage(self, text: str, place: str = "", *, code: str = "damage", **more: Any) -> None:
        """Note what was dropped or contradicts itself, and warn of it; raise if strict."""
        note = Note(code, "damage", place, text, **more)
        if self.strict:
            raise FileError(self.path, text, place, code, note.advice)
        self._warn(note)

    def error(
        self,
        text: str,
        place: str = "",
        *,
        code: str = "malformed",
        advice: Advice | None = None,
    ) -> FileError:
        """Return the error for a file that cannot be used; the caller raises it."""
        return FileError(self.path, text, place, code, advice)

    @property
    def all(self) -> tuple[Note, ...]:
        """Everything noted."""
        return tuple(self._notes)

    def _warn(self, note: Note) -> None:
        self._notes.append(note)
        warn_of(self.path, note)


def warn_of(path: str, note: Note) -> None:
    """Warn of a note; the warning points at the line that called the package."""
    warnings.warn(FileWarning(path, note), stacklevel=_level_outside())


def _level_outside() -> int:
    """Return the stack level of whoever called the package, as seen from the caller of this."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("exactik"):
        frame, level = frame.f_back, level + 1
    return level


@contextmanager
def collect_warnings(notes: list[Note], path: str | os.PathLike[str]) -> Iterator[None]:
    """Take warnings about files as notes, as they come; pass on all others.

    Args:
        path: the file in question; notes about others begin with their name.
    """
    path = os.fspath(path)
    with warnings.catch_warnings():
        show = warnings.showwarning
        warnings.simplefilter("always", FileWarning)

        def take(message: Any, category: type[Warning], *rest: Any, **more: Any) -> None:
            if isinstance(message, FileWarning):
                notes.append(_note_of(message, path))
            else:
                show(message, category, *rest, **more)

        warnings.showwarning = take
        yield


def _note_of(warning: FileWarning, path: str) -> Note:
    note = warning.note
    if warning.path == path:
        return note
    place = warning.path if note.place == "" else f"{warning.path}: {note.place}"
    return Note(note.code, note.severity, place, note.text, note.value, note.advice)
