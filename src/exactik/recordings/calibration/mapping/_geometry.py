"""On which bone an unknown marker is: the one on which it stays most nearly at rest.

The figure is fitted to the markers that are known. An unknown one is then seen from every bone; the
bone on which it spreads least must beat all others that move against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from exactik.model import Pose, Skeleton
from exactik.model.motion import Markers
from exactik.recordings.calibration._attach import distance_from_bone, to_bone_frame
from exactik.recordings.calibration.fitting import Prior, fit_skeleton
from exactik.recordings.calibration.mapping._mapping import MarkerMapping, Point
from exactik.recordings.tracking import match_markers
from exactik.typing import Array, IntArray

MIN_MARKERS_TO_FIT = 3  # known, for a figure to be fitted to them: fewer leave it free to turn
FIT_FRAMES = 60  # to fit and to look at: enough for every joint to have moved
MAX_SPREAD = 0.03  # [m] on its bone, above which a marker is on none; skin moves by less
# [m] that the next bone's spread is above the best's, and times it: where joints have not moved,
# all bones are alike, and a ratio of small numbers says nothing. With twice, 4 % of the markers
# come to a wrong bone, most to its neighbour; with 8 mm and no ratio 9 %.
MIN_SPREAD_GAP, MIN_SPREAD_RATIO = 0.005, 2.0
# [m] from the line of a bone that skin, clothes and wands may be; beyond it a marker is on
# something that the subject holds or sits on. The trunk's skin is up to 0.15 m from the spine.
MAX_BONE_DISTANCE = 0.22
MAX_PLACE_DISTANCE = 0.12  # [m] from a landmark that a name may mean, for it to be meant
MIN_PLACE_RATIO = 1.5  # of the distance from the next such landmark, below which it is not clear
MAX_MARKER_DISTANCE = 0.08  # [m] from a marker of the skeleton, to be it
SCALE_SD, OFFSET_SD = 0.1, 0.03  # of the prior, as `calibrate` has them [log scale, m]


class BoneGuess(NamedTuple):
    """The bone on which an unknown marker rests."""

    name: str  # of the marker in the recording
    bone: str  # on which it spreads least
    # Of the skeleton that is there, if only one is and no other unknown is nearer
    marker: str | None
    # Its place in the bone's frame [m], at the size that the skeleton has
    point: tuple[float, float, float]
    reason: str  # in words
    confidence: float  # 0 where another bone is as good, else up to 1


class _FittedFigure(NamedTuple):
    """The figure at the size and in the poses of the markers that are known."""

    skeleton: Skeleton  # as it was given
    pose: Pose  # of the fitted skeleton in the frames
    scale: Array  # of each bone, fitted against given, (n_bones,)
    frames: IntArray  # of the recording that were used, (F,)

    def locate(self, positions: Array) -> Array:
        """Return a marker's path [m], (T, 3), as seen from every bone, (n_bones, F, 3).

        At the size that the skeleton had; frames without the marker are left out.
        """
        seen = positions[self.frames]
        rows = ~np.isnan(seen).any(axis=1)
        bones = range(len(self.skeleton.bones))
        local = np.stack([to_bone_frame(self.pose, k, seen) for k in bones])[:, rows]
        return local / self.scale[:, None, None]


def _fit_figure(mapping: MarkerMapping, markers: Markers) -> _FittedFigure:
    """Return the figure fitted to the markers of a mapping."""
    recorded = mapping.names
    used = markers.chosen(tuple(recorded)).renamed(recorded)
    skeleton = mapping.applied()
    order = tuple(match_markers(skeleton, used).values())
    sds = {mapping.name_of(m): m.offset_sd or OFFSET_SD for m in mapping.used}
    fit = fit_skeleton(
        skeleton,
        (used,),
        Prior(scale_sd=SCALE_SD, offset_sd=np.array([sds[name] for name in order]), sigma=None),
        kind="symmetric",
        fixed=(),
        frames=FIT_FRAMES,
        robust=True,
    )
    solution = fit.solution
    return _FittedFigure(
        skeleton=mapping.skeleton,
        pose=solution.problem.skeleton.forward(solution.solutions.q),
        scale=solution.scaled.bone_scales(solution.theta),
        frames=fit.frames,
    )


def guess_bones(
    mapping: MarkerMapping, markers: Markers, unknown: Sequence[str], free: Sequence[str]
) -> list[BoneGuess]:
    """Return where unknown markers rest.

    Args:
        mapping: of the markers that are known.
        unknown: recorded names that are not known.
        free: the skeleton's markers that no recorded one has been found for.
    """
    figure = _fit_figure(mapping, markers)
    bodies = _rigid_bodies(figure.skeleton)
    guesses = []
    for name in unknown:
        local = figure.locate(markers.marker(name))
        if local.shape[1] >= 2:
            guesses.append(_guess_bone(figure.skeleton, name, local, bodies))
    return _match_free_markers(figure.skeleton, free, guesses)


def choose_by_place(
    mapping: MarkerMapping, markers: Markers, places: Mapping[str, Sequence[tuple[str, Point]]]
) -> dict[str, int | None]:
    """Return which of several places each marker is at, by number; None if that is not clear.

    Args:
        mapping: of the markers that are known.
        places: recorded name → bones and points in their frames [m] at which it may be.
    """
    figure = _fit_figure(mapping, markers)
    chosen: dict[str, int | None] = {}
    for name, candidates in places.items():
        local = figure.locate(markers.marker(name))
        distances = [
            float(np.median(np.linalg.norm(local[k] - np.array(point), axis=1)))
            for k, point in ((figure.skeleton.bone_index(b), p) for b, p in candidates)
            if local.shape[1] > 0
        ]
        order = np.argsort(distances)
        chosen[name] = None
        if len(distances) > 0 and distances[order[0]] < MAX_PLACE_DISTANCE:
            clear = len(order) == 1 or (distances[order[1]] > MIN_PLACE_RATIO * distances[order[0]])
            chosen[name] = int(order[0]) if clear else None
    return chosen


def measure_distances(mapping: MarkerMapping, markers: Markers) -> dict[str, float]:
    """Return how far recorded markers are from where they should be [m], by name.

    With the figure fitted to the markers in use: from the place at which the skeleton has what the
    marker is taken for, at the subject's size; of a marker that is not used, from the line of the
    nearest bone. The median over frames; empty if fewer than three markers are in use.

    Args:
        mapping: what each marker is.
        markers: the recording, in the world of the skeleton.
    """
    if len(mapping.used) < MIN_MARKERS_TO_FIT:
        return {}
    figure = _fit_figure(mapping, markers)
    placed, names = mapping.applied(), [bone.name for bone in mapping.skeleton.bones]
    distances = {}
    for match in mapping.matches:
        local = figure.locate(markers.marker(match.recorded))
        if local.shape[1] == 0:
            continue
        middle = np.median(local, axis=1)
        if match.bone is not None:
            point = placed.marker(mapping.name_of(match))[1]
            away = np.linalg.norm(middle[names.index(match.bone)] - np.array(point))
        else:
            away = min(
                distance_from_bone(figure.skeleton, b, middle[k]) for k, b in enumerate(names)
            )
        distances[match.recorded] = float(away)
    return distances


def _guess_bone(skeleton: Skeleton, name: str, local: Array, bodies: IntArray) -> BoneGuess:
    """Return the bone of a marker, by its points on all bones [m], (n_bones, F, 3)."""
    spread = np.sqrt(local.var(axis=1).sum(axis=1))
    mean_point = local.mean(axis=1)
    distance = np.linalg.norm(mean_point, axis=1)
    # Bones of one rigid body have the same spread: of these the nearest.
    k = min(np.flatnonzero(spread < spread.min() + 1e-6), key=lambda b: float(distance[b]))
    other_bones = np.flatnonzero(bodies != bodies[k])
    rival_bone = int(other_bones[np.argmin(spread[other_bones])]) if len(other_bones) > 0 else -1
    best, next_best = float(spread[k]), float(spread[rival_bone]) if rival_bone >= 0 else np.inf
    bone, mm = skeleton.bones[k].name, f"{1e3 * best:.1f} mm"
    x, y, z = mean_point[k].tolist()
    rival = "" if rival_bone < 0 else skeleton.bones[rival_bone].name
    compared = f"spreads {mm} on {bone}, {1e3 * next_best:.1f} mm on {rival}"
    if best > MAX_SPREAD:
        reason = f"on no bone at rest: spreads {mm} on {bone}, where it does least"
        confidence = 0.0
    elif next_best < max(best + MIN_SPREAD_GAP, MIN_SPREAD_RATIO * best):
        reason, confidence = f"not clear: {compared}", 0.0
    elif (away := distance_from_bone(skeleton, bone, mean_point[k])) > MAX_BONE_DISTANCE:
        reason = f"moves as {bone} does, but {1e3 * away:.0f} mm from it"
        confidence = 0.0
    else:
        reason, confidence = compared, 0.9 * (1.0 - best / next_best)
    return BoneGuess(
        name=name, bone=bone, marker=None, point=(x, y, z), reason=reason, confidence=confidence
    )


def _match_free_markers(
    skeleton: Skeleton, free: Sequence[str], guesses: list[BoneGuess]
) -> list[BoneGuess]:
    """Return the guesses with the skeleton's free markers that are where the unknown ones rest."""
    pairs = []
    for k, guess in enumerate(guesses):
        for marker in free:
            bone, point = skeleton.marker(marker)
            distance = float(np.linalg.norm(np.subtract(point, guess.point)))
            is_near = bone == guess.bone and distance < MAX_MARKER_DISTANCE
            if guess.confidence > 0.0 and is_near:
                pairs.append((distance, k, marker))
    nearest: dict[int, tuple[str, float]] = {}
    for distance, k, marker in sorted(pairs):
        if k not in nearest and marker not in {other for other, _ in nearest.values()}:
            nearest[k] = (marker, distance)
    for k, (marker, distance) in nearest.items():
        reason = f"{guesses[k].reason}; {1e3 * distance:.0f} mm from where {marker} should be"
        guesses[k] = guesses[k]._replace(marker=marker, reason=reason)
    return guesses


def _rigid_bodies(skeleton: Skeleton) -> IntArray:
    """Return a number for each bone, the same for bones that cannot move against each other."""
    body = np.arange(len(skeleton.bones))
    for k, bone in enumerate(skeleton.bones):
        if skeleton.parents[k] >= 0 and bone.joint.nv == 0:
            body[k] = body[skeleton.parents[k]]
    return body
