"""Small figures with markers where a test wants them, and what they do."""

from __future__ import annotations

import numpy as np

from exactik.model import Bone, Joint, Skeleton
from exactik.model.motion import Markers
from exactik.recordings.tracking import TrackingProblem, make_tracking_problem
from exactik.typing import Array

__all__ = ["make_chain", "make_problem", "make_rigid_body", "move_chain"]


def make_chain(bones: int, per_bone: int = 1, seed: int = 0) -> Skeleton:
    """A free root and ball joints in a row, 0.2 m apart; markers M<bone>_<number> around each."""
    rng = np.random.default_rng(seed)
    links = [Bone("b0", joint=Joint.free("ZYX"))]
    links += [
        Bone(f"b{k}", parent=f"b{k - 1}", offset=(0.2, 0.0, 0.0), joint=Joint.euler("ZYX"))
        for k in range(1, bones)
    ]
    markers = {}
    for k in range(bones):
        for m in range(per_bone):
            x, y, z = (np.array([0.1, 0.0, 0.0]) + rng.uniform(-0.06, 0.06, 3)).tolist()
            markers[f"M{k}_{m}"] = (f"b{k}", (x, y, z))
    return Skeleton.build("chain", links, markers)


def make_rigid_body(points: Array) -> Skeleton:
    """One free bone with markers P0, P1, … at points [m], (n, 3)."""
    markers = {f"P{k}": ("body", tuple(point)) for k, point in enumerate(points.tolist())}
    return Skeleton.build("body", [Bone("body", joint=Joint.free("ZYX"))], markers)


def move_chain(skeleton: Skeleton, frames: int, rate: float = 60.0, bend: float = 0.5) -> Array:
    """A slow motion of all dofs, (frames, nq)."""
    rng = np.random.default_rng(1)
    t = np.arange(frames)[:, None] / rate
    phase = rng.uniform(0.0, 6.0, skeleton.nv)
    return bend * np.sin(2.0 * np.pi * 0.4 * t + phase)


def make_problem(skeleton: Skeleton, positions: Array, rate: float = 60.0) -> TrackingProblem:
    """The problem of following the skeleton's own markers, (T, M, 3)."""
    return make_tracking_problem(skeleton, Markers(positions, tuple(skeleton.markers), rate))
