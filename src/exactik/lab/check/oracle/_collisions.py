"""Rows of collisions, by jets: the nearest points by all ways in which they can be ends or not."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

from exactik.goals import Collisions
from exactik.lab.check.oracle.jet import (
    Jet,
    concatenate,
    constant,
    dot,
    sqrt,
    stack,
    transform,
)
from exactik.lab.check.oracle.kinematics import JetFrame, place_point
from exactik.model.shapes import Capsule, Cuboid, HalfSpace
from exactik.typing import Array

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
        if isinstance(b, Cuboid):
            gap = _find_box_gap(first, b) - a.radius
        else:
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


def _find_box_gap(first: tuple[Jet, Jet], box: Cuboid) -> Jet:
    """Return the signed distance of a segment from a box of the world."""
    R, h = np.asarray(box.rotation, float), 0.5 * np.asarray(box.size, float)
    start, end = (transform(R.T, place - np.asarray(box.center)) for place in first)
    u = end - start
    best: Any = None
    for signs in product((-1, 0, 1), repeat=3):  # which faces it is nearest to: a corner, an edge
        active = [i for i in range(3) if signs[i] != 0]
        if len(active) == 0:
            continue
        gaps = stack([start[i] - float(signs[i] * h[i]) for i in active])
        along = stack([u[i] for i in active])
        square = dot(along, along)
        for s in (0.0, 1.0, None):
            if s is None and square.value == 0.0:
                continue
            place: Any = -dot(along, gaps) / square if s is None else s
            c = start + u * place
            outside = [abs(c.value[i]) >= h[i] and c.value[i] * signs[i] > 0.0 for i in active]
            beside = [abs(c.value[i]) <= h[i] for i in range(3) if i not in active]
            if not (_is_within(place) and all(outside) and all(beside)):
                continue
            arm = gaps + along * place
            if best is None or dot(arm, arm).value < best.value:
                best = dot(arm, arm)
    if best is not None and not _crosses(start.value, end.value, h):
        return sqrt(best)
    faces = [(i, sign) for i in range(3) for sign in (1.0, -1.0)]
    heights = [start[i] * sign - float(h[i]) for i, sign in faces]
    rises = [u[i] * sign for i, sign in faces]
    for s in (0.0, 1.0, *combinations(range(6), 2)):
        place = s
        if isinstance(s, tuple):
            rise = rises[s[0]] - rises[s[1]]
            if rise.value == 0.0:
                continue
            place = (heights[s[1]] - heights[s[0]]) / rise
        if _is_within(place):
            each = [height + rise * place for height, rise in zip(heights, rises, strict=True)]
            top = max(each, key=lambda height: float(height.value))
            if best is None or best.value >= 0.0 or top.value < best.value:
                best = top
    assert best is not None
    return best


def _crosses(start: Array, end: Array, half: Array) -> bool:
    """Whether any point of a segment is in a box."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.sort(np.array([-half - start, half - start]) / (end - start), axis=0)
    moving = end != start
    if (np.abs(start[~moving]) > half[~moving]).any():
        return False
    low = times[0, moving].max(initial=0.0)
    return bool(low <= times[1, moving].min(initial=1.0))
