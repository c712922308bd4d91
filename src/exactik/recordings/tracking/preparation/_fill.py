"""Gaps, filled in from neighbouring markers.

In a gap of marker m take the markers on the same bone and the bones next to it that are seen.
From the last frame before the gap that shows them and m, they are moved rigidly onto where they are
now (Kabsch), and m with them; the same from the first frame after the gap. Both are right at their
end of the gap and are blended in between.
"""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np

from exactik.recordings.tracking._options import DEFAULT_OPTIONS, TrackingOptions
from exactik.recordings.tracking._problem import TrackingProblem
from exactik.spatial import fit_rigid_transforms
from exactik.typing import Array, BoolArray, IntArray

HALF_TRUST_NOISE = 0.005
"""[m] noise of the markers that are seen, at which a filled-in marker counts half: a figure that
fits to a millimetre knows better than neighbours on skin (docs/maths.md §15). Of 2, 5, 10 and 20
mm, on 28 recordings with hidden markers, 5 mm left joints and markers nearest to the truth; with 2
mm a sparse set was worse off than without filling."""
NEIGHBOUR_MAX_BONES = 2
"""Bones between a marker and its neighbours at most: further ones do not move rigidly with it."""
BRIEF_GAP_MAX_BONES, BRIEF_GAP_SECONDS = 3, 1.0
"""Bones likewise, in gaps of up to so many seconds, in which more distant bones hardly move.
Without it markers hidden in 14 recordings were 3 % further off."""
NEIGHBOUR_SOFTENING = 0.03
"""[m] distance up to which neighbours count about the same; further ones count less, by 1/(d² +
softening²). By hand."""
MIN_NEIGHBOUR_SPREAD = 1e-4
"""[m²] singular value below which neighbours are too near a line to tell a rotation: 1 cm."""


def fill_gaps(
    problem: TrackingProblem,
    sigma: float,
    options: TrackingOptions = DEFAULT_OPTIONS,
) -> TrackingProblem:
    """Return the problem with missing markers filled in from their neighbours, at less weight.

    The smaller `sigma` [m], the less: a figure that fits closely predicts them better.
    """
    seen = problem.seen
    if seen.all():
        return problem
    recorded, bones = problem.targets.position, count_bones_between(problem)
    position = recorded.copy()
    for m, nearest in enumerate(find_neighbours(problem, options)):
        nearby = np.flatnonzero(bones[m] <= BRIEF_GAP_MAX_BONES)
        parts = cut_gaps(seen, m, nearby)
        for frames in parts:
            brief = len(frames) <= BRIEF_GAP_SECONDS * problem.rate
            for neighbours in (nearest, nearby) if brief else (nearest,):
                visible = neighbours[seen[frames[0], neighbours]]
                if _fill_part(recorded, seen, m, visible, frames, position):
                    break
        for part, next_part in pairwise(parts):
            if (
                next_part[0] == part[-1] + 1
                and np.isfinite(position[[part[-1], next_part[0]], m]).all()
            ):
                close_step(position[:, m], part, next_part)
    filled_confidence = 1.0 / (1.0 + (HALF_TRUST_NOISE / sigma) ** 4)
    confidence = np.where(seen, 1.0, filled_confidence)
    return problem.with_targets(position=position, confidence=confidence)


def find_neighbours(problem: TrackingProblem, options: TrackingOptions) -> list[IntArray]:
    """Return the markers nearest to each along the bones: some, and all as near as the last.

    None is further than `neighbour_max_bones`.
    """
    bones = count_bones_between(problem)
    last = min(options.neighbour_count, len(bones)) - 1
    nearest = np.sort(bones, axis=1)[:, last]
    return [
        np.flatnonzero(row <= min(max(1, n), NEIGHBOUR_MAX_BONES))
        for row, n in zip(bones, nearest, strict=True)
    ]


def count_bones_between(problem: TrackingProblem) -> Array:
    """Return how many bones lie between each two markers, (M, M).

    Infinite between markers of two trees, of a marker to itself, and to a marker without weight.
    """
    skeleton, names = problem.skeleton, problem.names
    chains = [skeleton.find_ancestors(skeleton.marker(name)[0]) for name in names]
    bones = np.full((len(names), len(names)), np.inf)
    for m, k in permutations(range(len(names)), 2):
        meeting = next((n for n, bone in enumerate(chains[m]) if bone in chains[k]), None)
        if meeting is not None:
            bones[m, k] = meeting + chains[k].index(chains[m][meeting])
    bones[:, ~problem.counts] = np.inf
    return bones


def cut_gaps(seen: BoolArray, m: int, neighbours: IntArray) -> list[IntArray]:
    """Return the frames of marker m's gaps, cut wherever a neighbour appears or is lost."""
    missing = np.flatnonzero(~seen[:, m])
    if len(missing) == 0 or len(neighbours) < 3:
        return []
    visible = seen[missing][:, neighbours]
    changes = (visible[1:] != visible[:-1]).any(axis=1)
    cuts = np.flatnonzero((np.diff(missing) > 1) | changes) + 1
    return [missing[rows] for rows in np.split(np.arange(len(missing)), cuts)]


def _fill_part(
    position: Array,
    seen: BoolArray,
    m: int,
    neighbours: IntArray,
    frames: IntArray,
    filled: Array,
) -> bool:
    """Write marker m of a part of a gap to `filled`; return whether its neighbours sufficed."""
    if len(neighbours) < 3:
        return False
    known = np.flatnonzero(seen[:, m] & seen[:, neighbours].all(axis=1))
    after = int(np.searchsorted(known, frames[0]))
    guesses, distances = [], []
    for k in (after - 1, after):  # the last before, the first after
        if 0 <= k < len(known):
            guess = move_rigidly(position, m, neighbours, int(known[k]), frames)
            if guess is not None:
                guesses.append(guess)
                distances.append(np.abs(frames - known[k]).astype(float))
    if len(guesses) == 2:
        share = (distances[0] / (distances[0] + distances[1]))[:, None]
        filled[frames, m] = (1.0 - share) * guesses[0] + share * guesses[1]
    elif len(guesses) == 1:
        filled[frames, m] = guesses[0]
    return len(guesses) > 0


def close_step(position: Array, part: IntArray, next_part: IntArray) -> None:
    """Close the step of a marker, (T, 3), between two parts of a gap."""
    step = position[next_part[0]] - position[part[-1]]
    if len(part) > 1 and len(next_part) > 1:  # less the motion that both parts show here
        before = position[part[-1]] - position[part[-2]]
        after = position[next_part[1]] - position[next_part[0]]
        step = step - 0.5 * (before + after)
    share = (np.arange(len(part)) + 1.0) / (len(part) + 1.0)
    next_share = (len(next_part) - np.arange(len(next_part))) / (len(next_part) + 1.0)
    position[part] += 0.5 * step * share[:, None]
    position[next_part] -= 0.5 * step * next_share[:, None]


def move_rigidly(
    position: Array,
    m: int,
    neighbours: IntArray,
    known: int,
    frames: IntArray,
) -> Array | None:
    """Return marker m of frame `known`, moved with its neighbours to `frames` [m], (n, 3).

    None if the neighbours are too near a line to determine a rotation.
    """
    source, target = position[known, neighbours], position[frames][:, neighbours]
    marker = position[known, m]
    weight = 1.0 / (((source - marker) ** 2).sum(axis=1) + NEIGHBOUR_SOFTENING**2)
    fit = fit_rigid_transforms(
        np.broadcast_to(source, target.shape), target, np.broadcast_to(weight, target.shape[:2])
    )
    if float(np.median(fit.singular_values[:, 1])) < MIN_NEIGHBOUR_SPREAD:
        return None
    return fit.target_center + np.einsum("nij,nj->ni", fit.rotation, marker - fit.source_center)
