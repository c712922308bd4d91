"""Frames that deserve a look: stretches in which something is wrong or doubtful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exactik.model.motion import Segment, find_segments
from exactik.recordings.diagnosis._finding import Finding
from exactik.recordings.diagnosis._words import FRAME_SENTENCES, STRETCHES, fill
from exactik.typing import Array, BoolArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

WEIGHT_PER_FRAME = {
    "no-markers": 4.0,
    "not-converged": 3.0,
    "poor-fit": 3.0,
    "gap": 2.0,
    "jump": 1.0,
    "excess-cost": 0.5,
    "ignored-marker": 0.5,
}
"""The order in which a person should look; set by hand. A longer segment comes first."""
MIN_LEFT_OUT_FRAMES = 3
"""For which a marker is left out as an outlier, for the stretch to be listed; the share of samples
that are is a finding by itself."""
STATUS_JOIN_FRAMES, FIT_JOIN_FRAMES = 2, 4
"""Frames between two segments of the same kind up to which they are one entry; set by hand."""


def find_stretches(track: Track) -> list[Finding]:
    """Return the stretches of a track that deserve a look, the worst first."""
    stretches = [
        *_find_gaps(track),
        *_find_poor_fits(track),
        *_find_costs_above_best(track),
        *_find_jumps(track),
        *_find_ignored_markers(track),
        *_find_left_out_markers(track),
    ]
    for kind in ("no-markers", "not-converged"):
        for segment in find_segments(np.asarray(track.status == kind), join=STATUS_JOIN_FRAMES):
            stretches.append(_make_stretch(segment, kind))
    return sorted(stretches, key=lambda found: (-weigh(found), found.first))


def list_stretches(findings: Sequence[Finding]) -> list[Finding]:
    """Return the stretches among findings, as they come."""
    return [found for found in findings if found.severity == "look" and found.kind in STRETCHES]


def weigh(found: Finding) -> float:
    """Return how early a stretch should be looked at: the larger, the earlier."""
    return WEIGHT_PER_FRAME[found.kind] * (found.last - found.first + 1)


def _make_stretch(
    segment: Segment,
    kind: str,
    names: Sequence[str] = (),
    value: float | None = None,
    unit: str = "frames",
    threshold: float | None = None,
) -> Finding:
    return Finding(
        kind=kind,
        severity="look",
        value=float(segment.frame_count) if value is None else value,
        unit=unit,
        threshold=threshold,
        frames=(segment.first, segment.last),
        names=tuple(names),
    )


def _find_gaps(track: Track) -> Iterator[Finding]:
    """Yield each segment in which some joints went by their course."""
    names = np.array(track.skeleton.dof_names)
    on_course = np.asarray(track.undetermined.any(axis=1))
    for segment in find_segments(on_course, join=STATUS_JOIN_FRAMES):
        dofs = track.undetermined[segment.first : segment.last + 1].any(axis=0)
        yield _make_stretch(segment, "gap", name_bones(names[dofs].tolist()))


def name_bones(dofs: Sequence[str]) -> tuple[str, ...]:
    """Return the bones of some dofs, each once."""
    return tuple(dict.fromkeys(name.rpartition(".")[0] for name in dofs))


def _find_poor_fits(track: Track) -> Iterator[Finding]:
    errors, options = track.errors_that_count, track.options.assessment
    frame_error = np.sqrt(_finite_mean(errors**2, axis=1))
    positive = frame_error[frame_error > 0.0]
    usual = float(np.median(positive)) if len(positive) > 0 else 0.0
    limit = max(options.poor_fit * usual, options.poor_fit_min)
    for segment in find_segments(frame_error > limit, join=FIT_JOIN_FRAMES):
        segment_errors = errors[segment.first : segment.last + 1]
        mean = _finite_mean(segment_errors, axis=0)
        worst = [track.names[m] for m in np.argsort(-mean)[:2]]
        yield _make_stretch(
            segment, "poor-fit", worst, float(np.nanmax(segment_errors)), "m", limit
        )


def _find_costs_above_best(track: Track) -> Iterator[Finding]:
    """Yield each segment in which another solution was found to fit better."""
    cost, options = track.excess_cost, track.options.assessment
    limit = options.segment_cost_above_best
    for segment in find_segments(cost > options.cost_above_best, join=FIT_JOIN_FRAMES):
        largest = float(cost[segment.first : segment.last + 1].max())
        if largest > limit:
            yield _make_stretch(segment, "excess-cost", (), largest, "share", limit)


def _find_jumps(track: Track) -> Iterator[Finding]:
    """Yield each segment with jumps; the frames before and after one belong to it."""
    jumps, names = track.jumps, np.array(track.skeleton.bone_names)
    beside = jumps | np.concatenate([[False], jumps[:-1]])
    for segment in find_segments(beside, join=FIT_JOIN_FRAMES):
        bones = track.jumping_bones[segment.first : segment.last].any(axis=0)
        yield _make_stretch(segment, "jump", names[bones].tolist())


def _find_left_out_markers(track: Track) -> Iterator[Finding]:
    """Yield each segment in which a marker was left out as a gross outlier."""
    for m in np.flatnonzero(track.left_out.any(axis=0)):
        name, left_out = track.names[m], track.left_out[:, m]
        for segment in find_segments(left_out, join=FIT_JOIN_FRAMES):
            frames = segment.first + np.flatnonzero(left_out[segment.first : segment.last + 1])
            if len(frames) >= MIN_LEFT_OUT_FRAMES:
                off = float(np.median(track.measure_recorded_errors(m, frames)))
                yield _make_stretch(segment, "ignored-marker", (name,), off, "m")


def _find_ignored_markers(track: Track) -> Iterator[Finding]:
    if track.marker_weights is None:
        return
    seen, limit = np.isfinite(track.errors_that_count), track.options.assessment.ignored_weight
    for m, name in enumerate(track.names):
        ignored: BoolArray = seen[:, m] & (track.marker_weights[:, m] < limit)
        for segment in find_segments(ignored, join=FIT_JOIN_FRAMES):
            errors = track.marker_errors[segment.first : segment.last + 1, m]
            off = float(np.nanmedian(errors))
            yield _make_stretch(segment, "ignored-marker", (name,), off, "m")


def _finite_mean(values: Array, axis: int) -> Array:
    """Return the mean of what is a number; 0 where nothing is."""
    count = np.isfinite(values).sum(axis=axis)
    return np.nansum(values, axis=axis) / np.maximum(count, 1)


def explain_frames(track: Track) -> list[str]:
    """See `Track.why`."""
    dofs, sentences = np.array(track.skeleton.dof_names), []
    about = {"at-limits": track.at_limits, "gap": track.undetermined}
    for t, status in enumerate(track.status.tolist()):
        names = dofs[about[status][t]].tolist() if status in about else ()
        sentence = fill(FRAME_SENTENCES[status], names=names)
        above_best = float(track.excess_cost[t])
        limit = track.options.assessment.cost_above_best
        if above_best > limit and status in ("converged", "at-limits"):
            less = 100 * (1.0 - 1.0 / (1.0 + above_best))
            sentence += fill(FRAME_SENTENCES["cheaper"], less=less)
        sentences.append(sentence)
    return sentences
