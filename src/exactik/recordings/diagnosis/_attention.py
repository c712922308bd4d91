"""Frames that deserve a look: stretches in which something is wrong or doubtful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exactik.model.motion import Segment, find_segments
from exactik.recordings.diagnosis._finding import Finding
from exactik.recordings.diagnosis._words import FRAME_SENTENCES, STRETCHES, fill
from exactik.typing import BoolArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

WEIGHT_PER_FRAME = {
    "no-markers": 4.0,
    "not-converged": 3.0,
    "swap": 3.0,
    "far-marker": 3.0,
    "marker-jump": 3.0,
    "frozen-marker": 2.0,
    "limb-error": 2.0,
    "delayed-limb": 2.0,
    "limb-symmetry": 2.0,
    "marker-error": 2.0,
    "gap": 2.0,
    "jump": 1.0,
    "excess-cost": 0.5,
    "ignored-marker": 0.5,
}
"""The order in which a person should look; set by hand. A longer segment comes first."""
MIN_LEFT_OUT_FRAMES = 3
"""For which a marker is left out as an outlier, for the stretch to be listed; the share of samples
that are is a finding by itself."""
DISMISSED = ("unlikely", "undecided", "repaired")  # verdicts on swaps that need no look
STATUS_JOIN_FRAMES, FIT_JOIN_FRAMES = 2, 4
"""Frames between two segments of the same kind up to which they are one entry; set by hand."""


def find_stretches(track: Track, lost: BoolArray) -> list[Finding]:
    """Return the stretches of a track that deserve a look.

    Args:
        track: the solved recording.
        lost: which dofs nothing determines for a while, (T, nv).
    """
    stretches = [
        *_find_gaps(track, lost),
        *_find_costs_above_best(track),
        *_find_jumps(track),
        *_find_ignored_markers(track),
        *_find_left_out_markers(track),
    ]
    for kind in ("no-markers", "not-converged"):
        for segment in find_segments(np.asarray(track.status == kind), join=STATUS_JOIN_FRAMES):
            stretches.append(_make_stretch(segment, kind))
    return stretches


def list_stretches(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of frames that deserve a look, those first that have most of it."""
    looks = [found for found in findings if found.severity == "look" and found.kind in STRETCHES]
    looks = [found for found in looks if found.details.get("verdict") not in DISMISSED]
    return sorted(looks, key=lambda found: (-weigh(found), found.first))


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


def _find_gaps(track: Track, lost: BoolArray) -> Iterator[Finding]:
    """Yield each segment in which nothing determines some joints."""
    names = np.array(track.skeleton.dof_names)
    for segment in find_segments(np.asarray(lost.any(axis=1)), join=STATUS_JOIN_FRAMES):
        dofs = lost[segment.first : segment.last + 1].any(axis=0)
        yield _make_stretch(segment, "gap", name_bones(names[dofs].tolist()))


def name_bones(dofs: Sequence[str]) -> tuple[str, ...]:
    """Return the bones of some dofs, each once."""
    return tuple(dict.fromkeys(name.rpartition(".")[0] for name in dofs))


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
    for m, name in enumerate(track.names):
        left_out = track.left_out[:, m]
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
