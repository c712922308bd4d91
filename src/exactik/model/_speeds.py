"""How fast joints may move: a number per dof, by its name; dofs without one know no bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from exactik._arrays import is_number
from exactik.errors import ModelError, UnknownNameError


def check_speeds(speeds: Mapping[str, float] | None, dofs: Iterable[str]) -> dict[str, float]:
    """Return largest speeds by dof [rad/s or m/s], checked; without those that are infinite."""
    known = set(dofs)
    checked: dict[str, float] = {}
    for dof, speed in (speeds or {}).items():
        if dof not in known:
            raise UnknownNameError("dof", dof, tuple(known))
        if not is_number(speed) or not speed > 0.0:
            raise ModelError(f"the largest speed of {dof!r} is {speed!r}; expected more than zero")
        if speed < math.inf:
            checked[dof] = float(speed)
    return checked
