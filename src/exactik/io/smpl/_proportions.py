"""Bones of an adult of average proportions, for parameters of SMPL without their model file.

Heights and lengths are shares of the stature, after Drillis and Contini (Body Segment Parameters,
1966) as in Winter, Biomechanics and Motor Control of Human Movement: hip at 0.530, knee 0.285,
ankle 0.039, shoulder 0.818 of the stature, shoulders 0.129 from the middle, upper arm 0.186,
forearm 0.146, hand 0.108, foot 0.152. What they do not measure (hips 0.05 from the middle, the
joints of the spine evenly between hips and neck, the digits) is ours. In a T-pose, y up, x to the
left, z forward, with the pelvis at the origin.
"""

from __future__ import annotations

import numpy as np

from exactik.io.smpl._names import FINGERS, Joints
from exactik.typing import Array

STATURE = 1.70  # [m] the mean of women and men in most statistics lies within 5 cm
_PELVIS = 0.55
_SHOULDER_X, _SHOULDER_Y = 0.129, 0.818
_ELBOW_X = _SHOULDER_X + 0.186
_WRIST_X = _ELBOW_X + 0.146
_SIDES = {  # share of the stature: x to the left of the middle, height, z forward
    "hip": (0.050, 0.530, 0.0),
    "knee": (0.050, 0.285, 0.0),
    "ankle": (0.050, 0.039, -0.02),
    "foot": (0.050, 0.012, 0.06),
    "collar": (0.030, 0.800, 0.0),
    "shoulder": (_SHOULDER_X, _SHOULDER_Y, 0.0),
    "elbow": (_ELBOW_X, _SHOULDER_Y, 0.0),
    "wrist": (_WRIST_X, _SHOULDER_Y, 0.0),
    "hand": (_WRIST_X + 0.045, _SHOULDER_Y, 0.0),
    "eye_smplhf": (0.018, 0.936, 0.045),
}
_MIDDLE = {
    "pelvis": (0.0, _PELVIS, 0.0),
    "spine1": (0.0, 0.61, 0.0),
    "spine2": (0.0, 0.67, 0.0),
    "spine3": (0.0, 0.73, 0.0),
    "neck": (0.0, 0.83, 0.0),
    "head": (0.0, 0.88, 0.02),
    "jaw": (0.0, 0.89, 0.03),
}
# Of the digits: along the hand and forward from the wrist, and the length of a phalanx.
_FINGERS = {
    "index": (0.054, 0.015, 0.018),
    "middle": (0.056, 0.004, 0.020),
    "ring": (0.052, -0.008, 0.018),
    "pinky": (0.046, -0.018, 0.014),
    "thumb": (0.014, 0.020, 0.018),
}


def place_average_joints(joints: Joints) -> Array:
    """Return where joints are at rest [m], (n, 3)."""
    return STATURE * np.array([_place(name) for name, _ in joints])


def _place(name: str) -> Array:
    """Return the place of a joint as a share of the stature, from the pelvis, (3,)."""
    side, _, part = name.partition("_")
    sign = {"left": 1.0, "right": -1.0}.get(side, 0.0)
    if sign == 0.0:
        place = np.array(_MIDDLE[name])
    elif part[:-1] in FINGERS:
        along, forward, phalanx = _FINGERS[part[:-1]]
        along += (int(part[-1]) - 1) * phalanx
        place = np.array([sign * (_WRIST_X + along), _SHOULDER_Y, forward])
    else:
        x, y, z = _SIDES[part]
        place = np.array([sign * x, y, z])
    return place - (0.0, _PELVIS, 0.0)
