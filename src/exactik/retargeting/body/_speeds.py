"""How fast the joints of a robot turn, beside what its motors do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.retargeting.body._limbs import find_root_dofs
from exactik.typing import Array, IntArray

MAX_HINGE_SPEED = 30.0
"""[rad/s] of a robot's hinge whose file states none: five turns a second. Motors of legs and arms
of humanoids do 12 to 37."""


class HingeSpeed(NamedTuple):
    """How fast a joint of one dof turns.

    Attributes:
        name: of the dof; "" if there is none.
        speed: [rad/s].
        frame: from which to the next it does.
        limit: [rad/s] that its motor does, or is taken to; infinite for what has no motor.
    """

    name: str
    speed: float
    frame: int
    limit: float = np.inf

    @property
    def share(self) -> float:
        """Of its limit: beyond 1 no motor follows."""
        return self.speed / self.limit


def is_robot(skeleton: Skeleton) -> bool:
    """Return whether all joints but the root's have one dof at most, as those with a motor."""
    return all(bone.joint.nv <= 1 for bone in skeleton.bones if bone.parent is not None)


def find_speed_limits(skeleton: Skeleton) -> Array:
    """Return how fast dofs may turn [rad/s], (nv,): as its file says, else as robots do.

    Infinite where nothing limits them.
    """
    limited = is_robot(skeleton) & skeleton.turns & ~find_root_dofs(skeleton)
    usual = np.where(limited, MAX_HINGE_SPEED, np.inf)
    return np.where(np.isfinite(skeleton.max_speed), skeleton.max_speed, usual)


def find_hinges(skeleton: Skeleton) -> IntArray:
    """Return the dofs, (n,), that are the only one of their joint, and turn."""
    counts = np.bincount(skeleton.dof_bones, minlength=len(skeleton.bones))
    is_hinge = skeleton.turns & (skeleton.plain_q >= 0) & (counts[skeleton.dof_bones] == 1)
    return np.flatnonzero(is_hinge)


def measure_hinges(skeleton: Skeleton, q: Array, rate: float) -> tuple[HingeSpeed, ...]:
    """Return how fast each hinge turns at most, in the order of the dofs.

    Args:
        q: poses, (T, nq).
    """
    dofs, limits = find_hinges(skeleton), find_speed_limits(skeleton)
    if len(q) < 2:
        return ()
    speeds = np.abs(np.diff(q[:, skeleton.plain_q[dofs]], axis=0)) * rate
    return tuple(
        HingeSpeed(
            name=skeleton.dof_names[dof],
            speed=float(path.max()),
            frame=int(np.argmax(path)),
            limit=float(limits[dof]),
        )
        for dof, path in zip(dofs, speeds.T, strict=True)
    )
