"""A motion of the SMPL family as a motion of a skeleton of exponential-map joints.

The root is where the regressor puts the pelvis, moved by `trans`, and turned about itself:

    p_pelvis = J_0(β) + trans ,     R_bone = R_parent exp(θ_bone)

Without a model file, bones are those of an adult of average proportions. Heights and lengths are
shares of the stature, after Drillis and Contini (Body Segment Parameters, 1966) as in Winter,
Biomechanics and Motor Control of Human Movement: hip at 0.530, knee 0.285, ankle 0.039, shoulder
0.818 of the stature, shoulders 0.129 from the middle, upper arm 0.186, forearm 0.146, hand 0.108,
foot 0.152. What they do not measure (hips 0.05 from the middle, the joints of the spine evenly
between hips and neck, the digits) is ours. In a T-pose, y up, x to the left, z forward, with the
pelvis at the origin.
"""

from __future__ import annotations

from functools import partial
from os.path import abspath

import numpy as np

from exactik.io._notes import Notes
from exactik.io._npz_arrays import NpzFile
from exactik.io.formats import Content
from exactik.io.native import read_npz_content as read_own_content
from exactik.io.native import read_npz_motion as read_own_motion
from exactik.io.native import read_npz_up_axis as read_own_up_axis
from exactik.io.smpl._model import FAMILY, FINGERS, Joints, SmplModel, read_smpl_model
from exactik.io.smpl._parameters import DEFAULT_RATE, WHAT, is_smpl, read_parameters
from exactik.model import Bone, Joint, Skeleton
from exactik.model.motion import Motion
from exactik.model.visuals import LazyVisuals, Visuals
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


def read_npz_content(path: str, notes: Notes) -> Content:
    """Return what an .npz file holds, ours or one of the SMPL family."""
    return "motion" if _open(path, notes) is not None else read_own_content(path, notes)


def read_npz_up_axis(path: str, notes: Notes) -> str | None:
    """Return which axis is up in an .npz file; those of the SMPL family do not say."""
    return None if _open(path, notes) is not None else read_own_up_axis(path, notes)


def read_npz_motion(
    path: str,
    notes: Notes,
    skeleton: Skeleton | None = None,
    rate: float | None = None,
    smpl_model: str | None = None,
) -> Motion:
    """Return the motion of an .npz file, ours or one of the SMPL family.

    Args:
        skeleton: whose motion it is, for ours; others have bones of their own.
        rate: frames a second [Hz], in place of what the file says.
        smpl_model: file of the model that the parameters are of; average bones without it.
    """
    file = _open(path, notes)
    if file is None:
        return read_own_motion(path, notes, skeleton, rate)
    if skeleton is not None:
        raise notes.error("has a body of its own; expected no skeleton beside it")
    found = read_parameters(file, notes)
    count = found.rotations.shape[1]
    name, joints = FAMILY[count]
    model = None if smpl_model is None else read_smpl_model(smpl_model)
    if model is None:
        text = f"{name} without its model: bones of average proportions, {STATURE:.2f} m tall"
        notes.remark(text, code="no-smpl-model")
        figure = make_smpl_skeleton(name, joints, place_average_joints(joints))
        rotations = found.rotations
    else:
        betas = found.betas
        figure = make_smpl_skeleton(
            FAMILY[len(model.joints)][0], model.joints, model.place_joints(betas)
        ).with_visuals(LazyVisuals(partial(_read_visuals, abspath(smpl_model or ""), betas)))
        rotations = _match_joints(found.rotations, joints, model, notes)
    hertz = found.rate if rate is None else rate
    if hertz is None:
        notes.assume(f"no rate; {DEFAULT_RATE:g} Hz is assumed", code="rate-not-stated")
        hertz = DEFAULT_RATE
    q = np.concatenate([found.places, rotations.reshape(len(rotations), -1)], axis=1)
    return Motion(figure, q, hertz, up_axis=found.up_axis, source=path, notes=notes.all)


def make_smpl_skeleton(name: str, joints: Joints, places: Array) -> Skeleton:
    """Return a skeleton of ball joints with these places at rest [m], (n, 3)."""
    index = {joint: k for k, (joint, _) in enumerate(joints)}
    bones = [
        Bone(
            joint,
            parent=parent,
            offset=places[k] if parent is None else places[k] - places[index[parent]],
            joint=Joint.free("exp_map") if parent is None else Joint.exp_map(),
        )
        for k, (joint, parent) in enumerate(joints)
    ]
    return Skeleton.build(name, bones)


def _open(path: str, notes: Notes) -> NpzFile | None:
    """Return a file of the SMPL family, None for one of ours."""
    file = NpzFile(path, notes, f"a file that exactik wrote, nor {WHAT}; expected an .npz")
    return file if "about" not in file and is_smpl(file) else None


def _read_visuals(path: str, betas: Array) -> Visuals:
    return read_smpl_model(path).make_visuals(betas)


def _match_joints(rotations: Array, joints: Joints, model: SmplModel, notes: Notes) -> Array:
    """Return rotations for the joints of a model, by name; those it has alone stay at rest."""
    own = {name: k for k, (name, _) in enumerate(joints)}
    matched = np.zeros((len(rotations), len(model.joints), 3))
    for k, (name, _) in enumerate(model.joints):
        if name in own:
            matched[:, k] = rotations[:, own[name]]
    known = {name for name, _ in model.joints}
    lost = [k for name, k in own.items() if name not in known]
    if np.abs(rotations[:, lost]).max(initial=0.0) > 0.0:
        notes.remark(f"{len(lost)} joints that turn are not in the model", code="joints-not-kept")
    return matched


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
