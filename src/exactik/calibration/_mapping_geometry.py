"""On which bone an unknown marker is: the one on which it stays most nearly at rest.

The figure is fitted to the markers that are known. An unknown one is then seen from every bone; the
bone on which it spreads least must beat all others that move against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.calibration._attach import to_bone_frame
from exactik.calibration.fitting import Prior, fit_skeleton
from exactik.model import Skeleton
from exactik.motion import Markers
from exactik.typing import Array, IntArray

__all__ = ["BoneGuess", "guess_bones"]


FIT_FRAMES = 60  # to fit and to look at: enough for every joint to have moved
MAX_SPREAD = 0.03  # [m] on its bone, above which a marker is on none; skin moves by less
MIN_SPREAD_RATIO = 1.4  # of the next bone to the best, below which the bone is not clear
MAX_MARKER_DISTANCE = 0.08  # [m] from a marker of the skeleton, to be it
SCALE_SD, OFFSET_SD = 0.1, 0.03  # of the prior, as `calibrate` has them [log scale, m]


class BoneGuess(NamedTuple):
    """The bone on which an unknown marker rests.

    Attributes:
        name: of the marker in the recording.
        bone: on which it spreads least.
        marker: of the skeleton that is there, if only one is and no other unknown is nearer.
        point: its place in the bone's frame [m], at the size that the skeleton has.
        reason: in words.
        confidence: 0 where another bone is as good, else up to 1.
    """

    name: str
    bone: str
    marker: str | None
    point: tuple[float, float, float]
    reason: str
    confidence: float


def guess_bones(
    known_skeleton: Skeleton,
    markers: Markers,
    known: Sequence[str],
    unknown: Sequence[str],
    skeleton: Skeleton,
    free: Sequence[str],
) -> list[BoneGuess]:
    """Return where unknown markers rest.

    Args:
        known_skeleton: with the markers that are known, called as in the recording.
        markers: the recording.
        known: recorded names that are known.
        unknown: recorded names that are not.
        skeleton: as it was given.
        free: its markers that no recorded one has been found for.
    """
    fit = fit_skeleton(
        known_skeleton,
        (markers.chosen(known),),
        Prior(scale_sd=SCALE_SD, offset_sd=np.full(len(known), OFFSET_SD), sigma=None),
        kind="symmetric",
        fixed=(),
        frames=FIT_FRAMES,
    )
    solution = fit.solution
    pose = solution.problem.skeleton.forward(solution.solutions.q)
    scale = solution.scaled.bone_scales(solution.theta)
    bodies = _rigid_bodies(skeleton)
    guesses = []
    for name in unknown:
        positions = markers.marker(name)[fit.frames]
        seen = ~np.isnan(positions).any(axis=1)
        if seen.sum() < 2:
            continue
        local = np.stack([to_bone_frame(pose, k, positions) for k in range(len(bodies))])[:, seen]
        guesses.append(_guess_bone(skeleton, name, local, scale, bodies))
    return _match_free_markers(skeleton, free, guesses)


def _guess_bone(
    skeleton: Skeleton, name: str, local: Array, scale: Array, bodies: IntArray
) -> BoneGuess:
    """Return the bone of a marker, by its points on all bones [m], (n_bones, F, 3)."""
    spread = np.sqrt(local.var(axis=1).sum(axis=1))
    mean_point = local.mean(axis=1) / scale[:, None]
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
    elif next_best < MIN_SPREAD_RATIO * best:
        reason, confidence = f"not clear: {compared}", 0.0
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
