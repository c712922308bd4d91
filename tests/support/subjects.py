"""People of other sizes than the built-in one, and how they move, for the tests of calibration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import exactik as ik
from exactik.recordings.calibration.fitting import ScaledSkeleton, make_scaled_skeleton
from exactik.typing import Array

__all__ = [
    "Subject",
    "joint_errors",
    "make_densely_marked_human",
    "make_smooth_motion",
    "make_subject",
]

RATE = 120.0


class Subject(NamedTuple):
    """A figure that is known, what it does, and the markers that show it."""

    figure: ScaledSkeleton
    theta: Array
    skeleton: ik.Skeleton
    q: Array
    markers: ik.Markers


def make_smooth_motion(
    skeleton: ik.Skeleton, frames: int, rng: np.random.Generator, share: float = 0.8
) -> Array:
    """Return a motion, (frames, nq), in which every dof wanders over a share of its range."""
    t = np.arange(frames)[:, None] / RATE
    low = np.where(np.isfinite(skeleton.lower), skeleton.lower, -0.3)
    high = np.where(np.isfinite(skeleton.upper), skeleton.upper, 0.3)
    pace = rng.uniform(0.15, 0.9, (3, skeleton.nv)) * max(1.0, 1200 / frames)
    phase = rng.uniform(0.0, 2.0 * np.pi, (3, skeleton.nv))
    waves = sum(np.sin(2.0 * np.pi * pace[k] * t + phase[k]) for k in range(3))
    waves = np.asarray(waves) / np.abs(waves).max(axis=0)
    return skeleton.clip(0.5 * (low + high) + 0.5 * share * (high - low) * waves)


def make_subject(
    skeleton: ik.Skeleton,
    seed: int,
    *,
    frames: int = 1200,
    fixed: tuple[str, ...] = (),
    scale: float = 0.08,
    away: float = 0.03,
    noise: float = 1e-3,
    kind: str = "symmetric",
) -> Subject:
    """Return somebody with scales up to ± `scale` and all markers but `fixed` off by `away`."""
    rng = np.random.default_rng(seed)
    figure = make_scaled_skeleton(skeleton, tuple(skeleton.markers), kind)
    groups = len(figure.scale_groups)
    off = rng.normal(size=(len(figure.marker_names), 3))
    off *= away / np.linalg.norm(off, axis=1, keepdims=True)
    off[[name in fixed for name in figure.marker_names]] = 0.0
    theta = np.concatenate([np.log1p(rng.uniform(-scale, scale, groups)), off.ravel()])
    own = figure.build(theta)
    q = make_smooth_motion(skeleton, frames, rng)
    places = own.forward(q).markers
    places = places + rng.normal(0.0, noise, places.shape)
    return Subject(figure, theta, own, q, ik.Markers(places, tuple(own.markers), RATE))


def make_densely_marked_human() -> tuple[ik.Skeleton, tuple[str, ...]]:
    """Return the built-in human with four markers a bone, and those to be held.

    A bone at the end of a limb, or between two ball joints in line, can turn on itself unseen if
    all of its markers may move, and its size shows in nothing else: some of them must be held.
    """
    figure, rng = ik.human(), np.random.default_rng(5)
    markers = dict(figure.markers)
    for bone in figure.bones:
        own = [point for on, point in figure.markers.values() if on == bone.name]
        ends = [np.asarray(b.offset) for b in figure.bones if b.parent == bone.name]
        middle = 0.5 * np.mean(ends, axis=0) if len(ends) > 0 else np.mean(own, axis=0)
        for k in range(max(0, 4 - len(own))):
            out = rng.normal(size=3)
            x, y, z = (middle + 0.05 * out / np.linalg.norm(out)).tolist()
            markers[f"{bone.name}_{k}"] = (bone.name, (x, y, z))
    held = "T10 STRN RBAC C7 lower_neck_0 upper_neck_0 upper_neck_1 LFHD RFHD LBHD".split()
    for side in "lr":
        held += [f"{side.upper()}{name}" for name in ("WRA", "WRB", "FIN", "TOE", "MT5")]
        held += [f"{side}_fingers_0", f"{side}_toes_0"]
    return figure.with_markers(markers), tuple(held)


def joint_errors(one: ik.Skeleton, q: Array, two: ik.Skeleton, true: Array) -> Array:
    """Return by how much joints turn otherwise [rad], as vectors, (F, n_bones, 3)."""
    parents = np.maximum(one.parents, 0)
    turns = []
    for skeleton, pose in ((one, q), (two, true)):
        R = skeleton.forward(pose).rotations
        relative = np.swapaxes(R[:, parents], -1, -2) @ R
        turns.append(np.where((one.parents >= 0)[:, None, None], relative, R))
    apart = np.swapaxes(turns[0], -1, -2) @ turns[1]
    # Small turns: the skew part is the sine of the angle about its axis.
    skew = 0.5 * (apart - np.swapaxes(apart, -1, -2))
    return np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)
