"""Where a missing marker should be, as its neighbours on the body tell.

In a gap of marker m take the markers on the same bone and the bones next to it that are there. From
the last frame before the gap that shows them and m, they are moved rigidly onto where they are now
(Kabsch), and m with them; the same from the first frame after the gap. Both are right at their end
of the gap and are blended in between.
"""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np

from exactik.spatial import fit_rigid_transforms
from exactik.tracking._recording import TrackingProblem
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["fill_gaps", "find_neighbours"]


MISS = 0.002  # [m] noise of the markers that are seen, at which a filled-in one counts half
ENOUGH = 5  # neighbours to look for; three must be there
FAR, WIDE = 2, 3  # bones away, beyond which a marker is no neighbour; in gaps that are brief
BRIEF = 1.0  # [s]
OUT_OF_REACH = 10**6  # bones
CLOSE = 0.03  # [m] distance up to which all neighbours count the same; further ones count less
FLAT = 1e-4  # [m²] spread about their line below which neighbours do not tell a rotation


def fill_gaps(recording: TrackingProblem, sigma: float) -> TrackingProblem:
    """Return the recording with missing markers filled in where neighbours tell, at less weight.

    Less the better the figure fits what is seen, by `sigma` [m]: then it knows better itself.
    """
    seen = recording.seen
    if seen.all():
        return recording
    place, hops = recording.targets.position.copy(), _hops(recording)
    for m, family in enumerate(find_neighbours(recording)):
        wide = np.flatnonzero(hops[m] <= WIDE)
        pieces = _pieces(seen, m, wide)
        for frames in pieces:
            brief = len(frames) <= BRIEF * recording.rate
            for own in (family, wide) if brief else (family,):
                there = own[seen[frames[0], own]]
                if _fill(recording.targets.position, seen, m, there, frames, place):
                    break
        for one, two in pairwise(pieces):
            if two[0] == one[-1] + 1 and np.isfinite(place[[one[-1], two[0]], m]).all():
                _join(place[:, m], one, two)
    trust = np.where(seen, 1.0, 1.0 / (1.0 + (MISS / sigma) ** 4))
    return recording.with_targets(position=place, confidence=trust)


def find_neighbours(recording: TrackingProblem) -> list[IntArray]:
    """Return the markers nearest to each along the bones: `ENOUGH`, and all as near as the last.

    None is further than `FAR` bones.
    """
    hops = _hops(recording)
    nearest = np.sort(hops, axis=1)[:, min(ENOUGH, len(hops)) - 1]
    return [
        np.flatnonzero(row <= min(max(1, n), FAR)) for row, n in zip(hops, nearest, strict=True)
    ]


def _hops(recording: TrackingProblem) -> IntArray:
    """Return how many bones lie between each two markers, (M, M); itself is out of reach."""
    skeleton, names = recording.skeleton, recording.names
    above: list[list[int]] = []
    for name in names:
        path = [skeleton.bone_index(skeleton.marker(name)[0])]
        while skeleton.parents[path[-1]] >= 0:
            path.append(int(skeleton.parents[path[-1]]))
        above.append(path)
    hops = np.full((len(names), len(names)), OUT_OF_REACH)
    for m, k in permutations(range(len(names)), 2):
        meeting = next((n for n, bone in enumerate(above[m]) if bone in above[k]), None)
        if meeting is not None:
            hops[m, k] = meeting + above[k].index(above[m][meeting])
    return hops


def _pieces(seen: BoolArray, m: int, family: IntArray) -> list[IntArray]:
    """Return the gaps of marker m, cut wherever one of its neighbours appears or goes."""
    gone = np.flatnonzero(~seen[:, m])
    if len(gone) == 0 or len(family) < 3:
        return []
    there = seen[gone][:, family]
    cuts = np.flatnonzero((np.diff(gone) > 1) | (there[1:] != there[:-1]).any(axis=1)) + 1
    return [gone[part] for part in np.split(np.arange(len(gone)), cuts)]


def _fill(
    place: Array, seen: BoolArray, m: int, family: IntArray, frames: IntArray, out: Array
) -> bool:
    """Write the place of marker m in a piece of a gap, if three neighbours tell; whether so."""
    if len(family) < 3:
        return False
    known = np.flatnonzero(seen[:, m] & seen[:, family].all(axis=1))
    at = int(np.searchsorted(known, frames[0]))
    guesses, distances = [], []
    for k in (at - 1, at):  # the last before, the first after
        if 0 <= k < len(known):
            guess = _moved_along(place, m, family, int(known[k]), frames)
            if guess is not None:
                guesses.append(guess)
                distances.append(np.abs(frames - known[k]).astype(float))
    if len(guesses) == 2:
        share = (distances[0] / (distances[0] + distances[1]))[:, None]
        out[frames, m] = (1.0 - share) * guesses[0] + share * guesses[1]
    elif len(guesses) == 1:
        out[frames, m] = guesses[0]
    return len(guesses) > 0


def _join(course: Array, one: IntArray, two: IntArray) -> None:
    """Close the step between two pieces of a gap, in which different neighbours told."""
    step = course[two[0]] - course[one[-1]]
    if len(one) > 1 and len(two) > 1:  # as it moves anyway
        moves = course[one[-1]] - course[one[-2]], course[two[1]] - course[two[0]]
        step = step - 0.5 * (moves[0] + moves[1])
    course[one] += 0.5 * step * ((np.arange(len(one)) + 1.0) / (len(one) + 1.0))[:, None]
    course[two] -= 0.5 * step * ((len(two) - np.arange(len(two))) / (len(two) + 1.0))[:, None]


def _moved_along(
    place: Array, m: int, family: IntArray, known: int, frames: IntArray
) -> Array | None:
    """Return marker m of frame `known` moved rigidly with its neighbours to others, (n, 3)."""
    old, new, own = place[known, family], place[frames][:, family], place[known, m]
    weight = 1.0 / (((old - own) ** 2).sum(axis=1) + CLOSE**2)
    before, weights = np.broadcast_to(old, new.shape), np.broadcast_to(weight, new.shape[:2])
    turn, middle, aim, spread = fit_rigid_transforms(before, new, weights)
    if float(np.median(spread[:, 1])) < FLAT:
        return None
    return aim + np.einsum("nij,nj->ni", turn, own - middle)
