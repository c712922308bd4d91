"""What dofs may do: options that all that solves has in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from exactik._options import option


@dataclass(frozen=True, kw_only=True)
class DofOptions:
    """Limits and locks, see `Problem`."""

    limits: str = option(
        "hard",
        "Limits of joints: hard, soft or off.",
        more="Hard limits are never left, soft ones cost.",
        why="A pose beyond the limits of a body is wrong, whatever the markers say.",
        metavar="WORD",
        words={"hard": "hard", "soft": "soft", "off": "off"},
    )
    lock: str | Iterable[str] = option(
        (),
        "Bones or dofs that stay at rest, by name or pattern; may be given repeatedly.",
        why="All that can move may be needed.",
        metavar="NAME",
    )


@dataclass(frozen=True, kw_only=True)
class SpeedOptions:
    """How fast a motion may be."""

    max_speed: float | str | ArrayLike | Mapping[str, float] | None = option(
        None,
        "Largest speed of joints in rad/s, of shifts in m/s; file for those of the figure's file.",
        more="One for all dofs, one for each (nv,), or name or pattern → speed. The nearest motion "
        "that keeps it, dof by dof.",
        unit="rad/s or m/s",
        metavar="SPEED",
        words={"none": None, "file": "file"},
        number="a speed in rad/s",
    )
