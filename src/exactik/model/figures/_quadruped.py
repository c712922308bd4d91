"""The built-in four-legged animal: a dog of 0.64 m at the withers, 45 dofs.

World axes: x forward, y to the left, z up. At q = 0 it stands on the floor z = 0 facing +x, and all
bone frames are parallel to the world's. Legs are as dogs have them: the hind leg zigzags (knee to
the front, hock to the back), the shoulder blade of the fore leg swings on the chest, for there is
no collar bone. A positive angle about y turns the end of a hanging limb backwards.
"""

from __future__ import annotations

from functools import cache

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
from exactik.model.joints import Joint

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
