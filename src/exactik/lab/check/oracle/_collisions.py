"""Rows of collisions, by jets: the nearest points by all ways in which they can be ends or not."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from exactik.goals import Collisions
from exactik.lab.check.oracle.jet import Jet, concatenate, constant, dot, sqrt, stack
from exactik.lab.check.oracle.kinematics import JetFrame, place_point
from exactik.model.shapes import Capsule, HalfSpace

ALMOST_PARALLEL = 1e-12


def compute_collision_rows(goal: Collisions, frames: dict[str, JetFrame]) -> Jet:
    """Return three rows for each term, in the order of the contacts."""
    n = next(iter(frames.values())).R_world_bone.n
    none, rows = constant(0.0, n), []
    for a, b in goal.contacts:
        first = _place_ends(a, frames, n)
        if isinstance(b, HalfSpace):
            normal = np.asarray(b.normal)
            count = 1 if np.array_equal(*a.ends) else 2
            for end in first[:count]:
                height = dot(end - np.asarray(b.through), constant(normal, n)) - a.radius
                rows.append(_make_row(goal.margin - height, goal.band, none) * normal)
            continue
        assert isinstance(b, Capsule)
        gap = _find_gap(first, _place_ends(b, frames, n)) - a.radius - b.radius
        rows.append(stack([-_make_row(goal.margin - gap, goal.band, none), none, none]))
    return concatenate(rows)


def _place_ends(shape: Capsule, frames: dict[str, JetFrame], n: int) -> tuple[Jet, Jet]:
    start, end = shape.ends
    if shape.bone is None:
        return constant(start, n), constant(end, n)
    return place_point(frames, shape.bone, start), place_point(frames, shape.bone, end)


def _find_gap(first: tuple[Jet, Jet], second: tuple[Jet, Jet]) -> Jet:
    """Return the distance of two segments."""
    u, v, w = first[1] - first[0], second[1] - second[0], second[0] - first[0]
    uu, vv, uv, uw, vw = dot(u, u), dot(v, v), dot(u, v), dot(u, w), dot(v, w)
    best: Jet | None = None
    for s, t in product((0.0, 1.0, None), repeat=2):
        if (s is None and uu.value == 0.0) or (t is None and vv.value == 0.0):
            continue
        here: Any = s
        there: Any = t
        if s is None and t is None:
            det = uu * vv - uv * uv
            if det.value <= ALMOST_PARALLEL * float(uu.value * vv.value):
                continue
            here, there = (uw * vv - uv * vw) / det, (uv * uw - uu * vw) / det
        elif s is None:
            here = (uw + uv * float(t or 0.0)) / uu
        elif t is None:
            there = (uv * s - vw) / vv
        if not (_is_within(here) and _is_within(there)):
            continue
        arm = w + v * there - u * here
        square = dot(arm, arm)
        if best is None or square.value < best.value:
            best = square
    assert best is not None
    return sqrt(best)


def _is_within(place: Any) -> bool:
    value = float(place.value if isinstance(place, Jet) else place)
    return 0.0 <= value <= 1.0


def _make_row(x: Jet, band: float, none: Jet) -> Jet:
    """Return the √(2φ) of a violation x, at least 0."""
    if x.value <= 0.0:
        return none
    if x.value < band:
        return sqrt(x * x * x / (3.0 * band))
    return sqrt(x * x - band * x + band * band / 3.0)
