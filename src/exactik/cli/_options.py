"""Options of commands, made from the fields of records; and how words become values.

A parameter of a command that is annotated with a record of options stands for one option a field,
see `OptionText`; `Annotated[Record, (name, …)]` has these alone. The command gets the record.

Tables of weights and names are given either in place ("LFHD=2,RFIN=0.5") or in a file: JSON, an
object; or CSV, two columns.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

import typer

from exactik._options import OptionText, list_options
from exactik._text import join_names
from exactik.errors import FileError, UsageError


def argument(metavar: str, help: str) -> Any:
    """Return what Typer shall know of an argument."""
    return typer.Argument(metavar=metavar, help=help)


def value_option(metavar: str, help: str, *flags: str, **more: Any) -> Any:
    """Return what Typer shall know of an option with a value."""
    return typer.Option(*flags, metavar=metavar, help=help, **more)


def output_option(metavar: str, help: str) -> Any:
    """Return what Typer shall know of the option that says what to write."""
    return value_option(metavar, help, "--output", "-o")


TakeOption = Annotated[
    str | None,
    value_option(
        "FILE", "A motion of the recording, from which markers are put on a skeleton that has none."
    ),
]

TYPES: dict[str, type] = {
    **dict.fromkeys(("SECONDS", "HZ", "MM", "METRES"), float),
    **dict.fromkeys(("N", "FRAMES"), int),
}
"""Metavar → type of the value where it is no text."""
Place = tuple[str, tuple[float, float, float]]  # a bone and a point in its frame [m]


def check_axis_option(option: typer.CallbackParam, value: str | None) -> str | None:
    """Return the value of an option that is an axis; refuse others under the option's own name."""
    return None if value is None else _parse_axis(option.opts[0], value)


def parse_length_unit(text: str | None) -> str | float | None:
    """Return a length unit: metres in it, or its name."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def to_flag(argument: str) -> str:
    """Return the option that an argument of the library is on the command line."""
    return f"--{argument.replace('_', '-')}"


def expand_records(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose records of options are options, as Typer understands them."""
    parameters: list[Parameter] = []
    records: dict[str, tuple[type, dict[str, _Option]]] = {}
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in signature(function).parameters.items():
        record, names = _find_record(hints[name])
        if record is None:
            keyword = Parameter.KEYWORD_ONLY  # those with a default may come first
            parameters.append(parameter.replace(annotation=hints[name], kind=keyword))
            continue
        options = {n: o for n, o in _list_by_class(record).items() if names is None or n in names}
        records[name] = record, options
        parameters += [option.parameter for option in options.values()]

    @wraps(function)
    def call(**given: Any) -> Any:
        for name, (record, options) in records.items():
            given[name] = record(**{n: o.parse(given.pop(n)) for n, o in options.items()})
        return function(**given)

    del call.__dict__["__wrapped__"]
    call.__dict__["__signature__"] = signature(function).replace(parameters=parameters)
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    return call


def _find_record(hint: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Return the record that an annotation means, and which of its options; None if none."""
    names = hint.__metadata__[0] if get_origin(hint) is Annotated else None
    kind = hint.__origin__ if get_origin(hint) is Annotated else hint
    return (kind, names) if is_dataclass(kind) else (None, None)


def _list_by_class(record: type) -> dict[str, _Option]:
    """Return the options of a record that are on the command line, its own before inherited."""
    described = list_options(record)
    names = [name for kind in record.__mro__ for name in vars(kind).get("__annotations__", ())]
    ordered = {name: described[name] for name in names if name in described}
    return {n: _Option(f, said) for n, (f, said) in ordered.items() if said.is_on_command_line}


class _Option:
    """A field of a record, as an option."""

    def __init__(self, one: Field[Any], said: OptionText):
        self._default, self._said = one.default, said
        self._flag = (said.flags or to_flag(one.name)).split()[0].split("/")[0]
        self._is_list = self._default == () and said.metavar != "FORMATS"
        kind: Any = bool if said.metavar == "" else TYPES.get(said.metavar, str)
        kind = list[kind] if self._is_list else kind
        shown = self._to_words()
        option = typer.Option(
            *said.flags.split(),
            metavar=said.metavar or None,
            help=said.help,
            min=said.least,
            show_default=shown is not None,
        )
        self.parameter = Parameter(
            one.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if shown is MISSING else shown,
            annotation=Annotated[kind | None if shown is None else kind, option],
        )

    def _to_words(self) -> Any:
        """Return the default as it is typed."""
        said = self._said
        default: Any = self._default
        if said.words is not None and default in said.words.values():
            return next(word for word, value in said.words.items() if value == default)
        if said.metavar == "FORMATS" and default is not None:
            return ",".join(suffix.removeprefix(".") for suffix in default)
        if self._is_list:
            return None
        return False if self._is_switch else default

    @property
    def _is_switch(self) -> bool:
        """Whether it is a flag that turns the default into its opposite."""
        return self._said.metavar == "" and "/" not in self._said.flags

    def parse(self, given: Any) -> Any:
        """Return the value for the record of what was typed."""
        said = self._said
        if self._is_switch:
            return not self._default if given else self._default
        if self._is_list:
            given = tuple(given or ())
        if said.words is not None and given is not None:
            return self._parse_word(given)
        parse = PARSERS.get(said.metavar)
        return given if parse is None or given is None else parse(self._flag, given)

    def _parse_word(self, word: str) -> Any:
        words, number = self._said.words or {}, self._said.number
        if word in words:
            return words[word]
        if number == "":
            expected = f"expected {join_names(tuple(words), last=' or ')}"
            raise UsageError(f"{self._flag} is {word!r}; {expected}")
        try:
            return float(word)
        except ValueError:
            expected = f"it must be {', '.join(words)} or {number}"
            raise UsageError(f"{self._flag} is {word!r}; {expected}") from None


def _parse_axis(flag: str, value: str) -> str:
    if value not in ("x", "y", "z"):
        raise UsageError(f"{flag} is {value!r}; expected x, y or z")
    return value


def _parse_filters(flag: str, texts: tuple[str, ...]) -> dict[str, str]:
    filters = {}
    for text in texts:
        column, equals, value = text.partition("=")
        if equals == "":
            raise UsageError(f"{flag} is {text!r}; expected COLUMN=VALUE, as verdict=care")
        filters[column.strip()] = value.strip()
    return filters


PARSERS: Mapping[str, Callable[[str, Any], Any]] = {
    "AXIS": _parse_axis,
    "COLUMN=VALUE": _parse_filters,
    "FORMATS": lambda _, text: tuple(text.split(",")),
    "MM": lambda _, value: 1e-3 * value,
    "NAMES": lambda _, text: parse_mapping(text),
    "UNIT": lambda _, text: parse_length_unit(text),
    "WEIGHTS": lambda _, text: parse_weights(text),
}
"""Metavar → what makes a value of the flag and the text; others are taken as they are."""


def parse_weights(text: str) -> dict[str, float]:
    """Return the weights of markers, by names or patterns as given."""
    return {
        name: _parse_weight(name, value) for name, value in _parse_pairs("--weights", text).items()
    }


def parse_mapping(text: str) -> dict[str, str | Place | None]:
    """Return what recorded markers are: marker or bone, bone and place, or None: not used."""
    mapping: dict[str, str | Place | None] = {}
    for name, value in _parse_pairs("--mapping", text).items():
        if value is None or value == "":
            mapping[name] = None
        elif isinstance(value, str):
            mapping[name] = _parse_place_text(value) or value
        else:
            mapping[name] = _parse_place(name, value)
    return mapping


def _parse_weight(name: str, value: Any) -> float:
    try:
        weight = float(value)
    except (TypeError, ValueError):
        weight = -1.0
    if not 0.0 <= weight < float("inf"):
        raise UsageError(f"--weights: {name} is {value!r}; expected a number ≥ 0")
    return weight


def _parse_place(name: str, value: Any) -> Place:
    try:
        bone, (x, y, z) = value
        return str(bone), (float(x), float(y), float(z))
    except (TypeError, ValueError):
        fault = f"--mapping: {name} is {value!r:.60}"
        raise UsageError(
            f'{fault}; expected "marker", "bone", ["bone", [x, y, z]] or null'
        ) from None


def _parse_place_text(text: str) -> Place | None:
    """Return a bone and a place in its frame [m] from "l_shin 0.03 0.04 -0.2", or None."""
    try:
        bone, x, y, z = text.rsplit(maxsplit=3)
        return bone, (float(x), float(y), float(z))
    except ValueError:
        return None


def _parse_pairs(option: str, text: str) -> dict[str, Any]:
    """Return names and values; texts, but for JSON."""
    suffix = Path(text).suffix.lower()
    if suffix == ".json":
        return _read_json_pairs(text)
    if suffix in (".csv", ".txt"):
        return _read_csv_pairs(text)
    pairs: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if equals == "" or name.strip() == "":
            raise UsageError(
                f"{option} is {text!r}; expected NAME=VALUE, separated by commas, or a .json or "
                ".csv file"
            )
        pairs[name.strip()] = value.strip()
    return pairs


def _read_json_pairs(path: str) -> dict[str, Any]:
    from exactik.io import read_text

    try:
        pairs = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        line = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise FileError(path, "not JSON; expected an object of names and values", line) from None
    if not isinstance(pairs, dict):
        raise FileError(path, 'expected an object of names and values, as {"LFHD": 2}')
    return pairs


def _read_csv_pairs(path: str) -> dict[str, Any]:
    from exactik.io import read_text

    pairs: dict[str, Any] = {}
    for n, row in enumerate(csv.reader(read_text(path).splitlines()), start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        if len(cells) > 2 and cells[2].startswith("#"):  # a remark, as `exactik match` writes
            cells = cells[:2]
        if len(cells) != 2 or cells[0] == "":
            raise FileError(path, f"{len(cells)} columns; expected a name and a value", f"line {n}")
        pairs[cells[0]] = cells[1]
    return pairs
