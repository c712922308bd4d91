"""Parameters of the SMPL family over time, from an .npz file of AMASS or of a pose estimator.

Rotations of all joints in one array ("poses", of AMASS), or of root, body, hands and face in arrays
of their own (SMPL-X, GVHMR, WHAM): rotation vectors in the frame of the parent joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exactik.io._notes import Notes
from exactik.io._npz_arrays import NpzFile
from exactik.io.smpl._model import FAMILY
from exactik.spatial import exp_rotation, log_rotation
from exactik.typing import Array

WHAT = "a motion of the SMPL family"
WHOLE = ("poses", "fullpose", "pose_world", "pose")
ROOT = ("root_orient", "global_orient")
PLACE = ("trans", "transl", "trans_world")
SHAPE = ("betas", "shape")
RATE = ("mocap_framerate", "mocap_frame_rate", "fps", "frame_rate", "framerate")
# Parts in the order of SMPL-X: names, number of joints.
PARTS = (
    (("pose_body", "body_pose"), 21),
    (("pose_jaw", "jaw_pose"), 1),
    (("pose_eye",), 2),
    (("left_hand_pose",), 15),
    (("right_hand_pose",), 15),
)
HANDS = "pose_hand"  # both in one array
MIN_UP_COSINE = 0.7  # of the pelvis' mean direction with an axis, from which that axis is up
DEFAULT_RATE = 30.0  # [Hz] of what estimators make of videos, which seldom say it


@dataclass(frozen=True, eq=False)
class SmplParameters:
    """How a body of the SMPL family moves."""

    # Rotation vectors of the joints in their parents' frames [rad], (T, n_joints, 3)
    rotations: Array
    places: Array  # of the pelvis from where it is at rest [m], (T, 3)
    betas: Array  # shape, (k,)
    rate: float | None  # frames a second [Hz]; None if the file does not say
    up_axis: str | None  # "x", "y" or "z" of the world; None if that cannot be told


def is_smpl(file: NpzFile) -> bool:
    """Return whether a file has the rotations of a body, by the names of its arrays."""
    return _find(file, WHOLE) is not None or _find(file, ROOT) is not None


def read_parameters(file: NpzFile, notes: Notes) -> SmplParameters:
    """Return what is in a file."""
    whole = _find(file, WHOLE)
    if whole is not None:
        rotations = _read_rotations(file, whole, notes)
    else:
        rotations = _join_parts(file, notes)
    count = rotations.shape[1]
    if count not in FAMILY:
        known = ", ".join(map(str, FAMILY))
        raise notes.error(f"rotations of {count} joints; expected {known}", code="not-smpl")
    frames = len(rotations)
    return SmplParameters(
        rotations=rotations,
        places=_read_places(file, frames, notes),
        betas=_read_betas(file, notes),
        rate=_read_rate(file, notes),
        up_axis=_find_up_axis(file, rotations[:, 0]),
    )


def _find_up_axis(file: NpzFile, root: Array) -> str | None:
    """Return the axis along which the body mostly stands; z in AMASS where it does not.

    At rest all of the family have y up; the root turns the body to what is up in the world.
    """
    along = exp_rotation(root)[:, :, 1].mean(axis=0)
    axis = int(np.argmax(np.abs(along)))
    if along[axis] > MIN_UP_COSINE:
        return "xyz"[axis]
    return "z" if _find(file, RATE[:2]) is not None else None


def _find(file: NpzFile, names: Sequence[str]) -> str | None:
    return next((name for name in names if name in file), None)


def _read_rotations(file: NpzFile, name: str, notes: Notes) -> Array:
    """Return rotation vectors, (T, n, 3), of an array of any of the shapes that are in use."""
    array = file.read_numbers(name)
    if array.size == 0:
        raise notes.error(f"{name} has no frame; expected one at least")
    if array.ndim >= 4 and array.shape[-2:] == (3, 3):
        return log_rotation(array.reshape(len(array), -1, 3, 3))
    if array.ndim == 4 and len(array) == 1:  # a batch of one
        array = array[0]
    if array.ndim == 3 and len(array) == 1 and array.shape[2] % 3 == 0 and array.shape[2] > 3:
        array = array[0]
    if array.ndim not in (2, 3) or array[0:1].size % 3 != 0:
        raise notes.error(f"{name} has shape {array.shape}; expected (frames, 3 × joints)")
    return array.reshape(len(array), -1, 3)


def _join_parts(file: NpzFile, notes: Notes) -> Array:
    """Return the rotations of all joints from arrays of the parts, zero for those that are not."""
    root = _find(file, ROOT)
    body = _find(file, PARTS[0][0])
    if root is None or body is None:
        missing = "the root" if root is None else "the body"
        expected = " or ".join(ROOT if root is None else PARTS[0][0])
        raise notes.error(f"no rotations of {missing}; expected {expected}", code="not-smpl")
    first = _read_rotations(file, root, notes)
    frames = len(first)
    found = [first]
    given = {names[0]: _find(file, names) for names, _ in PARTS}
    has_hands = HANDS in file or given["left_hand_pose"] is not None
    for names, count in PARTS:
        name = given[names[0]]
        if name is None and HANDS in file and "hand" in names[0]:
            both = _read_rotations(file, HANDS, notes)
            part = both[:, :15] if "left" in names[0] else both[:, 15:]
        elif name is None:
            if not has_hands:
                continue
            part = np.zeros((frames, count, 3))
        else:
            part = _read_part(file, name, count, frames, notes)
        if len(part) != frames:
            raise notes.error(f"{name or HANDS} has {len(part)} frames; expected {frames}")
        found.append(part)
    if not has_hands:  # a body of SMPL has two more joints, its hands; a face has no use for us
        return np.concatenate(found[:2], axis=1)
    return np.concatenate(found, axis=1)


def _read_part(file: NpzFile, name: str, count: int, frames: int, notes: Notes) -> Array:
    part = _read_rotations(file, name, notes) if name else np.zeros((frames, count, 3))
    if part.shape[1] == count or (name.endswith("body_pose") and part.shape[1] == 23):
        return part
    if "hand" in name and part.shape[1] < count:
        text = f"{name} has {3 * part.shape[1]} numbers a frame, components of a model: flat hands"
        notes.assume(text, code="hand-components")
        return np.zeros((frames, count, 3))
    raise notes.error(f"{name} has {part.shape[1]} joints; expected {count}")


def _read_places(file: NpzFile, frames: int, notes: Notes) -> Array:
    name = _find(file, PLACE)
    if name is None:
        notes.assume("no place of the body, it stays where it is", code="no-place")
        return np.zeros((frames, 3))
    places = file.read_numbers(name)
    if places.ndim == 3 and len(places) == 1:
        places = places[0]
    if places.size != 3 * frames:
        raise notes.error(f"{name} has shape {places.shape}; expected ({frames}, 3)")
    return places.reshape(frames, 3)


def _read_betas(file: NpzFile, notes: Notes) -> Array:
    name = _find(file, SHAPE)
    if name is None:
        return np.zeros(0)
    betas = file.read_numbers(name)
    if betas.ndim == 3 and len(betas) == 1:
        betas = betas[0]
    if betas.ndim == 2 and len(betas) > 0:
        if np.ptp(betas, axis=0).max(initial=0.0) > 1e-6:
            notes.assume("the shape changes from frame to frame; its mean is taken", code="betas")
        betas = betas.mean(axis=0)
    if betas.ndim != 1:
        raise notes.error(f"{name} has shape {betas.shape}; expected numbers of a shape")
    return betas


def _read_rate(file: NpzFile, notes: Notes) -> float | None:
    name = _find(file, RATE)
    if name is None:
        return None
    rate = file.read_numbers(name)
    if rate.size != 1 or not 0.0 < float(rate.flat[0]) < 1e5:
        raise notes.error(f"{name} is {rate.flat[:1]}; expected frames a second")
    return float(rate.flat[0])
