"""Whether names can be true: no pose brings two points farther apart than bones reach.

The greatest distance of two points is that along the bones between them, all stretched out. Taken
relative to the size of the body, which is the median of recorded distances over those of the
neutral pose, it holds in any unit and needs no pose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik.model import Skeleton
from exactik.model.motion import Markers, choose_even_frames
from exactik.recordings.calibration.mapping._mapping import MarkerMapping
from exactik.typing import Array

# Of a recording, at which distances are measured. How many does not matter: their median is that of
# any few frames within the tolerance below.
CHECK_FRAMES = 20
# Of a greatest distance at the body's size: proportions differ by a tenth, and the body's size is
# itself known from distances in other poses than the neutral one.
REACH_TOLERANCE = 1.3
REACH_MARGIN_M = 0.1  # [m] beside it, for wide straps and bars: a wrong name is off by more
USUAL_SD = 0.03  # [m] of a marker whose match has none, as `calibrate` has it
REACH_SDS = 2.0  # standard deviations of the places of both points, beside it
# In use, below which their distances do not tell which one is wrong. Of fewer, wrong distances are
# the majority, and the median calls them right: nothing would be found either.
MIN_MARKERS = 4
# [m] at the figure's size: mean distance from the markers of one side less that from the other's.
MIN_SIDE_DIFFERENCE = 0.02


# Of each bone from a point's up to the root: where in its frame one comes from [m], and the way
# that lies behind [m].
BonePath = dict[str, tuple[tuple[float, ...], float]]


class _Reach(NamedTuple):
    """What is known of each pair of markers."""

    # Recorded, the median over frames, relative to the body's size [m], (M, M); NaN where two are
    # never seen together
    distance: Array
    greatest: Array  # that bones allow [m], (M, M)


def find_implausible_names(mapping: MarkerMapping, markers: Markers) -> dict[str, float]:
    """Return the markers in use that cannot be what they are taken for.

    While two are farther apart than bones reach, the one that is too far from most others goes.

    Args:
        mapping: what each marker is.
        markers: the recording, in any unit and axes.

    Returns:
        Recorded name → by how much it is too far from the farthest marker that stays [m], relative
        to the body's size.
    """
    names = [match.recorded for match in mapping.used]
    if len(names) < MIN_MARKERS:
        return {}
    reach = _measure_reach(mapping, markers, names)
    beyond = np.nan_to_num(reach.distance - reach.greatest, nan=-1.0)
    sure = np.array([match.confidence for match in mapping.used])
    by_hand = np.array([match.code == "by-hand" for match in mapping.used])
    stays = np.ones(len(names), dtype=bool)
    found: dict[str, float] = {}
    while True:
        faults = (beyond > 0.0) & stays[:, None] & stays[None, :]
        counts = np.where(by_hand, 0, faults.sum(axis=1))
        if counts.max(initial=0) == 0:
            return found
        # Of as many faults the name that is less sure, then the one that is farther off.
        k = int(np.lexsort((beyond.max(axis=1), -sure, counts))[-1])
        stays[k] = False
        found[names[k]] = float(beyond[k][faults[k]].max())


def find_open_side(
    mapping: MarkerMapping, markers: Markers, names: Sequence[str], sides: dict[str, str]
) -> str | None:
    """Return on which side markers are whose names do not tell: "l" or "r"; None if not clear.

    They are on one side of the body together, nearer to the markers of that side.

    Args:
        mapping: what the other markers are.
        names: recorded names that do not tell the side.
        sides: recorded name of a marker in use → "l" or "r".
    """
    left = [name for name, side in sides.items() if side == "l"]
    right = [name for name, side in sides.items() if side == "r"]
    if len(left) == 0 or len(right) == 0:
        return None
    everyone = [*left, *right, *names]
    distance = _median_distances(markers, everyone)
    rows = distance[len(left) + len(right) :]
    with np.errstate(invalid="ignore"):
        difference = rows[:, len(left) : len(left) + len(right)] - rows[:, : len(left)].mean(
            axis=1, keepdims=True
        )
    # Both sides are there with the same markers, so that means may be compared.
    mean = float(np.nanmean(difference)) if np.isfinite(difference).any() else 0.0
    limit = MIN_SIDE_DIFFERENCE * _body_size(mapping, markers)
    return None if abs(mean) < limit else ("l" if mean > 0.0 else "r")


def _measure_reach(mapping: MarkerMapping, markers: Markers, names: list[str]) -> _Reach:
    skeleton = mapping.applied()
    points = [skeleton.marker(mapping.name_of(match)) for match in mapping.used]
    sds = np.array([match.offset_sd or USUAL_SD for match in mapping.used])
    recorded = _median_distances(markers, names)
    size = _median_ratio(recorded, _neutral_distances(mapping))
    paths = [_path_to_root(skeleton, bone, point) for bone, point in points]
    greatest = np.zeros((len(names), len(names)))
    for i, j in combinations(range(len(names)), 2):
        greatest[i, j] = greatest[j, i] = _reach_of(paths[i], paths[j])
    margin = REACH_MARGIN_M + REACH_SDS * (sds[:, None] + sds[None, :])
    return _Reach(distance=recorded / size, greatest=REACH_TOLERANCE * greatest + margin)


def _body_size(mapping: MarkerMapping, markers: Markers) -> float:
    """Return how large the recorded body is against the figure: 1 for one of the same size."""
    names = [match.recorded for match in mapping.used]
    return _median_ratio(_median_distances(markers, names), _neutral_distances(mapping))


def _neutral_distances(mapping: MarkerMapping) -> Array:
    """Return the distance of each pair of markers in use in the neutral pose [m], (M, M)."""
    skeleton = mapping.applied()
    pose = skeleton.forward(skeleton.neutral())
    points = [skeleton.marker(mapping.name_of(match)) for match in mapping.used]
    places = np.array([pose.point(bone, point) for bone, point in points])
    return np.linalg.norm(places[:, None] - places[None, :], axis=2)


def _median_ratio(recorded: Array, neutral: Array) -> float:
    is_told = np.isfinite(recorded) & (neutral > 0.0)
    ratios = recorded[is_told] / neutral[is_told]
    return float(np.median(ratios)) if len(ratios) > 0 and np.median(ratios) > 0.0 else 1.0


def _median_distances(markers: Markers, names: Sequence[str]) -> Array:
    """Return the median distance of each pair of markers over some frames [m], (M, M)."""
    chosen = markers.chosen(tuple(names)).positions
    seen = np.asarray(np.isfinite(chosen).all(axis=2))
    frames = np.flatnonzero(seen.any(axis=1))
    picked = frames[choose_even_frames(len(frames), CHECK_FRAMES)]
    # Markers that are seen in none of these are looked at where they are.
    extra = [np.flatnonzero(seen[:, k])[:1] for k in np.flatnonzero(~seen[picked].any(axis=0))]
    points = chosen[np.concatenate([picked, *extra]).astype(int)]
    distance = np.linalg.norm(points[:, :, None] - points[:, None, :], axis=3)
    told = np.isfinite(distance).any(axis=0)
    distance[:, ~told] = np.inf
    median = np.nanmedian(distance, axis=0)
    return np.where(told, median, np.nan)


def _reach_of(a: BonePath, b: BonePath) -> float:
    """Return the greatest distance of two points [m]; infinite on two trees."""
    common = next((bone for bone in a if bone in b), None)
    if common is None:
        return math.inf
    (end_a, length_a), (end_b, length_b) = a[common], b[common]
    return length_a + length_b + math.dist(end_a, end_b)


def _path_to_root(skeleton: Skeleton, bone: str, point: ArrayLike) -> BonePath:
    """Return the path of a point."""
    path: BonePath = {}
    name: str | None = bone
    step, length = np.asarray(point, dtype=float), 0.0
    while name is not None:
        path[name] = (tuple(step.tolist()), length)
        length += float(np.linalg.norm(step))
        k = skeleton.bone_index(name)
        step, name = skeleton.rest_offsets[k], skeleton.bones[k].parent
    return path
