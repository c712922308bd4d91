"""Everything that exactik raises.

    ExactikError
    ├── ModelError        (ValueError)  a skeleton that cannot be: cycle, swapped limits, bad axis
    ├── UsageError        (ValueError)  an option or argument that cannot be: a port, no output
    ├── FileError         (ValueError)  a file that cannot be read: names it, the place, the fault
    ├── GoalError         (ValueError)  a goal that cannot be: weight not symmetric, no rotation
    ├── ShapeError        (ValueError)  an array of the wrong shape
    ├── CoordinateError   (ValueError)  coordinates that are no pose: a zero quaternion
    ├── NonFiniteError    (ValueError)  NaN or infinity where a number is needed
    └── UnknownNameError  (KeyError)    a bone, marker, dof or solver that does not exist

Not converging is a result, never one of these; misuse is one of these, never a result.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable

__all__ = [
    "CoordinateError",
    "ExactikError",
    "FileError",
    "FileWarning",
    "GoalError",
    "ModelError",
    "NonFiniteError",
    "ShapeError",
    "UnknownNameError",
    "UsageError",
]


class ExactikError(Exception):
    """Root of every error that exactik raises on purpose."""


class ModelError(ExactikError, ValueError):
    """The description of a skeleton contradicts itself."""


class UsageError(ExactikError, ValueError):
    """A call or command line asks for what cannot be done: an option, a port, a missing output."""


class GoalError(ExactikError, ValueError):
    """A goal or its weight is not well defined."""


class ShapeError(ExactikError, ValueError):
    """An array has another shape than the one asked for."""


class CoordinateError(ExactikError, ValueError):
    """Coordinates that mean no pose."""


class NonFiniteError(ExactikError, ValueError):
    """An argument holds NaN or infinity."""


def one_line(text: str, longest: int = 400) -> str:
    """Return a text that may quote a file as one line that can be printed, without its middle."""
    if not text.isprintable():
        words = " ".join(text.split())
        text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]} … {text[3 - half :]}"


class FileError(ExactikError, ValueError):
    """A file that cannot be read, or says something impossible.

    Attributes:
        path: the file.
        place: where in it, such as 'line 12, <joint name="elbow">'; empty for the whole file.
        message: what is wrong and what was expected.
    """

    def __init__(self, path: str | os.PathLike[str], message: str, place: str = ""):
        """Describe the fault; the text is one line: file, place, message."""
        self.path, self.message, self.place = os.fspath(path), one_line(message), one_line(place)
        parts = (self.path, self.place, self.message)
        super().__init__(": ".join(part for part in parts if part != ""))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.path, self.message, self.place)


class FileWarning(UserWarning):
    """A file was read, but something in it could not be honoured."""


class UnknownNameError(ExactikError, KeyError):
    """A name that the model does not know; the message lists near misses and what exists."""

    def __init__(self, what: str, name: object, known: Iterable[str], hint: str = ""):
        """Describe the missing `name` of kind `what` among the `known` names."""
        self.what, self.name, self.known, self.hint = what, name, tuple(known), hint
        near = difflib.get_close_matches(str(name), self.known, n=3)
        if hint == "" and len(near) > 0:
            hint = f"did you mean {' or '.join(map(repr, near))}?"
        shown = ", ".join(self.known[:40]) + (", …" if len(self.known) > 40 else "")
        advice = f"; {hint}" if hint != "" else ""
        self.message = f"no {what} named {name!r}{advice} (there are: {shown or 'none'})"
        super().__init__(self.message)

    def __str__(self) -> str:  # KeyError would print the repr of its argument
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.name, self.known, self.hint)
