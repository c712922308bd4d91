"""Takes of HDM05, with faults added that are known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import exactik as ik
from benchmarks.support.hdm05 import LOCK, TAKES, Take, load_take
from exactik.typing import Array

__all__ = [
    "LOCK",
    "TAKES",
    "Take",
    "compute_marker_positions",
    "find_samples_with_neighbours",
    "get_take",
    "make_gap_bursts",
    "with_positions",
]

Mask = NDArray[np.bool_]


@cache
def get_take(shared: Path, name: str) -> Take:
    """A take, read once; `shared` is the folder of the fixture `shared_data`."""
    return load_take(shared / "data" / "asf_amc" / "hdm05_dg", name)


def with_positions(markers: ik.Markers, positions: Array) -> ik.Markers:
    """The same recording with the markers elsewhere, (T, M, 3)."""
    return replace(markers, positions=positions)


def compute_marker_positions(skeleton: ik.Skeleton, q: Array, names: tuple[str, ...]) -> Array:
    """Where the figure's markers are [m], (T, M, 3), by forward kinematics alone."""
    pose = skeleton.forward(np.array(q))
    index = [skeleton.bone_index(skeleton.marker(name)[0]) for name in names]
    points = np.array([skeleton.marker(name)[1] for name in names])
    turned = np.einsum("tmij,mj->tmi", pose.rotations[:, index], points)
    return pose.positions[:, index] + turned


def make_gap_bursts(shape: tuple[int, int], share: float, rate: float, seed: int) -> Mask:
    """Gaps of 0.1 to 1 s, (T, M), that cover a share of all samples."""
    rng, hidden = np.random.default_rng(seed), np.zeros(shape, dtype=bool)
    while hidden.mean() < share:
        length = int(rng.uniform(0.1, 1.0) * rate)
        start = int(rng.integers(shape[0] - length))
        hidden[start : start + length, rng.integers(shape[1])] = True
    return hidden


def find_samples_with_neighbours(
    skeleton: ik.Skeleton, names: tuple[str, ...], hidden: Mask, least: int
) -> Mask:
    """Where a marker's bone with its parent and children keeps so many markers, (T, M)."""
    bones = [skeleton.bone_index(skeleton.marker(name)[0]) for name in names]
    parent = skeleton.parents
    keeps = np.zeros_like(hidden)
    for m, bone in enumerate(bones):
        near = [
            k
            for k, other in enumerate(bones)
            if other == bone or other == parent[bone] or parent[other] == bone
        ]
        keeps[:, m] = (~hidden[:, near]).sum(axis=1) >= least
    return keeps
