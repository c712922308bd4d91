"""The record of a file format: what it is called, holds and takes for granted, and who reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any, Literal, NamedTuple

from exactik._text import join_names
from exactik.errors import UsageError

# What a file can hold. A file of several formats may hold one or the other; the order is that in
# which a conversion chooses: a motion has a skeleton, and its skeleton may have markers.
Content = Literal["motion", "markers", "skeleton"]
CONTENTS: tuple[Content, ...] = ("motion", "markers", "skeleton")
PLURALS: Mapping[Content, str] = {
    "motion": "motions",
    "markers": "markers",
    "skeleton": "skeletons",
}


class Function(NamedTuple):
    """A function of a format's module, imported when it is needed."""

    reference: str  # "module:function"
    # The keyword arguments that it takes from those alone who name them
    without: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """The keyword arguments that it takes, of those that its caller has to give."""
        return tuple(name for name in self._list_arguments() if name not in self.without)

    def resolve(self) -> Callable[..., Any]:
        """Return the function."""
        module, _, name = self.reference.partition(":")
        return getattr(import_module(module), name)

    def bind(self, **options: Any) -> Callable[..., Any]:
        """Return the function with those of the options set that it takes."""
        known = self.options
        taken = {name: value for name, value in options.items() if name in known}
        return partial(self.resolve(), **taken)

    def bind_all(self, options: Mapping[str, Any]) -> Callable[..., Any]:
        """Return a writer with these options set; raise `UsageError` if it lacks one.

        It may take more than its `options`: what somebody asks for by name.
        """
        known = self._list_arguments()
        for name in options:
            if name not in known:
                listed = join_names(known) or "none"
                raise UsageError(f"no option {name!r} for this format; it takes {listed}")
        return partial(self.resolve(), **options)

    def _list_arguments(self) -> list[str]:
        """Return the names of its arguments but for the first two, of which `Format` tells."""
        _, _, *names = signature(self.resolve()).parameters
        return names


@dataclass(frozen=True)
class Outline:
    """What a motion tells without its skeleton."""

    columns: tuple[str, ...]  # names of what moves
    frames: int  # their number
    first_frame: int = 1  # number of the first one
    rate: float | None = None  # [Hz], None if it is not known
    missing: float = 0.0  # share of the numbers that are missing, 0 to 1
    # What else is known, in words: subject → sentence
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes:
        name: for sentences, such as "BVH".
        suffixes: in lower case with the dot, the customary one first.
        readers: content → `function(path, notes, …)`. Options are, for a skeleton, length_unit and
            floating; for a motion skeleton, length_unit, rate, positions and animation; for markers
            length_unit, rate and zeros_are_missing.
        writers: content → `function(thing, path, …)`. Options are length_unit, up_axis and markers.
        maker: whose format it is, where the name alone could be anybody's.
        content_of: `function(path, notes) -> Content`, where files differ in what they hold.
        up_axis: "x", "y" or "z" that is up in files that do not say otherwise; None without custom.
        up_axis_is_fixed: whether that is a rule of the format, not merely a custom.
        states_up_axis: contents with which the writer keeps the up axis.
        up_axis_of: `function(path, notes) -> str | None`, where files say what is up for a
            skeleton. Nothing is then taken for granted.
        length_unit: of lengths in the file, by rule or by custom; None if it has to be given or
            guessed, because files never say.
        written_unit: in which a file without a stated unit is written, unless another is given.
        unit_of: `function(skeleton) -> unit`, the unit to write a skeleton in, where it depends on
            the file that it came from.
        states_rate: whether other programs find the rate in it.
        needs_skeleton: whether a motion in it is of no use without the file of a skeleton.
        companion: suffix of the file with the skeleton that lies beside such a motion.
        read_outline: `function(path, notes) -> Outline`, what such a motion tells all the same.
        details_of: `function(path, notes) -> Mapping[str, str]`, what a file with a skeleton has
            besides it, in words: subject → sentence.
        losses_of: `function(written, read, path) -> list[str]`, what a skeleton in it has lost,
            where comparing bones and dofs of the same names does not tell.
    """

    name: str
    suffixes: tuple[str, ...]
    readers: Mapping[Content, Function] = field(default_factory=dict)
    writers: Mapping[Content, Function] = field(default_factory=dict)
    maker: str = ""
    content_of: Function | None = None
    up_axis: str | None = None
    up_axis_is_fixed: bool = False
    states_up_axis: tuple[Content, ...] = ()
    up_axis_of: Function | None = None
    length_unit: str | None = "m"
    written_unit: str = "m"
    unit_of: Function | None = None
    states_rate: bool = True
    needs_skeleton: bool = False
    companion: str = ""
    read_outline: Function | None = None
    details_of: Function | None = None
    losses_of: Function | None = None

    @property
    def full_name(self) -> str:
        """Name with the maker, such as "Qualisys TSV"."""
        return f"{self.maker} {self.name}" if self.maker != "" else self.name

    @property
    def suffix(self) -> str:
        """The customary suffix."""
        return self.suffixes[0]

    @property
    def contents(self) -> tuple[Content, ...]:
        """What it can hold."""
        return tuple(c for c in CONTENTS if c in self.readers or c in self.writers)

    @property
    def readable(self) -> tuple[Content, ...]:
        """What can be read from it."""
        return tuple(c for c in CONTENTS if c in self.readers)

    @property
    def writable(self) -> tuple[Content, ...]:
        """What can be written as it."""
        return tuple(c for c in CONTENTS if c in self.writers)
