"""Check what arguments are: one place for the checks and the wording of their errors.

Arrays are checked in `_arrays`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

from exactik.errors import UsageError

T = TypeVar("T")

_READERS = {"Skeleton": "load_skeleton", "Motion": "load_motion", "Markers": "load_markers"}


def require_instance(name: str, value: object, kind: type[T]) -> T:
    """Return `value`; raise `UsageError` unless it is a `kind`, which a path to one is not."""
    if isinstance(value, kind):
        return value
    advice = ""
    if isinstance(value, str | os.PathLike) and kind.__name__ in _READERS:
        advice = f"; {_READERS[kind.__name__]} reads it from a file"
    plain = value is None or isinstance(value, str | int | float)
    given = repr(value) if plain else f"of type {type(value).__name__}"
    raise UsageError(f"{name} is {given}; expected {kind.__name__}{advice}")


def require_names(name: str, value: str | Iterable[str]) -> tuple[str, ...]:
    """Return one name or pattern, or several, as a tuple; raise `UsageError` if they are none."""
    names = (value,) if isinstance(value, str) else value
    if isinstance(names, Iterable):
        names = tuple(names)
        if all(isinstance(each, str) for each in names):
            return names
    raise UsageError(f"{name} is {value!r}; expected a name or pattern, or a list of these")


def require_html_path(name: str, path: str | os.PathLike[str]) -> str:
    """Return the path of a page to write; raise `UsageError` unless it ends in .html or .htm."""
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"{name} is {path!r}; expected the path of an .html file")
    text = str(os.fspath(path))
    if not text.lower().endswith((".html", ".htm")):
        raise UsageError(f"{name} is {text!r}; it must be an .html file")
    return text
