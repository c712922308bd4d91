"""Markers before they are solved: outliers removed, gaps filled in from neighbouring markers.

Outliers show in the markers alone, before any figure is fitted. Spikes: a marker that is for a
moment far from where it was just before and is just after. They are taken for missing. Swaps: two
markers that exchange their names (`motion.find_swaps`); they are exchanged back if that leaves
them better in place among the markers around them.

Gaps: in a gap of marker m take the markers on the same bone and the bones next to it that are seen.
From the last frame before the gap that shows them and m, they are moved rigidly onto where they are
now (Kabsch), and m with them; the same from the first frame after the gap. Both are right at their
end of the gap and are blended in between.
"""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import NamedTuple

import numpy as np

from exactik.model.motion import Markers, Swap, choose_even_frames, find_swaps
from exactik.recordings.tracking._first_pass import solve_cold_start
from exactik.recordings.tracking._options import DEFAULT_OPTIONS, TrackingOptions
from exactik.recordings.tracking._problem import (
    ASSUMED_NOISE,
    CHUNK_FRAMES,
    LOSS_KINDS,
    TrackingProblem,
)
from exactik.spatial import fit_rigid_transforms
from exactik.typing import Array, BoolArray, IntArray

SWAP_MAX_MISFIT = 0.5
"""Share of its old misfit that a pair may keep for its names to be exchanged back, if it never
changes back in the recording: only clear cases. By hand;
test_without_errors_a_robust_loss_changes_little."""
RETURNING_SWAP_MAX_MISFIT = 1.2
"""The same, if the pair changes back, which is evidence by itself; above 1, since among markers in
line either way fits. By hand; test_markers_on_two_sides_of_a_wrist_are_exchanged_back."""
MIN_LOSS_NOISE = 1e-4
"""[m] standard deviation of the markers below which a robust loss gets no narrower, where it is
estimated: better than any camera. Markers that a program made fit to rounding, and all that a
descent passes on its way to them would be outliers; see
test_a_robust_loss_does_no_harm_where_there_is_no_noise."""
INITIAL_LOSS_WIDTH = 0.05
"""[m] c of the Huber loss that gives the first estimate of the noise: wide enough for a figure that
fits badly. By hand."""
INITIAL_NOISE_FRAMES = 16
"""Spread over the recording, from which the noise is first estimated."""
INITIAL_NOISE_STARTS = 6
"""Cold starts of each of these."""
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


class PreparedMarkers(NamedTuple):
    """Markers ready to be solved.

    Attributes:
        recorded: the problem of what was recorded, without outliers; errors are measured by it.
        problem: the same with missing markers filled in; to be solved.
        outliers: that were removed.
    """

    recorded: TrackingProblem
    problem: TrackingProblem
    outliers: Outliers


def prepare_markers(
    problem: TrackingProblem,
    cold_start: Array,
    robust: str | None,
    sigma: float | None,
    options: TrackingOptions,
) -> PreparedMarkers:
    """Remove outliers, set the width of a robust loss and fill gaps.

    Args:
        problem: as recorded.
        cold_start: descent options, see `kernels.descent.options`.
        robust: name of the loss; outliers are removed if there is one.
        sigma: standard deviation of the markers along each axis [m]; estimated if None.
        options: of all stages.
    """
    outliers = Outliers(swaps=(), spikes=np.zeros((0, 0), dtype=bool))
    if robust is not None:
        problem, outliers = remove_outliers(problem, options)
    is_estimated = sigma is None
    if is_estimated and (robust is not None or not problem.seen.all()):
        sigma = estimate_initial_noise(problem, cold_start)
    if robust is not None:
        widths = {"huber": options.huber_width, "tukey": options.tukey_width}
        loss_noise = sigma or 0.0
        if is_estimated:
            loss_noise = max(loss_noise, MIN_LOSS_NOISE)
        loss = np.array([LOSS_KINDS[robust], widths[robust] * loss_noise, 1.0])
        problem = problem.with_targets(loss=loss)
    filled = problem if sigma is None else fill_gaps(problem, sigma, options)
    return PreparedMarkers(recorded=problem, problem=filled, outliers=outliers)


class Outliers(NamedTuple):
    """What `remove_outliers` found.

    Attributes:
        swaps: pairs of markers that were exchanged back.
        spikes: samples that were taken for missing, (T, M).
    """

    swaps: tuple[Swap, ...]
    spikes: BoolArray


def remove_outliers(
    problem: TrackingProblem, options: TrackingOptions
) -> tuple[TrackingProblem, Outliers]:
    """Return the problem without spikes and with swapped markers exchanged back, and both."""
    position, swaps = problem.targets.position.copy(), []
    # A spike beside a larger one shows when that is gone.
    while (spikes := find_spikes(position, problem.rate, options)).any():
        position[spikes] = np.nan
    for swap in find_swaps(Markers(position, problem.names, problem.rate)):
        if fits_better_exchanged(problem, position, swap, options):
            m, partner = (problem.names.index(name) for name in swap.names)
            frames = slice(swap.first, swap.last + 1)
            position[frames, [m, partner]] = position[frames, [partner, m]]
            swaps.append(swap)
    spikes = np.isnan(position[:, :, 0]) & problem.seen
    return problem.with_targets(position=position), Outliers(swaps=tuple(swaps), spikes=spikes)


def find_spikes(
    position: Array, rate: float, options: TrackingOptions = DEFAULT_OPTIONS
) -> BoolArray:
    """Return the samples, (T, M), that lie far from every line through their neighbours in time."""
    max_distance = options.spike_min_distance + 0.5 * options.spike_max_acceleration / rate**2
    spikes = np.zeros(position.shape[:2], dtype=bool)
    for start in range(2, len(position) - 2, CHUNK_FRAMES):
        end = min(start + CHUNK_FRAMES, len(position) - 2)
        current = position[start:end]
        nearest = np.full(current.shape[:2], np.inf)
        for before, after in ((1, 1), (2, 1), (1, 2), (2, 2)):
            low = position[start - before : end - before]
            high = position[start + after : end + after]
            line = (after * low + before * high) / (before + after)
            distance = np.linalg.norm(current - line, axis=2)
            # A pair of which one is missing gives no line.
            nearest = np.where(np.isnan(distance), nearest, np.minimum(nearest, distance))
        spikes[start:end] = (nearest > max_distance) & np.isfinite(nearest)
    return spikes


def fits_better_exchanged(
    problem: TrackingProblem, position: Array, swap: Swap, options: TrackingOptions
) -> bool:
    """Whether both markers keep their usual distances to those around them better if exchanged."""
    first, second = (problem.names.index(name) for name in swap.names)
    swap_frames = np.arange(swap.first, swap.last + 1)
    neighbours = find_neighbours(problem, options)
    other_frames = np.setdiff1d(np.arange(len(position)), swap_frames)
    if len(other_frames) == 0:
        return False
    misfit = np.zeros(2)  # as it is, and exchanged
    for m, partner in ((first, second), (second, first)):
        for k in np.setdiff1d(neighbours[m], (first, second)):
            outside = np.linalg.norm(position[other_frames, m] - position[other_frames, k], axis=1)
            if not np.isfinite(outside).any():  # never seen together outside
                continue
            usual = np.nanmedian(outside)
            for n, j in enumerate((m, partner)):
                offset = position[swap_frames, j] - position[swap_frames, k]
                error = np.linalg.norm(offset, axis=1) - usual
                if np.isfinite(error).any():
                    misfit[n] += np.nanmedian(error**2)
    returns = swap.last < len(position) - 1
    max_misfit = RETURNING_SWAP_MAX_MISFIT if returns else SWAP_MAX_MISFIT
    return bool(misfit[1] <= max_misfit * misfit[0])


def estimate_initial_noise(
    problem: TrackingProblem,
    cold_start: Array,
) -> float:
    """Return a first estimate of the markers' standard deviation along each axis [m].

    From a sample of frames, solved independently with a robust loss.
    """
    frames = choose_even_frames(len(problem), INITIAL_NOISE_FRAMES)
    sample = problem.select(frames).with_targets(
        loss=np.array([LOSS_KINDS["huber"], INITIAL_LOSS_WIDTH, 1.0]),
        robust_weight=np.ones((len(frames), len(problem.names))),
    )
    rows = np.arange(len(frames))
    solutions = solve_cold_start(sample, cold_start, rows, INITIAL_NOISE_STARTS)
    distance = np.linalg.norm(sample.residuals(solutions.q), axis=2)[:, sample.counts]
    if not np.isfinite(distance).any():
        return ASSUMED_NOISE
    # Of a normal distribution in space the median distance is 1.538 standard deviations.
    return max(float(np.nanmedian(distance)) / 1.538, 1e-6)


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
    chains: list[list[int]] = []
    for name in names:
        chain = [skeleton.bone_index(skeleton.marker(name)[0])]
        while skeleton.parents[chain[-1]] >= 0:
            chain.append(int(skeleton.parents[chain[-1]]))
        chains.append(chain)
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
