"""What the tests of tracking share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import exactik as ik

__all__ = ["determined", "inside"]

OPEN = ("hand.rx", "fingers.rx", "neck.rx", "neck.ry", "neck.rz", "head.rx", "head.ry", "head.rz")
"""Ends of dofs of the built-in human that its markers leave open or nearly so: two hinges in a row
with one marker beyond them have two solutions, balls in line can turn against each other."""


def determined(figure: ik.Skeleton) -> NDArray[np.bool_]:
    """Dofs of the built-in human that its markers determine well, (nv,)."""
    return np.array([not name.endswith(OPEN) for name in figure.dof_names])


def inside(skeleton: ik.Skeleton, q: NDArray[np.float64]) -> bool:
    """Whether poses, (T, nq), are inside the limits, to the last digit."""
    own = skeleton.plain_q >= 0
    values = q[:, skeleton.plain_q[own]]
    return bool((values >= skeleton.lower[own]).all() and (values <= skeleton.upper[own]).all())
