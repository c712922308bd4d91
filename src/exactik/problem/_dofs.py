"""Options of dofs, which dofs a pattern means; limits, locks and strengths as plain arrays."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, is_number
from exactik._options import option
from exactik.errors import UnknownNameError, UsageError
from exactik.kernels.descent.state import Box
from exactik.model import Skeleton
from exactik.typing import Array, BoolArray


def find_dofs(skeleton: Skeleton, patterns: Iterable[str]) -> BoolArray:
    """Return the dofs whose name, or whose bone's name, equals or matches one of the patterns."""
    matched = np.zeros(skeleton.nv, bool)
    bones = [dof.rpartition(".")[0] for dof in skeleton.dof_names]
    for pattern in patterns:

        def matches(name: str, pattern: str = pattern) -> bool:
            return name == pattern or fnmatch.fnmatchcase(name, pattern)

        if not any(map(matches, (*skeleton.bone_names, *skeleton.dof_names))):
            known = (*skeleton.bone_names, *skeleton.dof_names)
            raise UnknownNameError("bone or dof", pattern, known)
        pairs = zip(skeleton.dof_names, bones, strict=True)
        matched |= np.array([matches(dof) or matches(bone) for dof, bone in pairs], bool)
    return matched


def find_locked_dofs(skeleton: Skeleton, patterns: Iterable[str]) -> BoolArray:
    """Return the dofs to lock, (nv,); a quaternion is locked whole or not at all.

    A turn about one axis of a ball is no coordinate: what holding it means would depend on the path
    taken.
    """
    locked = find_dofs(skeleton, patterns)
    balls = np.flatnonzero(skeleton.plain_q < 0).reshape(-1, 3)
    for ball in balls:
        if locked[ball].any() and not locked[ball].all():
            names = ", ".join(skeleton.dof_names[i] for i in ball)
            raise UsageError(f"lock holds only a part of {names}; a quaternion is locked whole")
    return locked


def compute_strengths(skeleton: Skeleton, strength: Mapping[str, float]) -> Array:
    """Return the strength of each dof, (nv,), 1 where no pattern says otherwise.

    Only their ratios mean anything: they are over the median of all dofs, which is 1 where most
    keep the default.
    """
    values = np.ones(skeleton.nv)
    for pattern, value in strength.items():
        if not is_number(value) or not 0.0 < value < np.inf:
            raise UsageError(
                f"strength of {pattern!r} is {value!r}; it must be a positive finite number "
                "(use lock= to hold a dof)"
            )
        values[find_dofs(skeleton, [pattern])] = value
    # An entry, not the mean of two, so that equal strengths become exactly 1.
    return values / np.sort(values)[len(values) // 2] if len(values) > 0 else values


def compute_dof_bounds(
    skeleton: Skeleton, name: str, given: float | ArrayLike | Mapping[str, float], known: Array
) -> Array:
    """Return a bound > 0 of each dof, (nv,).

    Args:
        skeleton: whose dofs.
        name: of the argument, for messages.
        given: one for all, one for each dof, or name or pattern → bound.
        known: where a mapping says nothing, (nv,).
    """
    if isinstance(given, Mapping):
        bounds = np.array(known, dtype=float)
        for pattern, value in given.items():
            if not is_number(value):
                raise UsageError(f"{name} of {pattern!r} is {value!r}; expected a number")
            bounds[find_dofs(skeleton, [pattern])] = value
    else:
        bounds = np.full(skeleton.nv, given) if is_number(given) else as_floats(name, given).copy()
        if bounds.shape != (skeleton.nv,):
            raise UsageError(
                f"{name} has shape {bounds.shape}; expected a number, ({skeleton.nv},), one per "
                "dof, or {name or pattern: number}"
            )
    if not (bounds > 0.0).all():
        dof = skeleton.dof_names[int(np.flatnonzero(~(bounds > 0.0))[0])]
        raise UsageError(f"{name} of {dof} must be above zero; use lock= to hold a dof")
    return bounds


def make_box(skeleton: Skeleton, lower: Array, upper: Array, free: Array, strength: Array) -> Box:
    """Return what the kernels must know of the dofs to move them; arrays (nv,)."""
    return Box(
        coordinate=skeleton.plain_q,
        lower=lower,
        upper=upper,
        free=free,
        strength=strength,
        inverse_square_strength=1.0 / strength**2,
        is_rotation=skeleton.turns.astype(float),
        period=2.0 * math.pi * skeleton.is_periodic.astype(float),
    )


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
