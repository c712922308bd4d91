"""The built-in human: an adult of 1.75 m, 58 dofs, 41 markers.

World axes: x forward, y to the left, z up. At q = 0 the figure stands on the floor z = 0 facing +x,
its arms 45° below the horizontal, thumbs forward. All bone frames are then parallel to the world's,
except along the arms, where y follows the left arm outwards and the right arm inwards.

Heights and lengths are fractions of stature as usual in anthropometry; joint centres sit at hip
0.530, knee 0.285, ankle 0.039, shoulder 0.810 and base of the skull 0.915 of it. Limits are ranges
of motion of healthy adults, those of limbs as the American Academy of Orthopaedic Surgeons lists
them (Joint Motion, 1965; toes −70 to 45, inversion 35, eversion 25 with the forefoot's, ankle −35
under load), those of the spine the sums of the vertebrae that a joint stands for (White and
Panjabi, Clinical Biomechanics of the Spine, 1990, upper ends of their ranges: neck C7–C4, C4–C2 and
the joints of the head), those of the shoulder girdle 45 up, 20 down and 30 to 35 forward and back
with the shoulder blade's share. Where several joints share a motion that markers see only in sum,
each has room for more than its share: no one of them should sit at its end. Left and right are
mirror images: a mirrored pose has the same angles about y and the negated ones about x and z.

Euler orders have the long axis of a limb innermost (twist), and gimbal lock away from where people
usually are: a thigh straight to the side, an arm raised sideways to 45° above the horizontal, the
body on its side. (An arm that hangs or is stretched forwards, sideways or up is well clear of it.)

Share of the body's mass, and centre, of the segments of young men as P. de Leva lists them
(Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters, J. Biomech. 29:1223-1230, 1996,
table 4): along the line from the first joint to the second for limbs; for head and trunk as heights
over the hips, from the lengths and shares given there over the stature of 1.741 m. The foot is
0.152 of stature long (Drillis and Contini, 1966), the centre at 44.15 % from the heel.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from exactik.model._bone import Bone
from exactik.model._pose import BoneMass
from exactik.model._skeleton import Skeleton
from exactik.model.figures._bone_tables import BoneRow, Point, make_bone, make_lazy_body
from exactik.model.joints import Joint
from exactik.spatial import axis_rotation

_STATURE = 1.75
_HIP_HEIGHT = 0.530
_ARM_SLOPE = np.radians(45.0)

# As `BoneRow`, with joint centres in the parent as fractions of stature.
_MIDDLE: tuple[BoneRow, ...] = (
    ("lower_back", "pelvis", (-0.020, 0, 0.060), "YXZ", ((-30, 55), (-30, 30), (-15, 15))),
    ("upper_back", "lower_back", (0, 0, 0.135), "YXZ", ((-20, 30), (-20, 20), (-25, 25))),
    ("thorax", "upper_back", (-0.005, 0, 0.060), "YXZ", ((-20, 25), (-20, 20), (-25, 25))),
    ("lower_neck", "thorax", (0, 0, 0.065), "YXZ", ((-30, 35), (-30, 30), (-25, 25))),
    ("upper_neck", "lower_neck", (0.012, 0, 0.030), "YXZ", ((-30, 30), (-25, 25), (-30, 30))),
    ("head", "upper_neck", (0.013, 0, 0.035), "YXZ", ((-25, 25), (-15, 15), (-45, 45))),
)
# The left side; parents that exist on both sides are meant on the left too.
_LEFT: tuple[BoneRow, ...] = (
    ("thigh", "pelvis", (0, 0.050, 0), "YXZ", ((-125, 25), (-25, 45), (-40, 45))),
    ("shin", "thigh", (0, 0, -0.245), "Y", ((-5, 145),)),
    ("foot", "shin", (0, 0, -0.246), "YX", ((-35, 55), (-35, 25))),
    ("toes", "foot", (0.075, 0, -0.029), "Y", ((-70, 45),)),
    ("clavicle", "thorax", (0.045, 0.015, 0.040), "XZ", ((-20, 45), (-35, 30))),
    ("upper_arm", "clavicle", (-0.020, 0.100, -0.015), "ZXY", ((-180, 70), (-80, 135), (-90, 90))),
    ("forearm", "upper_arm", (0, 0.186, 0), "Z", ((-150, 5),)),
    ("wrist", "forearm", (0, 0.110, 0), "Y", ((-85, 85),)),
    ("hand", "wrist", (0, 0.036, 0), "XZ", ((-80, 70), (-20, 35))),
    ("fingers", "hand", (0, 0.054, 0), "X", ((-90, 20),)),
)

_MARKER_NAMES = """
    LFHD RFHD LBHD RBHD C7 T10 CLAV STRN RBAC LSHO LUPA LELB LFRM LWRA LWRB LFIN RSHO RUPA RELB RFRM
    RWRA RWRB RFIN LFWT RFWT LBWT RBWT LTHI LKNE LSHN LANK LHEE LMT5 LTOE RTHI RKNE RSHN RANK RHEE
    RMT5 RTOE
""".split()
# Marker, bone, place on the skin in the bone's frame [m]; those on the right mirror the left ones.
# Markers of the pelvis are before the hips as Harrington et al. (2007, J. Biomech. 40:595) found:
# 66 mm from the hips to the front spines at this width and depth, and 10 mm of skin and marker.
_MARKERS: dict[str, tuple[str, Point]] = {
    "LFHD": ("head", (0.095, 0.060, 0.080)),
    "LBHD": ("head", (-0.075, 0.060, 0.075)),
    "C7": ("lower_neck", (-0.060, 0, 0.020)),
    "CLAV": ("thorax", (0.115, 0, 0.050)),
    "STRN": ("upper_back", (0.145, 0, 0.035)),
    "RBAC": ("upper_back", (-0.105, -0.100, 0.060)),
    "T10": ("lower_back", (-0.085, 0, 0.220)),
    "LFWT": ("pelvis", (0.075, 0.125, 0.075)),
    "LBWT": ("pelvis", (-0.125, 0.050, 0.095)),
    "LSHO": ("l_clavicle", (-0.035, 0.165, 0.025)),
    "LUPA": ("l_upper_arm", (0, 0.140, 0.050)),
    "LELB": ("l_upper_arm", (0, 0.320, 0.045)),
    "LFRM": ("l_forearm", (0, 0.110, 0.040)),
    "LWRA": ("l_wrist", (0.030, 0.060, 0.010)),
    "LWRB": ("l_wrist", (-0.030, 0.060, 0.010)),
    "LFIN": ("l_fingers", (0, 0.030, 0.012)),
    "LTHI": ("l_thigh", (0, 0.090, -0.220)),
    "LKNE": ("l_thigh", (0, 0.055, -0.425)),
    "LSHN": ("l_shin", (0.030, 0.045, -0.200)),
    "LANK": ("l_foot", (0, 0.040, 0.005)),
    "LHEE": ("l_foot", (-0.060, 0, -0.035)),
    "LMT5": ("l_toes", (-0.010, 0.045, 0)),
    "LTOE": ("l_toes", (0.030, 0, 0.020)),
}
BODY_MASS = 73.0  # [kg] of de Leva's men; the centre of mass does not depend on it
# Bone → share of the mass [%], centre in its frame as fractions of stature. Axes as of the figure:
# x forward, y left (outwards along a left arm), z up.
MIDDLE = {
    "pelvis": (11.17, (-0.005, 0.0, 0.0325)),  # lower trunk, 57 mm over the hips
    "lower_back": (16.33, (0.020, 0.0, 0.0918)),  # middle trunk, 264 mm
    "thorax": (15.96, (0.025, 0.0, 0.0211)),  # upper trunk, 481 mm
    "head": (6.94, (0.005, 0.0, 0.0152)),  # with the neck, 121.5 mm below the vertex
}
LEFT = {
    "thigh": (14.16, (0.0, 0.0, -0.4095 * 0.245)),
    "shin": (4.33, (0.0, 0.0, -0.4459 * 0.246)),
    "foot": (1.37, (-0.034 + 0.4415 * 0.152, 0.0, -0.020)),
    "upper_arm": (2.71, (0.0, 0.5772 * 0.186, 0.0)),
    "forearm": (1.62, (0.0, 0.4574 * 0.146, 0.0)),
    "hand": (0.61, (0.0, 0.79 * 0.054, 0.0)),
}


@cache
def human() -> Skeleton:
    """Return the built-in figure: 1.75 m tall, 58 dofs (nq = nv), limits, 41 markers, moving root.

    x forward, y left, z up; at q = 0 it stands on z = 0 with its arms 45° below the horizontal. The
    root moves by translation and Euler ZXY (heading, roll, pitch) and has no limits.
    """
    root = Bone("pelvis", offset=(0, 0, _HIP_HEIGHT * _STATURE), joint=Joint.free("ZXY"))
    bones = [root]
    bones += [make_bone(row, scale=_STATURE) for row in _MIDDLE]
    for side, prefix in ((1.0, "l_"), (-1.0, "r_")):
        bones += [_make_limb_bone(row, side, prefix) for row in _LEFT]
    markers = {name: _find_marker(name) for name in _MARKER_NAMES}
    masses = _make_human_masses(_STATURE)
    return Skeleton.build("human", bones, markers, visuals=make_lazy_body("human"), masses=masses)


def _make_limb_bone(row: BoneRow, side: float, prefix: str) -> Bone:
    """Return the bone of a row of the left side, mirrored for side −1."""
    slope = axis_rotation("x", -side * _ARM_SLOPE) if row[0] == "upper_arm" else None
    paired = [left[0] for left in _LEFT]
    return make_bone(row, side, prefix, paired, scale=_STATURE, pre=slope)


def _find_marker(name: str) -> tuple[str, Point]:
    if name in _MARKERS:
        return _MARKERS[name]
    bone, (x, y, z) = _MARKERS["L" + name[1:]]
    return "r_" + bone[2:] if bone.startswith("l_") else bone, (x, -y, z)


def _make_human_masses(stature: float) -> dict[str, BoneMass]:
    """Return the masses of the bones of a human of a stature [m], by name."""
    masses = {}
    rows = [(bone, 1.0, row) for bone, row in MIDDLE.items()]
    rows += [(f"l_{bone}", 1.0, row) for bone, row in LEFT.items()]
    rows += [(f"r_{bone}", -1.0, row) for bone, row in LEFT.items()]
    for bone, side, (percent, (x, y, z)) in rows:
        center = (stature * x, side * stature * y, stature * z)
        masses[bone] = BoneMass(0.01 * percent * BODY_MASS, center)
    return masses
