"""Everything that exactik raises or warns of.

    ExactikError
    ├── ModelError        (ValueError)  a skeleton that cannot be: cycle, swapped limits, bad axis
    ├── UsageError        (ValueError)  an option or argument that cannot be: a port, no output
    ├── FileError         (ValueError)  a file that cannot be read: names it, the place, the fault
    ├── GoalError         (ValueError)  a goal that cannot be: weight not symmetric, no rotation
    ├── ShapeError        (ValueError)  an array of the wrong shape
    ├── CoordinateError   (ValueError)  coordinates that are no pose: a zero quaternion
    ├── NonFiniteError    (ValueError)  NaN or infinity where a number is needed
    ├── KernelError       (RuntimeError)  no machine code for this call, and nothing to compile it
    └── UnknownNameError  (KeyError)    a bone, marker, dof or solver that does not exist

Not converging is a result, never one of these; misuse is one of these, never a result.

What is odd about a file that can be read all the same is a `Note`; those that could matter are also
warned of, as `FileWarning`. Programs decide by `code`, never by the words.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, NoReturn

from exactik._text import join_names, one_line

__all__ = [
    "Advice",
    "CoordinateError",
    "ExactikError",
    "FileError",
    "FileWarning",
    "GoalError",
    "KernelError",
    "ModelError",
    "NonFiniteError",
    "Note",
    "Severity",
    "ShapeError",
    "UnknownNameError",
    "UsageError",
]


MAX_KNOWN_NAMES = 40  # that an `UnknownNameError` lists; a screen of them


class ExactikError(Exception):
    """Root of every error that exactik raises on purpose."""


class ModelError(ExactikError, ValueError):
    """The description of a skeleton contradicts itself."""


class KernelError(ExactikError, RuntimeError):
    """There is no machine code for a call, and no compiler that may make it."""


class UsageError(ExactikError, ValueError):
    """A call or command line asks for what cannot be done: an option, a port, a missing output."""


class GoalError(ExactikError, ValueError):
    """A goal or its weight is not well defined."""


class ShapeError(ExactikError, ValueError):
    """An array has another shape than the one asked for."""


class CoordinateError(ExactikError, ValueError):
    """Coordinates that describe no pose."""


class NonFiniteError(ExactikError, ValueError):
    """An argument holds NaN or infinity."""


class Advice(NamedTuple):
    """The argument that would settle a matter, and the words around it.

    What the reader calls `length_unit` is `input_unit` for `convert` and `--input-unit` on the
    command line; `renamed` puts the name of each layer into the same sentence.
    """

    before: str  # words before the argument, such as "; give "
    argument: str  # its name
    value: str = ""  # what to set it to; empty if that is for the caller to know
    after: str = ""  # words after it

    def __str__(self) -> str:
        spelled = self.argument
        if self.value != "":
            is_option = self.argument.startswith("--")
            spelled += f" {self.value}" if is_option else f"={self.value!r}"
        return f"{self.before}{spelled}{self.after}"

    def renamed(self, rename: Callable[[str], str]) -> Advice:
        """Return the same advice with another name for the argument."""
        return self._replace(argument=rename(self.argument))


class FileError(ExactikError, ValueError):
    """A file that cannot be read, or says something impossible.

    Attributes:
        path: the file.
        place: where in it, such as 'line 12, <joint name="elbow">'; empty for the whole file.
        message: what is wrong and what was expected, with the advice.
        fault: the same without the advice.
        code: what is wrong, for programs: "no-motion", "unit-unknown", …; "malformed" for all that
            nobody has to tell apart.
        advice: the argument that would help, None if none would.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        message: str,
        place: str = "",
        code: str = "malformed",
        advice: Advice | None = None,
    ):
        """Describe the fault; the text is one line: file, place, message, advice."""
        self.path, self.place = os.fspath(path), one_line(place)
        self.code, self.advice, self.fault = code, advice, message
        self.message = one_line(message if advice is None else f"{message}{advice}")
        parts = (self.path, self.place, self.message)
        super().__init__(": ".join(part for part in parts if part != ""))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.path, self.fault, self.place, self.code, self.advice)

    def about(self, path: str | os.PathLike[str]) -> FileError:
        """Return the same error about another file: that of the user, of which this was a copy."""
        return FileError(path, self.fault, place=self.place, code=self.code, advice=self.advice)

    def renamed(self, rename: Callable[[str], str]) -> FileError:
        """Return the same error, its advice with another name for the argument."""
        advice = None if self.advice is None else self.advice.renamed(rename)
        return FileError(self.path, self.fault, place=self.place, code=self.code, advice=advice)


Severity = Literal["remark", "assumption", "damage"]


class Note(str):
    """Something odd about a file that was read: a `str` that programs need not parse.

    It reads "place: text", or as a sentence, see `as_sentence`. Notes are equal if they read the
    same. They are frozen.

    Attributes:
        code: what it says, for programs: "rate-assumed", "unit-guessed", …; the severity where
            nobody has to tell it apart.
        severity: "remark" for what is worth knowing, "assumption" for what had to be guessed,
            "damage" for what was dropped or contradicts itself.
        place: where in the file, such as "line 12"; empty for the whole file.
        text: what is odd, without place and advice.
        value: what was assumed, where that is a single word.
        advice: the argument that would settle it, None if none would.
    """

    __slots__ = ("_is_sentence", "advice", "code", "place", "severity", "text", "value")

    code: str
    severity: Severity
    place: str
    text: str
    value: str
    advice: Advice | None
    _is_sentence: bool

    def __new__(
        cls,
        code: str,
        severity: Severity,
        place: str,
        text: str,
        value: str = "",
        advice: Advice | None = None,
        _is_sentence: bool = False,
    ) -> Note:
        """Make a note; the arguments are the attributes."""
        words = text if advice is None else f"{text}{advice}"
        if _is_sentence:
            read = _make_sentence(one_line(words), one_line(place))
        else:
            read = one_line(words if place == "" else f"{place}: {words}")
        note = super().__new__(cls, read)
        fields = (code, severity, place, text, value, advice, _is_sentence)
        for name, field in zip(_NOTE_FIELDS, fields, strict=True):
            object.__setattr__(note, name, field)
        return note

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a note is frozen; {name} cannot be set")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, name) for name in _NOTE_FIELDS)

    @classmethod
    def of(cls, text: str) -> Note:
        """Return a note as it is, and any other text as a remark."""
        return text if isinstance(text, Note) else cls("remark", "remark", "", text)

    def as_sentence(self) -> Note:
        """Return the note as a sentence: capital letter, full stop, place at the end."""
        return self._replace(_is_sentence=True)

    def renamed(self, rename: Callable[[str], str]) -> Note:
        """Return the same note, its advice with another name for the argument."""
        if self.advice is None:
            return self
        return self._replace(advice=self.advice.renamed(rename))

    def _replace(self, **changes: Any) -> Note:
        """Return the same note with some attributes changed."""
        fields = {name: getattr(self, name) for name in _NOTE_FIELDS}
        return Note(**(fields | changes))


_NOTE_FIELDS = ("code", "severity", "place", "text", "value", "advice", "_is_sentence")


def _make_sentence(text: str, place: str) -> str:
    if place != "":
        text = f"{text} ({place})"
    first = text.split(" ", 1)[0]
    if first.isalpha() and first.islower():  # a keyword or a name stays as it is
        text = text[0].upper() + text[1:]
    has_stop = text[-1:] in (".", "?", "…")
    return text if has_stop else f"{text}."


class FileWarning(UserWarning):
    """A file was read, but something in it could not be honoured.

    Attributes:
        path: the file.
        note: what is odd about it.
    """

    def __init__(self, path: str | os.PathLike[str], note: Note):
        """Warn of a note about a file."""
        self.path, self.note = os.fspath(path), note
        super().__init__(self.path, note)

    def __str__(self) -> str:
        return f"{self.path}: {self.note}"


class UnknownNameError(ExactikError, KeyError):
    """A name that the model does not know; the message lists near misses and what exists."""

    def __init__(self, what: str, name: object, known: Iterable[str], hint: str = ""):
        """Describe the missing `name` of kind `what` among the `known` names."""
        self.what, self.name, self.known, self.hint = what, name, tuple(known), hint
        close_names = difflib.get_close_matches(str(name), self.known, n=3)
        if hint == "" and len(close_names) > 0:
            hint = f"did you mean {' or '.join(map(repr, close_names))}?"
        shown = join_names(self.known, MAX_KNOWN_NAMES, last=", ", rest=", …")
        advice = f"; {hint}" if hint != "" else ""
        self.message = f"no {what} named {name!r}{advice} (there are: {shown or 'none'})"
        super().__init__(self.message)

    def __str__(self) -> str:  # KeyError would print the repr of its argument
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.name, self.known, self.hint)
