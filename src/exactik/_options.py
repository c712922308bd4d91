"""Options as fields of frozen dataclasses: default, help, unit and reason, each said once.

A field serves the function that takes it as a keyword (`accepts_options`), the command line
(`exactik.cli`), the key of an archive and the table in the documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from functools import update_wrapper
from inspect import Parameter, signature
from textwrap import wrap
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from exactik.errors import UsageError

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")

_KEY = "exactik"  # of the descriptions in the metadata of fields
_WIDTH = 92  # columns of the text of an argument in a docstring


@dataclass(frozen=True, kw_only=True)
class OptionText:
    """What is said of an option."""

    help: str  # what it does, in a sentence or two: the help of the command line
    more: str = ""  # what callers in Python have to know beside it
    why: str = ""  # the reason for the default, and what holds it
    unit: str = ""  # of the value in Python
    # The kind of value on the command line, which also tells how it is read; "" for a flag, or an
    # option that the command line has not
    metavar: str = ""
    # Spelling there, if it is not the name; a flag "--on/--off", or one that turns the default into
    # its opposite
    flags: str = ""
    words: Mapping[str, Any] | None = None  # that the value may be there, and what each means
    number: str = ""  # what a number means in place of a word
    least: float | None = None  # smallest number

    @property
    def is_on_command_line(self) -> bool:
        """Whether the command line has it."""
        return self.metavar != "" or self.flags != ""


def option(default: Any, help: str, **more: Any) -> Any:
    """Return a field with a default and a `OptionText`, whose other attributes are `more`."""
    return field(default=default, metadata=describe(help, **more))


def describe(help: str, **more: Any) -> dict[str, OptionText]:
    """Return the metadata of a field, see `OptionText`."""
    return {_KEY: OptionText(help=help, **more)}


def list_options(record: type) -> dict[str, tuple[Field[Any], OptionText]]:
    """Return the fields of a record that are described, by name."""
    known = {f.name: f for f in fields(record) if _KEY in f.metadata}
    return {name: (f, f.metadata[_KEY]) for name, f in known.items()}


def to_arguments(record: Any, kind: type | None = None) -> dict[str, Any]:
    """Return the options of a record by name, or those that another kind of record has too."""
    return {f.name: getattr(record, f.name) for f in fields(kind or record)}


def require_options(function: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raise `UsageError` if a keyword is no option of a function."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if len(near) > 0 else ""
            raise UsageError(f"{function} has no argument {name!r}{hint}")


def accepts_options(
    record: Callable[P, Any],
) -> Callable[[Callable[[A, B, Any], R]], Callable[Concatenate[A, B, P], R]]:
    """Return a decorator: a function of two operands and `options` takes their fields as keywords.

    Its signature and the arguments in its docstring become those of the fields.

    Args:
        record: class of the record, a dataclass of options.
    """
    kind = cast(type, record)
    known = {f.name: f for f in fields(kind)}

    def decorate(function: Any) -> Any:
        operands = list(signature(function).parameters.values())[:2]
        make = _find_maker(kind)

        def call(*given: Any, **options: Any) -> Any:
            if not options.keys() <= known.keys():
                named = {o.name: options.pop(o.name) for o in operands if o.name in options}
                require_options(function.__name__, options, known)
                return function(*given, **named, options=make(options))
            return function(*given, options=make(options))

        update_wrapper(call, function)
        keywords = [_to_parameter(f) for f in known.values()]
        call.__dict__["__signature__"] = signature(function).replace(
            parameters=[*operands, *keywords]
        )
        call.__doc__ = _describe_arguments(function.__doc__ or "", kind)
        return call

    return decorate


def _find_maker(kind: type) -> Callable[[dict[str, Any]], Any]:
    """Return what makes a record of options by name.

    A frozen dataclass sets its fields one by one, 0.8 µs of a call that may take ten: of one that
    has only defaults, all are set at once.
    """
    defaults = {f.name: f.default for f in fields(kind)}
    if MISSING in defaults.values() or hasattr(kind, "__post_init__"):
        return lambda options: kind(**options)

    def make(options: dict[str, Any]) -> Any:
        record = object.__new__(kind)
        vars(record).update(defaults)
        vars(record).update(options)
        return record

    return make


def _to_parameter(one: Field[Any]) -> Parameter:
    default = Parameter.empty if one.default is MISSING else one.default
    return Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=one.type)


def _describe_arguments(text: str, record: type) -> str:
    """Return a docstring with the options after its other arguments."""
    head, args, tail = text.partition("Args:\n")
    first, blank, rest = tail.partition("\n\n")
    first = first.partition("\n        options:")[0]  # where the fields come
    lines = [line for name, (_, said) in list_options(record).items() for line in _fold(name, said)]
    return "".join([head, args, first.rstrip(), "\n", *lines, blank and "\n", rest])


def _fold(name: str, said: OptionText) -> list[str]:
    unit = f" [{said.unit}]." if said.unit != "" else "."
    words = wrap(f"{name}: {said.help.removesuffix('.')}{unit} {said.more}", _WIDTH)
    return [f"{' ' * (8 if n == 0 else 12)}{line}\n" for n, line in enumerate(words)]
