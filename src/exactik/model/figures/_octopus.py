"""The built-in octopus: a head, a mantle and eight arms of ball joints, 169 dofs.

World axes: x forward, y to the left, z up. At q = 0 it stands on the floor z = 0 on its arms, which
arch down from the head and run outwards along the floor, an eighth of a turn apart. The x axis of
every bone of an arm follows the arm.

It has joints of many kinds, on purpose: the head moves freely with a quaternion (nq = nv + 1), the
mantle and the thin ends of the arms turn by exponential maps, the thick parts by swing and twist,
the tips by two angles.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from exactik.model._bone import Bone
from exactik.model._skeleton import Skeleton
from exactik.model.figures._bone_tables import Point
from exactik.model.joints import Joint
from exactik.spatial import axis_rotation

_ARMS = 8
_HEAD = 0.167  # [m] height
_RIM = 0.05  # [m] where arms begin, from the middle
# Bones of an arm: length [m], how the arm bends down there at q = 0 [degrees], joint.
_ARM: tuple[tuple[float, float, str], ...] = (
    (0.08, -20.0, "swing_twist"),
    (0.08, 35.0, "swing_twist"),
    (0.08, 30.0, "swing_twist"),
    (0.075, 15.0, "exp_map"),
    (0.07, -30.0, "exp_map"),
    (0.065, -15.0, "exp_map"),
    (0.06, -15.0, "euler"),
)
_SWING, _TWIST, _BALL, _TIP = 50.0, 25.0, 45.0, 60.0  # limits [degrees]


@cache
def octopus() -> Skeleton:
    """Return an octopus: arms of 0.5 m, 169 dofs, 170 coordinates, limits but for the moving root.

    x forward, y left, z up; at q = 0 it stands on z = 0 and its eight arms are alike, each turned
    by 45° from the next, the first by half of that to the left of x. Markers are at the tips of the
    arms, the eyes and the end of the mantle.
    """
    bones = [Bone("head", offset=(0.0, 0.0, _HEAD), joint=Joint.free("quaternion"))]
    ball = Joint.exp_map(np.radians([(-35.0, 35.0), (-35.0, 35.0), (-20.0, 20.0)]))
    bones.append(Bone("mantle", parent="head", offset=(-0.02, 0.0, 0.05), joint=ball))
    markers: dict[str, tuple[str, Point]] = {
        "MANTLE": ("mantle", (-0.06, 0.0, 0.17)),
        "LEYE": ("head", (0.035, 0.03, 0.03)),
        "REYE": ("head", (0.035, -0.03, 0.03)),
    }
    for k in range(1, _ARMS + 1):
        bones += _make_arm(k)
        markers[f"ARM{k}"] = (f"arm{k}_{len(_ARM)}", (_ARM[-1][0], 0.0, 0.0))
    return Skeleton.build("octopus", bones, markers)


def _make_arm(k: int) -> list[Bone]:
    """Return the bones of arm k, 1 to 8, counted to the left from the front."""
    bearing = (k - 0.5) * 2.0 * np.pi / _ARMS
    start = _RIM * np.array([np.cos(bearing), np.sin(bearing), 0.0])
    around = axis_rotation("z", bearing)
    bones: list[Bone] = []
    for n, (_, bend, kind) in enumerate(_ARM, start=1):
        down = axis_rotation("y", np.radians(bend))
        bones.append(
            Bone(
                f"arm{k}_{n}",
                parent="head" if n == 1 else f"arm{k}_{n - 1}",
                offset=start if n == 1 else (_ARM[n - 2][0], 0.0, 0.0),
                pre=around @ down if n == 1 else down,
                joint=_make_joint(kind),
            )
        )
    return bones


def _make_joint(kind: str) -> Joint:
    """Return a joint of an arm that runs along x."""
    swing, twist, ball, tip = np.radians([_SWING, _TWIST, _BALL, _TIP])
    if kind == "swing_twist":
        return Joint.swing_twist("x", [(-swing, swing), (-swing, swing), (-twist, twist)])
    if kind == "exp_map":
        return Joint.exp_map([(-twist, twist), (-ball, ball), (-ball, ball)])
    return Joint.euler("YZ", [(-tip, tip), (-tip, tip)])
