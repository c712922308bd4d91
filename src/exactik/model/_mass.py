"""Masses of bones, and where the centre of mass of a pose is.

Nothing that solves looks at them: they tell whether a figure would fall.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from exactik._arrays import require_shape
from exactik.errors import ModelError, UnknownNameError
from exactik.typing import Array

__all__ = ["BoneMass", "check_masses", "weigh_positions"]

Point = tuple[float, float, float]


class BoneMass(NamedTuple):
    """The mass of a bone.

    Attributes:
        mass: [kg], not negative.
        center: its centre in the bone's frame [m].
    """

    mass: float
    center: Point = (0.0, 0.0, 0.0)


def check_masses(
    masses: Mapping[str, BoneMass] | None, bones: Mapping[str, int]
) -> dict[str, BoneMass]:
    """Return masses by bone, checked; without those that are zero."""
    checked: dict[str, BoneMass] = {}
    for bone, (mass, center) in (masses or {}).items():
        if bone not in bones:
            raise UnknownNameError("bone", bone, bones)
        if not (math.isfinite(mass) and mass >= 0.0):
            raise ModelError(f"the mass of bone {bone!r} is {mass}; it must be finite and ≥ 0")
        x, y, z = require_shape(f"centre of mass of bone {bone!r}", center, 3).tolist()
        if mass > 0.0:
            checked[bone] = BoneMass(float(mass), (x, y, z))
    return checked


def weigh_positions(masses: Array, positions: Array) -> Array:
    """Return the mean of positions, (…, n, 3), by masses, (n,); shape (…, 3)."""
    return np.einsum("n,...nk->...k", masses / masses.sum(), positions)
