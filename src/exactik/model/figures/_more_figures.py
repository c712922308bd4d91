"""The built-in quadruped (a dog of 0.64 m, 45 dofs), hand (26 dofs) and octopus (169 dofs).

The quadruped. World axes: x forward, y to the left, z up. At q = 0 it stands on the floor z = 0
facing +x, and all bone frames are parallel to the world's. Legs are as dogs have them: the hind leg
zigzags (knee to the front, hock to the back), the shoulder blade of the fore leg swings on the
chest, for there is no collar bone. A positive angle about y turns the end of a hanging limb
backwards.

The hand, with a moving wrist and five fingers. World axes: z up along the fingers, x out of the
palm, y to the thumb of a right hand. At q = 0 the wrist stands on the floor z = 0, the hand is
flat; all bone frames are parallel to the world's but the thumb's, which is turned out of the palm
and towards the others. Lengths are those of an adult's hand, 0.19 m from the wrist to the tip of
the middle finger; limits are common ranges of motion. A positive angle about y bends a finger
towards the palm.

The octopus: a head, a mantle and eight arms. World axes: x forward, y to the left, z up. At q = 0
it stands on the floor z = 0 on its arms, which arch down from the head and run outwards along the
floor, an eighth of a turn apart. The x axis of every bone of an arm follows the arm.

It has joints of many kinds, on purpose: the head moves freely with a quaternion (nq = nv + 1), the
mantle and the thin ends of the arms turn by exponential maps, the thick parts by swing and twist,
the tips by two angles.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from exactik.errors import UsageError
from exactik.model._bone import Bone
from exactik.model._skeleton import Skeleton
from exactik.model.figures._bone_tables import (
    BoneRow,
    Point,
    make_bone,
    make_both_sides,
    make_lazy_body,
    mirror_markers,
)
from exactik.model.figures._human import human
from exactik.model.joints import Joint
from exactik.spatial import axis_rotation
from exactik.typing import Array

_PELVIS: Point = (-0.27, 0.0, 0.56)

_MIDDLE: tuple[BoneRow, ...] = (
    ("loin", "pelvis", (0.07, 0, 0.025), "YXZ", ((-30, 20), (-20, 20), (-25, 25))),
    ("chest", "loin", (0.20, 0, 0), "YXZ", ((-25, 15), (-20, 20), (-20, 20))),
    ("neck", "chest", (0.27, 0, 0.01), "YZ", ((-45, 55), (-45, 45))),
    ("upper_neck", "neck", (0.09, 0, 0.08), "YZ", ((-40, 40), (-35, 35))),
    ("head", "upper_neck", (0.08, 0, 0.09), "YXZ", ((-45, 60), (-45, 45), (-35, 35))),
    ("tail", "pelvis", (-0.07, 0, 0.02), "YZ", ((-50, 80), (-70, 70))),
    ("mid_tail", "tail", (-0.10, 0, -0.05), "YZ", ((-40, 40), (-40, 40))),
    ("end_tail", "mid_tail", (-0.10, 0, -0.06), "YZ", ((-40, 40), (-40, 40))),
)
_LEFT: tuple[BoneRow, ...] = (
    ("thigh", "pelvis", (-0.01, 0.075, -0.03), "YX", ((-70, 45), (-15, 40))),
    ("shank", "thigh", (0.06, 0, -0.20), "Y", ((-50, 60),)),
    ("hock", "shank", (-0.13, 0, -0.17), "Y", ((-60, 45),)),
    ("hind_paw", "hock", (0.03, 0, -0.13), "Y", ((-40, 80),)),
    ("blade", "chest", (0.12, 0.06, 0.05), "Y", ((-20, 25),)),
    ("upper_arm", "blade", (0.10, 0.02, -0.17), "YX", ((-60, 45), (-15, 35))),
    ("forearm", "upper_arm", (-0.10, 0, -0.16), "Y", ((-95, 35),)),
    ("fore_paw", "forearm", (0.01, 0, -0.27), "Y", ((-35, 90),)),
)
_MARKERS: dict[str, tuple[str, Point]] = {
    "NOSE": ("head", (0.17, 0, -0.03)),
    "LEAR": ("head", (-0.02, 0.05, 0.06)),
    "REAR": ("head", (-0.02, -0.05, 0.06)),
    "WITHERS": ("chest", (0.12, 0, 0.06)),
    "RUMP": ("pelvis", (-0.04, 0, 0.06)),
    "TAIL": ("end_tail", (-0.10, 0, -0.05)),
    "LFOREPAW": ("l_fore_paw", (0.05, 0, -0.035)),
    "LWRIST": ("l_fore_paw", (0, 0.02, 0)),
    "LELBOW": ("l_forearm", (-0.02, 0.02, 0)),
    "LSHOULDER": ("l_upper_arm", (0.02, 0.03, 0)),
    "LHINDPAW": ("l_hind_paw", (0.06, 0, -0.03)),
    "LHOCK": ("l_hock", (-0.02, 0.015, 0)),
    "LKNEE": ("l_shank", (0.02, 0.03, 0)),
    "LHIP": ("l_thigh", (0, 0.04, 0)),
}
# Finger, its knuckle in the palm [m], slant about x [degrees], lengths of its three bones [m].
_FINGERS: tuple[tuple[str, Point, float, Point], ...] = (
    ("index", (0, 0.026, 0.092), -6.0, (0.042, 0.025, 0.021)),
    ("middle", (0, 0.004, 0.094), 0.0, (0.046, 0.029, 0.022)),
    ("ring", (0, -0.017, 0.089), 5.0, (0.043, 0.028, 0.022)),
    ("little", (-0.003, -0.036, 0.081), 11.0, (0.034, 0.020, 0.020)),
)
_SPREAD, _BEND = (-18, 18), ((-25, 90), (-5, 105), (-10, 80))
_THUMB: Point = (0.012, 0.026, 0.022)
_THUMB_LENGTHS: Point = (0.045, 0.034, 0.027)
_THUMB_LIMITS = (((-35, 30), (-20, 55)), (-5, 60), (-10, 80))
_THUMB_LEAN, _THUMB_TWIST = -48.0, -55.0  # [degrees] outwards, and about its length
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
def quadruped() -> Skeleton:
    """Return a dog: 0.64 m at the withers, 45 dofs (nq = nv), limits on all but the moving root.

    x forward, y left, z up; at q = 0 it stands on z = 0. The root moves by translation and Euler
    ZXY (heading, roll, pitch). Markers are at the paws, the nose, the tip of the tail and the
    joints.
    """
    root = Bone("pelvis", offset=_PELVIS, joint=Joint.free("ZXY"))
    bones = [root, *(make_bone(row) for row in _MIDDLE), *make_both_sides(_LEFT)]
    look = make_lazy_body("quadruped")
    return Skeleton.build("quadruped", bones, mirror_markers(_MARKERS), visuals=look)


@cache
def hand(side: str = "right") -> Skeleton:
    """Return a hand: 0.19 m long, 26 dofs (nq = nv), limits on all but the moving wrist.

    z along the fingers, x out of the palm; at q = 0 the wrist is at the origin and the hand flat.
    The root moves by translation and Euler ZXY. Markers are at the fingertips, the knuckles and the
    wrist.

    Args:
        side: "right", or "left" for its mirror image in y = 0.
    """
    if side not in ("right", "left"):
        raise UsageError(f"side is {side!r}; it must be 'right' or 'left'")
    mirror = 1.0 if side == "right" else -1.0
    bones = [Bone("palm", joint=Joint.free("ZXY"))]
    markers: dict[str, tuple[str, Point]] = {"WRIST": ("palm", (0.0, 0.0, 0.0))}
    lean = axis_rotation("x", mirror * np.radians(_THUMB_LEAN))
    twist = axis_rotation("z", mirror * np.radians(_THUMB_TWIST))
    bones += _make_finger("thumb", _THUMB, lean @ twist, _THUMB_LENGTHS, _THUMB_LIMITS, mirror)
    for name, knuckle, slant, lengths in _FINGERS:
        slanted = axis_rotation("x", mirror * np.radians(slant))
        bones += _make_finger(
            name, knuckle, slanted, lengths, ((_SPREAD, _BEND[0]), *_BEND[1:]), mirror
        )
    for name, *_, last in (("thumb", *_THUMB_LENGTHS), *((f[0], *f[3]) for f in _FINGERS)):
        markers[name.upper()] = (f"{name}_3", (0.0, 0.0, last))
        markers[f"{name.upper()}_KNUCKLE"] = (f"{name}_1", (0.0, 0.0, 0.0))
    look = make_lazy_body("hand", mirrored=side == "left")
    return Skeleton.build(f"{side} hand", bones, markers, visuals=look)


def _make_finger(
    name: str,
    knuckle: Point,
    pre: Array,
    lengths: Point,
    degrees: tuple,
    mirror: float,
) -> list[Bone]:
    """Return three bones: a knuckle that spreads and bends, then two hinges."""
    x, y, z = knuckle
    (spread, bend), *hinges = degrees
    across = np.radians(spread) if mirror > 0.0 else -np.radians(spread)[::-1]
    first = Joint.euler("XY", [across, np.radians(bend)])
    joints = [first, *(Joint.revolute("y", np.radians(hinge)) for hinge in hinges)]
    offsets = [(x, mirror * y, z), (0.0, 0.0, lengths[0]), (0.0, 0.0, lengths[1])]
    parents = ["palm", f"{name}_1", f"{name}_2"]
    turns = [pre, None, None]
    rows = zip(parents, offsets, turns, joints, strict=True)
    return [
        Bone(f"{name}_{k}", parent=parent, offset=offset, pre=turn, joint=joint)
        for k, (parent, offset, turn, joint) in enumerate(rows, start=1)
    ]


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


def dress(skeleton: Skeleton) -> Skeleton:
    """Return a skeleton with the look of the built-in figure whose bones it has.

    Its bones may have other lengths, and another axis may be up. A skeleton that is none of the
    figures is returned as it is.
    """
    for figure in (human(), quadruped(), hand(), hand("left")):
        if len(figure.bones) == len(skeleton.bones) and all(
            (a.name, a.parent) == (b.name, b.parent)
            and (a.parent is None or (a.pre, a.post) == (b.pre, b.post))
            for a, b in zip(figure.bones, skeleton.bones, strict=True)
        ):
            return skeleton.with_look_of(figure)
    return skeleton
