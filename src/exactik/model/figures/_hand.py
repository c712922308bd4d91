"""The built-in hand: a moving wrist and five fingers, 26 dofs.

World axes: z up along the fingers, x out of the palm, y to the thumb of a right hand. At q = 0 the
wrist stands on the floor z = 0, the hand is flat; all bone frames are parallel to the world's but
the thumb's, which is turned out of the palm and towards the others.

Lengths are those of an adult's hand, 0.19 m from the wrist to the tip of the middle finger; limits
are common ranges of motion. A positive angle about y bends a finger towards the palm.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from exactik.errors import UsageError
from exactik.model._bone import Bone
from exactik.model._skeleton import Skeleton
from exactik.model.figures._bone_tables import Point, make_lazy_body
from exactik.model.joints import Joint
from exactik.spatial import axis_rotation
from exactik.typing import Array

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
