"""How far to trust a track: error bars of the dofs, and which frames deserve a look, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exactik._text import Reason, join_names
from exactik._threads import run_in_threads
from exactik.kernels.linear.variances import new_variance_scratch
from exactik.kernels.recording import combination_error_bars as combinations
from exactik.kernels.recording import error_bars as kernel
from exactik.motion import Segment, find_segments
from exactik.tracking._options import DEFAULT_OPTIONS
from exactik.tracking._problem import UNKNOWN_SD, TrackingProblem, split_into_chunks
from exactik.tracking.smoothing import Smoothing, compute_smooth_variances
from exactik.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from exactik.tracking._result import Track

__all__ = [
    "Attention",
    "are_minima",
    "compute_combination_deviations",
    "compute_standard_deviations",
    "estimate_noise",
    "explain_frames",
    "find_attention",
]

FLAT_CURVATURE = 1e-7  # share of a dof's curvature that counts as none: rounding of the Hessian
MIN_NOISE = 1e-6  # [m] what fits exactly still has rounding
MIN_LASTING_SHARE = 0.06
"""Of σ², that smoothing does not lessen: motion comes in bursts, and one strength is for all of it.
With it 90 % bands hold the truth in 89 to 94 % of the cases (0.5 to 2 mm of noise), without in 57
to 71 %; test_bones_turn_as_in_truth."""
CHUNK_FRAMES = 512  # whose error bars are computed in one call, for the threads to share the work

SEVERITY_PER_FRAME = {
    "no-markers": 4.0,
    "not-converged": 3.0,
    "poor-fit": 3.0,
    "gap": 2.0,
    "jump": 1.0,
    "excess-cost": 0.5,
    "ignored-marker": 0.5,
}
"""The order in which a person should look; set by hand. A longer segment comes first."""
STATUS_JOIN_FRAMES, FIT_JOIN_FRAMES = 2, 4
"""Frames between two segments of the same kind up to which they are one entry; set by hand."""
MAX_NAMES = 4  # of bones or dofs in a sentence
STATUS_TEXTS = {
    "no-markers": Reason("fewer than three markers are seen", "the pose is a guess"),
    "not-converged": Reason("the solve did not come to rest"),
}
STATUS_SENTENCES = {
    "converged": "Solved: no pose near this one fits the markers better.",
    "not-converged": "The solve did not come to rest.",
    "no-markers": "Fewer than three markers are seen; the pose is a guess.",
}


def estimate_noise(
    errors: Array, nv: int, assumed_noise: float = DEFAULT_OPTIONS.preparation.assumed_noise
) -> float:
    """Return the markers' standard deviation along each axis [m], as residuals tell.

    Args:
        errors: distance of every marker from its place [m], (T, M), not a number where missing.
        nv: number of dofs that were fitted to each frame.
        assumed_noise: [m] answer where no frame has more coordinates of markers than dofs.
    """
    total, degrees = 0.0, 0
    for frames in split_into_chunks(len(errors), CHUNK_FRAMES):
        chunk = errors[frames]
        surplus = 3 * np.isfinite(chunk).sum(axis=1) - nv
        degrees += int(np.maximum(surplus, 0).sum())
        total += float(np.nansum(chunk[surplus > 0] ** 2))
    return float(np.sqrt(total / degrees)) if degrees > 0 else assumed_noise


def compute_standard_deviations(
    problem: TrackingProblem,
    q: Array,
    sigma: float,
    threads: int,
    smoothing: Smoothing | None = None,
) -> Array:
    """Return the standard deviation of every dof in every frame [rad or m], (T, nv).

    No more than that of an angle of which nothing is known. Dofs at a limit have none. Smoothing
    lessens what comes of noise that changes from frame to frame; the rest of sigma is what is wrong
    with the figure, and stays.
    """
    if smoothing is not None:
        lasting = max(sigma**2 - smoothing.noise**2, MIN_LASTING_SHARE * sigma**2)
        sd = compute_standard_deviations(problem, q, float(np.sqrt(lasting)), threads)
        passing = compute_smooth_variances(problem, q, smoothing, threads)
        return np.minimum(np.sqrt(sd**2 + passing), UNKNOWN_SD)
    return _estimate_deviations(problem, q, sigma, threads, problem.skeleton.nv, None)


def compute_combination_deviations(
    problem: TrackingProblem,
    q: Array,
    sigma: float,
    threads: int,
    count: int,
    compute_rows: Callable[[IntArray], Array],
) -> Array:
    """Return the standard deviation of `count` combinations of dofs in every frame, (T, count).

    No more than that of an angle of which nothing is known.

    Args:
        problem: what was solved.
        q: its solution, (T, nq).
        sigma: of the markers along each axis [m].
        threads: to use.
        count: of the combinations.
        compute_rows: returns the combinations, (n, count, nv), in some of the frames, (n,).
    """
    return _estimate_deviations(problem, q, sigma, threads, count, compute_rows)


def _estimate_deviations(
    problem: TrackingProblem,
    q: Array,
    sigma: float,
    threads: int,
    count: int,
    compute_rows: Callable[[IntArray], Array] | None,
) -> Array:
    """Return the standard deviation of combinations of dofs, or of each dof if None, (T, count)."""
    sigma = max(sigma, MIN_NOISE)
    prior = np.full(problem.skeleton.nv, sigma**2 / UNKNOWN_SD**2)
    sd = np.zeros((len(q), count))

    def compute_chunk(frames: IntArray) -> None:
        buffers, targets = problem.buffers, problem.targets
        noise, chunk_sd = np.full(len(frames), sigma), np.empty((len(frames), count))
        model = (problem.skeleton.tree, buffers.goals, problem.frame_problem.box, targets)
        poses = (prior, noise, frames, q[frames])
        results = (chunk_sd, buffers.descent_state, buffers.workspace)
        if compute_rows is None:
            scratch = new_variance_scratch(problem.skeleton.tree)
            kernel.estimate_standard_deviations(*model, *poses, scratch, *results)
        else:
            rows = compute_rows(frames)
            combinations.estimate_combination_deviations(*model, *poses, rows, *results)
        sd[frames] = np.minimum(chunk_sd, UNKNOWN_SD)

    run_in_threads(threads, compute_chunk, split_into_chunks(len(q), CHUNK_FRAMES))
    return sd


def are_minima(problem: TrackingProblem, q: Array, frames: IntArray | None = None) -> BoolArray:
    """Return whether the exact Hessian of the free dofs has no negative curvature, (n,).

    Of all frames, or of some, (n,), at poses q, (n, nq).
    """
    frames = np.arange(len(q)) if frames is None else frames
    is_minimum, buffers = np.zeros(len(q)), problem.buffers
    kernel.check_convexity(
        problem.skeleton.tree,
        buffers.goals,
        problem.frame_problem.box,
        problem.targets,
        FLAT_CURVATURE,
        frames,
        q,
        is_minimum,
        buffers.descent_state,
        buffers.workspace,
    )
    return is_minimum != 0.0


class Attention(NamedTuple):
    """A segment of frames and what is the matter with it.

    Attributes:
        first: frame, counted from 0.
        last: frame.
        kind: "no-markers", "not-converged", "jump", "excess-cost", "gap", "poor-fit" or
            "ignored-marker".
        text: why, in a sentence; its `cause` is the part before the semicolon.
        severity: the larger, the earlier it should be looked at.
    """

    first: int
    last: int
    kind: str
    text: Reason
    severity: float


def find_attention(track: Track) -> list[Attention]:
    """See `Track.attention`."""
    entries = [
        *_find_gaps(track),
        *_find_poor_fits(track),
        *_find_costs_above_best(track),
        *_find_jumps(track),
        *_find_ignored_markers(track),
    ]
    for kind, text in STATUS_TEXTS.items():
        for segment in find_segments(np.asarray(track.status == kind), join=STATUS_JOIN_FRAMES):
            entries.append(_make_entry(segment, kind, text))
    return sorted(entries, key=lambda entry: (-entry.severity, entry.first))


def _make_entry(segment: Segment, kind: str, text: Reason) -> Attention:
    return Attention(
        first=segment.first,
        last=segment.last,
        kind=kind,
        text=text,
        severity=SEVERITY_PER_FRAME[kind] * segment.frame_count,
    )


def _find_gaps(track: Track) -> list[Attention]:
    """Return an entry for each segment in which some joints went by their course."""
    names, entries = np.array(track.skeleton.dof_names), []
    on_course = np.asarray(track.undetermined.any(axis=1))
    for segment in find_segments(on_course, join=STATUS_JOIN_FRAMES):
        dofs = track.undetermined[segment.first : segment.last + 1].any(axis=0)
        bones = list(dict.fromkeys(name.rpartition(".")[0] for name in names[dofs]))
        cause = f"markers are missing that determine {_join(bones)}"
        text = Reason(cause, "filled from before and after")
        entries.append(_make_entry(segment, "gap", text))
    return entries


def _find_poor_fits(track: Track) -> list[Attention]:
    errors, options = track.errors_that_count, track.options.assessment
    frame_error = np.sqrt(_finite_mean(errors**2, axis=1))
    positive = frame_error[frame_error > 0.0]
    usual = float(np.median(positive)) if len(positive) > 0 else 0.0
    entries = []
    poor = frame_error > max(options.poor_fit * usual, options.poor_fit_min)
    for segment in find_segments(poor, join=FIT_JOIN_FRAMES):
        segment_errors = errors[segment.first : segment.last + 1]
        mean = _finite_mean(segment_errors, axis=0)
        worst = [track.names[m] for m in np.argsort(-mean)[:2]]
        largest = 1e3 * float(np.nanmax(segment_errors))
        text = Reason(f"markers fit badly, up to {largest:.0f} mm ({_join(worst)})")
        entries.append(_make_entry(segment, "poor-fit", text))
    return entries


def _find_costs_above_best(track: Track) -> list[Attention]:
    """Return an entry for each segment in which another solution was found to fit better."""
    entries, options = [], track.options.assessment
    for segment in find_segments(track.excess_cost > options.cost_above_best, join=FIT_JOIN_FRAMES):
        largest = float(track.excess_cost[segment.first : segment.last + 1].max())
        if largest > options.segment_cost_above_best:
            text = Reason(
                f"costs up to {100 * largest:.0f} % more than the best solution found there",
                "a motion without jumps that passes to it and back would cost still more",
            )
            entries.append(_make_entry(segment, "excess-cost", text))
    return entries


def _find_jumps(track: Track) -> list[Attention]:
    """Return an entry for each segment with jumps; the frames before and after one belong to it."""
    jumps, names, entries = track.jumps, np.array(track.skeleton.bone_names), []
    beside = jumps | np.concatenate([[False], jumps[:-1]])
    for segment in find_segments(beside, join=FIT_JOIN_FRAMES):
        bones = track.jumping_bones[segment.first : segment.last].any(axis=0)
        text = Reason(
            f"the pose of {_join(list(names[bones]))} jumps",
            "two solutions fit there, or the markers leave it open",
        )
        entries.append(_make_entry(segment, "jump", text))
    return entries


def _find_ignored_markers(track: Track) -> list[Attention]:
    if track.marker_weights is None:
        return []
    seen, entries = np.isfinite(track.errors_that_count), []
    for m, name in enumerate(track.names):
        ignored = track.marker_weights[:, m] < track.options.assessment.ignored_weight
        for segment in find_segments(seen[:, m] & ignored, join=FIT_JOIN_FRAMES):
            errors = track.marker_errors[segment.first : segment.last + 1, m]
            off = 1e3 * float(np.nanmedian(errors))
            text = Reason(f"marker {name} is {off:.0f} mm off and was left out")
            entries.append(_make_entry(segment, "ignored-marker", text))
    return entries


def _finite_mean(values: Array, axis: int) -> Array:
    """Return the mean of what is a number; 0 where nothing is."""
    count = np.isfinite(values).sum(axis=axis)
    return np.nansum(values, axis=axis) / np.maximum(count, 1)


def explain_frames(track: Track) -> list[str]:
    """See `Track.why`."""
    limits, names = track.at_limits, np.array(track.skeleton.dof_names)
    sentences = []
    for t, status in enumerate(track.status):
        if status == "at-limits":
            sentence = f"Solved; held at a limit: {_join(list(names[limits[t]]))}."
        elif status == "gap":
            dofs = list(names[track.undetermined[t]])
            sentence = f"Not determined by the markers seen: {_join(dofs)}."
        else:
            sentence = STATUS_SENTENCES[str(status)]
        above_best = track.excess_cost[t] > track.options.assessment.cost_above_best
        if above_best and status in ("converged", "at-limits"):
            less = 100 * float(1.0 - 1.0 / (1.0 + track.excess_cost[t]))
            sentence += f" Another costs {less:.0f} % less, but the motion would jump."
        sentences.append(sentence)
    return sentences


def _join(names: list[str]) -> str:
    return join_names(names, MAX_NAMES, last=", ")
