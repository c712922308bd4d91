"""On which bone an unknown marker is: the one on which it keeps most nearly at rest.

The figure is fitted to the markers that are known. An unknown one is then seen from every bone; the
bone on which it spreads least must beat all others that move against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.calibration._attach import to_bone_frame
from exactik.calibration._fit import Prior, fit_skeleton
from exactik.model import Skeleton
from exactik.motion import Markers
from exactik.typing import Array, IntArray

__all__ = ["BoneGuess", "guess_bones"]


FRAMES = 60  # to look at
FARTHEST = 0.03  # [m] spread on its bone above which a marker is on none
CLEARLY = 1.4  # times the spread on the best bone that all others must have
NEAR = 0.08  # [m] from a marker of the skeleton, to be it


class BoneGuess(NamedTuple):
    """Where an unknown marker rests.

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
    beliefs = Prior(0.1, np.full(len(known), 0.03), None)
    fit = fit_skeleton(
        *(known_skeleton, markers.chosen(known), beliefs),
        **{"kind": "symmetric", "fixed": (), "frames": FRAMES},
    )
    fitted = fit.solution
    pose = fitted.recording.skeleton.forward(fitted.path.q)
    scale = fitted.scaled.bone_scales(fitted.theta)
    bodies = _rigid_bodies(skeleton)
    found = []
    for name in unknown:
        places = markers.marker(name)[fit.frames]
        there = ~np.isnan(places).any(axis=1)
        if there.sum() < 2:
            continue
        local = np.stack([to_bone_frame(pose, k, places) for k in range(len(bodies))])[:, there]
        found.append(_guess_bone(skeleton, name, local, scale, bodies))
    return _match_free_markers(skeleton, free, found)


def _guess_bone(
    skeleton: Skeleton, name: str, local: Array, scale: Array, bodies: IntArray
) -> BoneGuess:
    """Return the verdict on a marker from its places on all bones [m], (n_bones, F, 3)."""
    spread = np.sqrt(local.var(axis=1).sum(axis=1))
    middle = local.mean(axis=1) / scale[:, None]
    away = np.linalg.norm(middle, axis=1)
    # Of bones that are one body the nearest; of no effect on the spread.
    k = min(np.flatnonzero(spread < spread.min() + 1e-6), key=lambda b: float(away[b]))
    others = np.flatnonzero(bodies != bodies[k])
    second = int(others[np.argmin(spread[others])]) if len(others) > 0 else -1
    best, next_best = float(spread[k]), float(spread[second]) if second >= 0 else np.inf
    bone, mm = skeleton.bones[k].name, f"{1e3 * best:.1f} mm"
    x, y, z = middle[k].tolist()
    if best > FARTHEST:
        reason = f"on no bone at rest: spreads {mm} on {bone}, where it does least"
        return BoneGuess(name, bone, None, (x, y, z), reason, 0.0)
    rival = "" if second < 0 else skeleton.bones[second].name
    compared = f"spreads {mm} on {bone}, {1e3 * next_best:.1f} mm on {rival}"
    if next_best < CLEARLY * best:
        return BoneGuess(name, bone, None, (x, y, z), f"not clear: {compared}", 0.0)
    return BoneGuess(name, bone, None, (x, y, z), compared, 0.9 * (1.0 - best / next_best))


def _match_free_markers(
    skeleton: Skeleton, free: Sequence[str], found: list[BoneGuess]
) -> list[BoneGuess]:
    """Return the same, with the skeleton's free markers that are where the unknown ones rest."""
    pairs = []
    for k, rest in enumerate(found):
        for mine in free:
            bone, point = skeleton.marker(mine)
            apart = float(np.linalg.norm(np.subtract(point, rest.point)))
            if rest.confidence > 0.0 and bone == rest.bone and apart < NEAR:
                pairs.append((apart, k, mine))
    named: dict[int, tuple[str, float]] = {}
    for apart, k, mine in sorted(pairs):
        if k not in named and mine not in {other for other, _ in named.values()}:
            named[k] = (mine, apart)
    return [
        rest._replace(
            marker=named[k][0],
            reason=f"{rest.reason}; {1e3 * named[k][1]:.0f} mm from where {named[k][0]} should be",
        )
        if k in named
        else rest
        for k, rest in enumerate(found)
    ]


def _rigid_bodies(skeleton: Skeleton) -> IntArray:
    """Return a number for each bone, the same for bones that cannot move against each other."""
    body = np.arange(len(skeleton.bones))
    for k, bone in enumerate(skeleton.bones):
        if skeleton.parents[k] >= 0 and bone.joint.nv == 0:
            body[k] = body[skeleton.parents[k]]
    return body
