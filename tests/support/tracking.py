"""What the tests of tracking share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import exactik as ik
from exactik.typing import Array
from tests.support.problems import menagerie

__all__ = ["find_determined_dofs", "is_within_limits", "make_moving_menagerie"]


OPEN = ("hand.rx", "fingers.rx", "neck.rx", "neck.ry", "neck.rz", "head.rx", "head.ry", "head.rz")
"""Ends of dofs of the built-in human that its markers leave open or nearly so: two hinges in a row
with one marker beyond them have two solutions, balls in line can turn against each other."""


def find_determined_dofs(figure: ik.Skeleton) -> NDArray[np.bool_]:
    """Dofs of the built-in human that its markers determine well, (nv,)."""
    return np.array([not name.endswith(OPEN) for name in figure.dof_names])


def is_within_limits(skeleton: ik.Skeleton, q: Array) -> bool:
    """Whether poses, (T, nq), are inside the limits, to the last digit."""
    plain = skeleton.plain_q >= 0
    values = q[:, skeleton.plain_q[plain]]
    return bool((values >= skeleton.lower[plain]).all() and (values <= skeleton.upper[plain]).all())


def make_moving_menagerie(frames: int, noise: float = 0.0) -> tuple[ik.Skeleton, Array, ik.Markers]:
    """A figure of all kinds of joints whose root tumbles through more than a turn."""
    skeleton, rng = menagerie(), np.random.default_rng(2)
    pace = rng.uniform(0.3, 0.8, skeleton.nv)
    t = np.arange(frames)[:, None] / 60.0
    v = 0.4 * np.sin(2.0 * np.pi * pace * t + rng.uniform(0, 6, skeleton.nv))
    v[:, 3:6] = 0.0
    v[:, 5] = 5.0 * t[:, 0]
    q = np.array([skeleton.integrate(skeleton.neutral(), step) for step in v])
    q = skeleton.clip(q)
    place = skeleton.forward(q).markers
    place = place + rng.normal(0.0, noise, place.shape) if noise > 0.0 else place
    return skeleton, q, ik.Markers(place, tuple(skeleton.markers), 60.0)
