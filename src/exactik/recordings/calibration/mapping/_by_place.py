"""What places tell: names that cannot be true or are not clear, markers without a known name.

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

from exactik.anatomy.marker_sets import Landmark, is_side_open, is_unnamed, list_landmarks
from exactik.model import Skeleton
from exactik.model.motion import Markers, choose_even_frames
from exactik.recordings.calibration.mapping._geometry import (
    MIN_MARKERS_TO_FIT,
    choose_by_place,
    guess_bones,
)
from exactik.recordings.calibration.mapping._mapping import (
    MarkerMapping,
    Match,
    Proposal,
    find_landmark_point,
    has_landmarks,
    place_on_landmark,
)
from exactik.typing import Array

PLACE_CONFIDENCE = 0.6  # of a name that may mean several landmarks, settled by where the marker is
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
_BonePath = dict[str, tuple[tuple[float, ...], float]]


def leave_out_implausible(proposal: Proposal) -> None:
    """Leave out markers whose names cannot be true, as they are too far from the others."""
    matches = proposal.matches
    for name, beyond in _find_implausible_names(proposal.known_mapping(), proposal.markers).items():
        match = matches[name]
        what = list_landmarks()[match.landmark].text if match.landmark != "" else match.bone
        reason = f"called as the {what}, but {1e3 * beyond:.0f} mm too far from other markers"
        matches[name] = Match(name, reason=reason, code="misnamed", landmark=match.landmark)


def settle_sides(proposal: Proposal) -> None:
    """Add markers whose names do not tell the side, by the side that they are nearer to."""
    unclear = proposal.reading.unclear
    names = [
        name
        for name, candidates in unclear.items()
        if name not in proposal.matches and is_side_open(candidates)
    ]
    if len(names) == 0 or not has_landmarks(proposal.skeleton):
        return
    mapping = proposal.known_mapping()
    sides = {m.recorded: list_landmarks()[m.landmark].side for m in mapping.used if m.landmark}
    side = _find_open_side(mapping, proposal.markers, names, sides)
    taken = {match.landmark for match in mapping.used}
    for name in names if side is not None else ():
        landmark = next(c for c in unclear[name] if c.side == side)
        if landmark.id in taken and not landmark.is_cluster:
            continue
        taken.add(landmark.id)
        proposal.matches[name] = _match_by_place(proposal, name, landmark)


def settle_unclear_names(proposal: Proposal) -> None:
    """Decide by place between the landmarks that a name may mean."""
    skeleton, unclear, matches = proposal.skeleton, proposal.reading.unclear, proposal.matches
    if not has_landmarks(skeleton):
        return
    taken = {match.landmark for name, match in matches.items() if name not in unclear}
    choices = {
        name: [c for c in unclear[name] if c.is_cluster or c.id not in taken]
        for name in proposal.markers.names
        if name in unclear
        and (name not in matches or matches[name].code in ("landmark", "unclear", "misnamed"))
    }
    choices = {name: candidates for name, candidates in choices.items() if len(candidates) > 0}
    mapping = proposal.known_mapping(without=frozenset(choices))
    if len(choices) == 0 or len(mapping.used) < MIN_MARKERS_TO_FIT:
        return
    places = {
        name: [(c.bone, find_landmark_point(skeleton, c)) for c in candidates]
        for name, candidates in choices.items()
    }
    for name, choice in choose_by_place(mapping, proposal.markers, places).items():
        if choice is None:
            texts = " or ".join(dict.fromkeys(c.text for c in choices[name]))
            matches[name] = Match(name, reason=f"may be the {texts}", code="unclear")
        else:
            matches[name] = _match_by_place(proposal, name, choices[name][choice])


def match_by_geometry(proposal: Proposal) -> None:
    """Add markers that rest on a bone, whatever they are called."""
    markers, mapping = proposal.markers, proposal.known_mapping()
    unknown = [
        name
        for name in proposal.list_undecided()
        if (~np.isnan(markers.marker(name)).any(axis=1)).sum() > 1
    ]
    free = proposal.list_free_markers()
    if len(free) == 0:  # a marker without a name is used only as one that the skeleton has
        unknown = [name for name in unknown if not is_unnamed(name)]
    if len(mapping.used) < MIN_MARKERS_TO_FIT or len(unknown) == 0:
        return
    for guess in guess_bones(mapping, markers, unknown, free):
        match = Match(guess.name, reason=guess.reason, confidence=0.0, code="unclear")
        if guess.confidence > 0.0 and not (is_unnamed(guess.name) and guess.marker is None):
            match = match._replace(
                marker=guess.marker,
                bone=guess.bone,
                point=guess.point if guess.marker is None else None,
                confidence=guess.confidence,
                code="geometry",
            )
        proposal.matches[guess.name] = match


def _match_by_place(proposal: Proposal, name: str, landmark: Landmark) -> Match:
    """Return the match of a marker whose name may mean several landmarks, of which this is one."""
    reason = f"the name and its place mean the {landmark.text}"
    match = Match(name, reason=reason, confidence=PLACE_CONFIDENCE, code="landmark")
    return place_on_landmark(proposal.skeleton, match, landmark)


class _Reach(NamedTuple):
    """What is known of each pair of markers."""

    # Recorded, the median over frames, relative to the body's size [m], (M, M); NaN where two are
    # never seen together
    distance: Array
    greatest: Array  # that bones allow [m], (M, M)


def _find_implausible_names(mapping: MarkerMapping, markers: Markers) -> dict[str, float]:
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


def _find_open_side(
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


def _reach_of(a: _BonePath, b: _BonePath) -> float:
    """Return the greatest distance of two points [m]; infinite on two trees."""
    common = next((bone for bone in a if bone in b), None)
    if common is None:
        return math.inf
    (end_a, length_a), (end_b, length_b) = a[common], b[common]
    return length_a + length_b + math.dist(end_a, end_b)


def _path_to_root(skeleton: Skeleton, bone: str, point: ArrayLike) -> _BonePath:
    """Return the path of a point."""
    path: _BonePath = {}
    name: str | None = bone
    step, length = np.asarray(point, dtype=float), 0.0
    while name is not None:
        path[name] = (tuple(step.tolist()), length)
        length += float(np.linalg.norm(step))
        k = skeleton.bone_index(name)
        step, name = skeleton.rest_offsets[k], skeleton.bones[k].parent
    return path
