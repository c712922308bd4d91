"""Frames of rest at the ends of a motion, which are no part of it.

Many files begin with the pose of their zeros, or with arms held out, for calibration; the motion
begins with the next frame, and the body is there in no time. Such frames are told by both: the body
is at rest, and leaves it faster than any body moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from exactik.anatomy import SIDES
from exactik.model.motion import Motion
from exactik.retargeting.body._figure import BodyFigure, SourceBody
from exactik.spatial import angle_between
from exactik.typing import Array, BoolArray

MAX_REST_ANGLE = 0.1
"""[rad] of every part against the pelvis to its rest pose, within which a body is at rest: nobody
who moves has all parts within 6° of it."""
MAX_ARM_ANGLE = 0.35
"""[rad] of arms to the sides and of legs to straight down, within which a body stands with its arms
held out: those who are asked to do it are within 20°."""
LEAVE_SPEED = 20.0
"""[rad/s] of a part, beyond which a body was put elsewhere: throwing arms reach it for moments, and
not from rest within one frame."""


@dataclass(frozen=True)
class RestEnds:
    """How many frames at the ends of a motion are rest."""

    first: int  # at its beginning
    last: int  # at its end

    def __bool__(self) -> bool:
        """Whether there are any."""
        return self.first + self.last > 0

    @property
    def words(self) -> str:
        """What and where they are: "frame 1", "the last 3 frames"."""
        parts = []
        if self.first > 0:
            parts.append("the first frame" if self.first == 1 else f"the first {self.first} frames")
        if self.last > 0:
            parts.append("the last frame" if self.last == 1 else f"the last {self.last} frames")
        return " and ".join(parts)


def find_rest_ends(body: SourceBody) -> RestEnds:
    """Return how many frames at the ends of a motion are rest, and no part of it."""
    turned = _turn_against_pelvis(body.figure, body.rotations)
    leaves = angle_between(turned[:-1], turned[1:]).max(axis=1, initial=0.0) > (
        LEAVE_SPEED / body.rate
    )
    at_rest = _find_rest(body, turned) | _find_arms_held_out(body)
    first = _count_rest(at_rest, leaves)
    last = _count_rest(at_rest[::-1], leaves[::-1])
    return RestEnds(first, last) if first + last < len(at_rest) else RestEnds(0, 0)


def leave_out(motion: Motion, body: SourceBody, rest: RestEnds) -> tuple[Motion, SourceBody]:
    """Return a motion without frames at its ends, and its body."""
    part = slice(rest.first, len(motion) - rest.last)
    return (
        replace(motion, q=motion.q[part], first_frame=motion.first_frame + rest.first),
        replace(body, positions=body.positions[part], rotations=body.rotations[part]),
    )


def _count_rest(at_rest: BoolArray, leaves: BoolArray) -> int:
    """Return how many frames from the first on are at rest, if the body leaves it in no time."""
    moving = np.flatnonzero(~at_rest)
    count = int(moving[0]) if len(moving) > 0 else 0
    return count if count > 0 and leaves[count - 1] else 0


def _turn_against_pelvis(figure: BodyFigure, rotations: Array) -> Array:
    """Return R_pelvis_part of all parts, (T, n_parts, 3, 3)."""
    index = [figure.index_of(name) for name in figure.anatomy.parts]
    R_world_pelvis = rotations[:, figure.index_of("pelvis")]
    return np.einsum("tji,tbjk->tbik", R_world_pelvis, rotations[:, index])


def _find_rest(body: SourceBody, turned: Array) -> BoolArray:
    """Return the frames in which all parts are as in the pose of the file's zeros, (T,)."""
    pose = body.figure.skeleton.forward(body.figure.q_rest)
    rest = _turn_against_pelvis(body.figure, pose.rotations[None])
    away = angle_between(np.broadcast_to(rest, turned.shape), turned)
    return np.asarray(away.max(axis=1, initial=0.0) < MAX_REST_ANGLE)


def _find_arms_held_out(body: SourceBody) -> BoolArray:
    """Return the frames in which a body stands straight with its arms to the sides, (T,)."""
    figure, positions = body.figure, body.positions
    down = np.array((0.0, 0.0, -1.0))
    hips = [positions[:, figure.start_of(f"{side}_thigh")] for side in SIDES]
    left = hips[0] - hips[1]
    found = np.ones(len(positions), dtype=bool)
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        limbs = (("upper_arm", "forearm", sign * left), ("forearm", "hand", sign * left))
        legs = (("thigh", "shin", down), ("shin", "foot", down))
        for start, end, along in (*limbs, *legs):
            way = positions[:, figure.start_of(f"{side}_{end}")]
            way = way - positions[:, figure.start_of(f"{side}_{start}")]
            found &= _is_along(way, np.broadcast_to(along, way.shape))
    return found


def _is_along(way: Array, along: Array) -> BoolArray:
    lengths = np.linalg.norm(way, axis=1) * np.linalg.norm(along, axis=1)
    cosine = np.einsum("ti,ti->t", way, along) / np.maximum(lengths, 1e-12)
    return np.asarray(cosine > np.cos(MAX_ARM_ANGLE))
