"""JSON that knows where it stands: every question is checked, every error names its place."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from exactik.errors import Advice, FileError
from exactik.typing import Array

__all__ = ["Part", "shown"]

MAX_PARTS = 200_000  # entries of one list: nodes, accessors, channels


class Part:
    """A JSON object that knows its place, such as "nodes[3]".

    Attributes:
        path: the file.
        place: where in it.
        value: the object.
    """

    def __init__(self, path: str, place: str, value: dict[str, Any]):
        """Wrap an object of a file."""
        self.path, self.place, self.value = path, place, value

    def at(self, key: str) -> str:
        """Return the place of one of its entries."""
        dot = "" if self.place == "" or key.startswith("[") else "."
        return f"{self.place}{dot}{key}"

    def error(
        self,
        message: str,
        key: str = "",
        *,
        code: str = "malformed",
        advice: Advice | None = None,
    ) -> FileError:
        """Return the error that names this place, or that of one of its entries."""
        place = self.at(key) if key != "" else self.place
        return FileError(self.path, message, place, code, advice)

    def _wrong(self, key: str, what: str) -> NoReturn:
        if key not in self.value:
            raise self.error(f"missing; expected {what}", key)
        raise self.error(f"is {shown(self.value[key])}; expected {what}", key)

    def integer(
        self, key: str, default: int | None = None, low: int = 0, count: int = 1 << 53
    ) -> int:
        """Return a whole number from `low` to below `count`; required without a default."""
        value = self.value.get(key, default)
        whole = isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0
        if not whole or not low <= value < count:
            self._wrong(key, f"a whole number from {low} to {count - 1}")
        return int(value)

    def index(self, key: str, of: list[Part]) -> int | None:
        """Return the index of an entry of another list, None where there is none."""
        return self.integer(key, count=len(of)) if key in self.value else None

    def indices(self, key: str, of: list[Part]) -> list[int]:
        """Return a list of indices, empty where there is none."""
        values = self._list(key)
        wrapped = Part(self.path, self.at(key), {f"[{k}]": v for k, v in enumerate(values)})
        return [wrapped.integer(name, count=len(of)) for name in wrapped.value]

    def numbers(self, key: str, default: tuple[float, ...]) -> Array:
        """Return as many finite numbers as the default has."""
        values, n = self.value.get(key, default), len(default)
        good = isinstance(values, list | tuple) and len(values) == n
        if not good or not all(type(x) in (int, float) and abs(x) < 1e100 for x in values):
            self._wrong(key, f"{n} finite numbers")
        return np.array(values, dtype=float)

    def text(self, key: str, default: str = "") -> str:
        """Return a string."""
        value = self.value.get(key, default)
        if not isinstance(value, str):
            self._wrong(key, "a string")
        return value

    def part(self, key: str) -> Part:
        """Return an object inside this one, empty where there is none."""
        value = self.value.get(key, {})
        if not isinstance(value, dict):
            self._wrong(key, "an object")
        return Part(self.path, self.at(key), value)

    def parts(self, key: str) -> list[Part]:
        """Return a list of objects inside this one, empty where there is none."""
        values = self._list(key)
        for k, value in enumerate(values):
            if not isinstance(value, dict):
                raise self.error(f"is {shown(value)}; expected an object", f"{key}[{k}]")
        return [Part(self.path, self.at(f"{key}[{k}]"), value) for k, value in enumerate(values)]

    @property
    def own(self) -> dict[str, Any]:
        """What our writer left in it; extras of others may be anything, so they are not checked."""
        extras = self.value.get("extras")
        left = extras.get("exactik") if isinstance(extras, dict) else None
        return left if isinstance(left, dict) else {}

    def _list(self, key: str) -> list[Any]:
        values = self.value.get(key, [])
        if not isinstance(values, list) or len(values) > MAX_PARTS:
            self._wrong(key, f"a list of at most {MAX_PARTS} entries")
        return values


def shown(value: object, length: int = 60) -> str:
    """Return a value as it would be typed, on one line, cut where it gets long."""
    if isinstance(value, dict | list):  # may be deep: not to be printed
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)} entries"
    text = repr(value[: 2 * length] if isinstance(value, str) else value)
    return text if len(text) <= length else text[: length - 1] + "…"
