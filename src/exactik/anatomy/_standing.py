"""How a body stands: where up and left are, and which axis is up for a figure or a motion.

The head is above the feet, whatever the axes of the file. A figure that is no body stands on the
floor with several ends of chains, which is where one coordinate is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from exactik.anatomy._bone_tree import SIDES, Anatomy
from exactik.anatomy._describe import describe_body
from exactik.errors import ModelError
from exactik.model import Skeleton
from exactik.model.motion import Motion, choose_even_frames, cyclic_axes, turn_skeleton
from exactik.typing import Array

MIN_UP_COSINE = 0.9
"""Of the direction from feet to head with an axis, from which that axis is up: 26°. Walking people
have 0.99, at rest all that stand 0.999; a dog, from paws to head, 0.8."""
LOOKED_AT_FRAMES = 50  # of a motion, to see which axis is up: people seldom lie in most
FOOT_SHARE = 0.08
"""[share of a figure's longest side at rest] from zero up to which the end of a chain is a foot on
the floor: the joints of paws and toes are 0.03 above the soles. Hips, the origin of others, are at
0.5."""
MIN_FEET = 2  # a lamp on one foot may as well hang from there
# Of what is known of a figure, the first is above the last.
_FROM_TOP_TO_BOTTOM = ("head", "upper_arm", "chest", "pelvis", "thigh", "shin", "foot")


def find_up_direction(body: Anatomy, positions: Array) -> Array:
    """Return the mean direction from feet to head, (3,), of poses (n, n_bones, 3).

    Raises:
        ModelError: neither is known, or they are at one place.
    """
    middles = [_find_middle(body, part, positions) for part in _FROM_TOP_TO_BOTTOM]
    known = [places for places in middles if places is not None]
    if len(known) < 2:
        raise ModelError(f"no head and no feet are known in {body.skeleton.name!r}")
    mean = (known[0] - known[-1]).mean(axis=0)
    return make_unit(mean, f"{body.skeleton.name!r} has its head at its feet")


def find_left_direction(
    body: Anatomy, positions: Array, parts: Sequence[str] = ("thigh", "upper_arm")
) -> Array:
    """Return the direction from the right to the left side, (3,).

    Its length is that between the parts of the two sides [m], in sum; 0 where none has two.

    Args:
        body: of which some parts are known.
        positions: of its bones [m], (n_bones, 3).
    """
    pairs = [[body.parts.get(f"{side}_{part}") for side in SIDES] for part in parts]
    index = body.skeleton.bone_index
    lines = [
        positions[index(left.start)] - positions[index(right.start)]
        for left, right in pairs
        if left is not None and right is not None
    ]
    return np.sum(lines, axis=0) if len(lines) > 0 else np.zeros(3)


def _find_middle(body: Anatomy, part: str, positions: Array) -> Array | None:
    """Return the places of a part, of both sides in the middle, (n, 3); None if it is not known."""
    names = [part] if part in body.parts else [f"{side}_{part}" for side in SIDES]
    if any(name not in body.parts for name in names):
        return None
    index = [body.skeleton.bone_index(body.parts[name].bone) for name in names]
    if part in ("upper_arm", "thigh", "shin"):
        index = [body.start_of(name) for name in names]
    return positions[:, index].mean(axis=1)


def measure_standing(body: Anatomy, positions: Array) -> Array:
    """Return how much bodies stand, from −1 to 1, (n,), of poses (n, n_bones, 3).

    1 for legs straight opposite to the trunk; below 0 it is no pose of a body that stands or lies.
    """
    skeleton, parts = body.skeleton, body.parts
    top = parts.get("head", parts.get("chest", parts["pelvis"])).bone
    hips = [skeleton.bone_index(parts[f"{side}_thigh"].start) for side in SIDES]
    ankles = [skeleton.bone_index(parts[f"{side}_foot"].bone) for side in SIDES]
    trunk = positions[:, None, skeleton.bone_index(top)] - positions[:, hips]
    legs = positions[:, hips] - positions[:, ankles]
    lengths = np.linalg.norm(trunk, axis=2) * np.linalg.norm(legs, axis=2)
    cosines = np.einsum("nsi,nsi->ns", trunk, legs) / np.maximum(lengths, 1e-12)
    return cosines.min(axis=1)


def find_rest_pose(motion: Motion) -> Array:
    """Return the rest pose of a motion's skeleton, (nq,), with inner shifts as they mostly are.

    Files whose joints all have position channels have their bones' lengths in these alone.
    """
    skeleton = motion.skeleton
    q = skeleton.neutral()
    inner = ~skeleton.turns & (skeleton.parents[skeleton.dof_bones] >= 0) & (skeleton.plain_q >= 0)
    index = skeleton.plain_q[inner]
    q[index] = np.median(motion.q[:, index], axis=0)
    return q


def find_up_axis(body: Anatomy, q_rest: Array, positions: Array) -> str | None:
    """Return the axis along which a body stands, "y" or "z"; None if it stands along neither.

    At rest if it stands there, for somebody may lie all the time; else as it mostly is.

    Args:
        body: with legs.
        q_rest: its rest pose, (nq,).
        positions: of its bones in some poses [m], (n, n_bones, 3).
    """
    at_rest = body.skeleton.forward(q_rest).positions[None]
    if measure_standing(body, at_rest)[0] > 0.0:
        up = _name_up_axis(find_up_direction(body, at_rest))
        if up is not None:
            return up
    return _name_up_axis(find_up_direction(body, positions))


def find_body_up(motion: Motion) -> str | None:
    """Return which axis is up, "y" or "z", as a body tells whose bones have names; None for others.

    Legs alone tell it at rest.

    Args:
        motion: of any skeleton; frames without a pose are left out.
    """
    skeleton = motion.skeleton
    present = motion.q[np.isfinite(motion.q).all(axis=1)]
    if len(present) == 0:
        return None
    few = present[choose_even_frames(len(present), LOOKED_AT_FRAMES)]
    q_rest = find_rest_pose(replace(motion, q=few))
    body = describe_body(skeleton, q_rest)
    if body.is_whole:
        try:
            return find_up_axis(body, q_rest, skeleton.forward(few).positions)
        except ModelError:
            return None
    return _find_up_of_legs(body, skeleton.forward(q_rest).positions)


def find_figure_up(motion: Motion) -> str | None:
    """Return which axis is up for a figure, as its shape tells; None if it does not.

    A body with arms and legs has its head above its feet. Others stand on the floor with several
    ends of chains, which is where one coordinate is zero.
    """
    return find_body_up(motion) or _find_ground_axis(motion.skeleton)


def stand_up_skeleton(skeleton: Skeleton, up: str | None = None) -> Skeleton:
    """Return a skeleton with z up at rest.

    Args:
        up: which axis is up for it; by its shape if None, as it is where that tells nothing.
    """
    up = up or find_figure_up(Motion(skeleton, skeleton.neutral()[None], 1.0))
    return skeleton if up in (None, "z") else turn_skeleton(skeleton, cyclic_axes(up, "z"))


def _find_up_of_legs(body: Anatomy, positions: Array) -> str | None:
    """Return the axis along which trunk and thighs are above shins and feet, (n_bones, 3)."""
    above = [k for k, role in enumerate(body.roles) if role.part in ("pelvis", "spine", "thigh")]
    below = [k for k, role in enumerate(body.roles) if role.part in ("shin", "foot", "toes")]
    if len(above) == 0 or len(below) == 0:
        return None
    direction = positions[above].mean(axis=0) - positions[below].mean(axis=0)
    length = float(np.linalg.norm(direction))
    return _name_up_axis(direction / length) if length > 0.0 else None


def _find_ground_axis(skeleton: Skeleton) -> str | None:
    """Return the axis along which a figure at rest stands on zero, on feet; None if none is."""
    places = skeleton.forward(skeleton.neutral()).positions
    size = float(np.ptp(places, axis=0).max(initial=0.0))
    parents = set(skeleton.parents.tolist())
    ends = places[[k for k in range(len(places)) if k not in parents]]
    axes = []
    for k in range(3):
        feet = ends[np.abs(ends[:, k]) <= FOOT_SHARE * size]
        lowest, highest = float(places[:, k].min()), float(places[:, k].max())
        stands = abs(lowest) <= FOOT_SHARE * size < 0.5 * highest
        if size > 0.0 and stands and len(feet) >= MIN_FEET and len(feet) < len(ends):
            axes.append("xyz"[k])
    return axes[0] if len(axes) == 1 else None


def _name_up_axis(direction: Array) -> str | None:
    """Return the axis that a direction is along; none along x, which no program has up.

    Some files lay all bones out along x at rest.
    """
    axis = int(np.argmax(np.abs(direction)))
    return "xyz"[axis] if axis > 0 and abs(direction[axis]) > MIN_UP_COSINE else None


def make_unit(vector: Array, fault: str) -> Array:
    """Return a vector of length 1 in its direction, (3,).

    Raises:
        ModelError: with this fault, where it has no length.
    """
    length = float(np.linalg.norm(vector))
    if not length > 1e-9:
        raise ModelError(fault)
    return vector / length
