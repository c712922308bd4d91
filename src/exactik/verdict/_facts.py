"""What a recording is judged by: numbers about its track, its markers and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exactik.motion import Swap, choose_even_frames, mark_segments
from exactik.typing import BoolArray
from exactik.verdict._context import MarkerUse, UpAxis
from exactik.verdict._heading import measure_heading
from exactik.verdict._limbs import LimbFacts, find_instrumented_bones, measure_limbs
from exactik.verdict._marker_jumps import MarkerJump, find_marker_jumps
from exactik.verdict._mirrored_places import PlaceDifference, find_place_differences
from exactik.verdict._scales import SegmentDeviation, find_deviations, is_person, measure_stature
from exactik.verdict._sides import find_unpaired_markers
from exactik.verdict._stretches import FarStretch, find_far_stretches

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = ["RecordingFacts", "collect_facts", "is_on_subject"]

MAX_POSES = 30
"""Different poses after which a recording counts as one of movement: with 41 markers, thirty poses
have 3,690 coordinates, twelve times the dofs and parameters that are fitted to one."""
POSE_STEP = 0.01
"""[statures] rms change of the distances between markers from which two poses differ: 17 mm. Who
stands still sways and breathes by a third of it; legs in a stride change them by 60 mm and more."""
POSE_FRAMES = 120  # looked at, spread over the recording


@dataclass(frozen=True, kw_only=True)
class RecordingFacts:
    """What is known of a solved recording; lengths in metres, shares from 0 to 1.

    Attributes:
        frames: number of frames.
        span: first and last frame with three markers or more: in which the subject is there. What
            follows is about these frames.
        recorded: number of markers that the file has on the subject: no computed points, no
            objects, no other subjects, none that is never seen.
        used: number of markers that were used and seen.
        unused: why those of `recorded` that are not used are not: code → names.
        mean_error: of all markers in all frames.
        p95_error: that 95 % of them keep below.
        marker_errors: mean error of each marker, name → length.
        far_stretches: the worst of each marker that is far from its place for longer than a
            moment, and mostly not; the worst first. What a robust loss left out does not count.
        marker_jumps: the worst of each marker that is suddenly elsewhere, likewise.
        stature: height of the figure as it is now, if it is a person's; else its longest extent.
        is_person: whether the figure has the bones of a person.
        size: of the recorded figure in sizes of the skeleton as it was given, None if unknown.
        unit_factor: by which lengths were multiplied to get a person.
        handedness: see `RecordingContext`.
        label_doubt: see `RecordingContext`.
        heading: mean cosine of where the root looks with where it goes; None if it goes nowhere.
        limbs: parts of the body.
        uninstrumented: bones of which nothing is known: no marker on them nor beyond.
        open_dofs: dofs that nothing determines although markers are on their bone or beyond it.
        instrumented_dofs: number of dofs with markers on their bone or beyond it.
        poses: number of poses that differ, up to 30.
        redundancy: share of the coordinates of markers that is left after dofs and parameters.
        unpaired: markers of one side that have no partner on the other.
        paired: number of markers of a side, partner or not.
        limit_shares: share of the frames in which a dof is at a limit, by dof, of those that
            markers determine.
        gap_share: of the frames in which the joints of a limb had lost their markers, of the worst.
        blind_share: of the frames that have fewer than three markers.
        missing_share: of the samples of the markers in use.
        not_converged_share: of the frames.
        poor_share: of the frames that fit far worse than the others.
        jump_share: of the frames at which the motion jumps.
        swaps: pairs of markers that were solved with exchanged names, for a while.
        swap_share: of the frames in which such a pair is exchanged, of the worst.
        up: which axis is up, None without a context.
        doubtful: markers in use whose match is not sure.
        guessed: markers in use that were matched by geometry.
        deviations: lengths of segments against those of adults, the worst first; empty if the
            figure was not fitted.
        place_differences: of left and right markers of the same landmarks, the worst first; empty
            if the figure was not fitted.
        settled: whether the calibration came to rest; None if there was none.
        is_fitted: whether sizes were fitted to a recording.
        marker_set: recognised set.
        set_size: how many markers that set has on these parts.
        set_missing: those of them that are missing.
    """

    frames: int
    span: tuple[int, int]
    recorded: int
    used: int
    unused: dict[str, tuple[str, ...]]
    mean_error: float
    p95_error: float
    marker_errors: dict[str, float]
    far_stretches: tuple[FarStretch, ...]
    marker_jumps: tuple[MarkerJump, ...]
    stature: float
    is_person: bool
    size: float | None
    unit_factor: float
    handedness: float | None
    label_doubt: float | None
    heading: float | None
    limbs: tuple[LimbFacts, ...]
    uninstrumented: tuple[str, ...]
    open_dofs: tuple[str, ...]
    instrumented_dofs: int
    poses: int
    redundancy: float
    unpaired: tuple[str, ...]
    paired: int
    limit_shares: dict[str, float]
    gap_share: float
    blind_share: float
    missing_share: float
    not_converged_share: float
    poor_share: float
    jump_share: float
    swaps: tuple[Swap, ...]
    swap_share: float
    up: UpAxis | None
    doubtful: tuple[str, ...]
    guessed: tuple[str, ...]
    deviations: tuple[SegmentDeviation, ...]
    place_differences: tuple[PlaceDifference, ...]
    settled: bool | None
    is_fitted: bool
    marker_set: str | None
    set_size: int
    set_missing: tuple[str, ...]


NOT_ON_THE_SUBJECT = ("computed", "object", "other-subject", "never-seen")
"""Codes of markers that nobody would expect on the figure."""
MIN_SEEN_SHARE = 0.2
"""Of the frames in which an unused marker must be seen to be missed: what cameras see for a moment
and nobody has named are reflections and fragments."""
SURE_CONFIDENCE = 0.5  # of a match, below which it is a doubt
GEOMETRY = "geometry"  # code of a match by place and movement


def is_on_subject(use: MarkerUse) -> bool:
    """Whether somebody would expect a recorded marker to be used."""
    if use.code in NOT_ON_THE_SUBJECT:
        return False
    return use.marker is not None or use.seen_share >= MIN_SEEN_SHARE


def collect_facts(track: Track) -> RecordingFacts:
    """Return what a track is judged by; it costs some error bars beyond what is there already."""
    from exactik.tracking import find_likely_swaps

    skeleton = track.skeleton
    first, last = find_span(np.isfinite(track.errors_that_count))
    frames = slice(first, last + 1)
    errors = track.errors_that_count[frames]
    seen = np.isfinite(errors)
    ignored = _find_ignored(track)[frames]
    context = track.context
    is_fitted = context is not None and context.is_fitted
    uses = _list_uses(track) if context is None else context.uses
    on_subject = [use for use in uses if is_on_subject(use)]
    unused: dict[str, list[str]] = {}
    for use in on_subject:
        if use.marker is None:
            unused.setdefault(use.code, []).append(use.name)
    ever_seen = np.asarray(seen.any(axis=0))
    names = [name for name, there in zip(track.names, ever_seen, strict=True) if there]
    instrumented = find_instrumented_bones(skeleton, names)
    dof_bones = np.array([name.rpartition(".")[0] for name in skeleton.dof_names])
    locked = np.asarray(track.problem.frame_problem.locked)
    with_markers = np.isin(dof_bones, sorted(instrumented)) & ~locked
    is_open = np.isin(skeleton.dof_names, track.never_determined)
    dof_names = np.array(skeleton.dof_names)
    at_limits = track.at_limits[frames].mean(axis=0)
    stature = measure_stature(skeleton)
    poses = count_poses(track, frames, names, stature)
    unpaired, paired = find_unpaired_markers(skeleton, names)
    samples = errors[seen]
    limbs = measure_limbs(track, frames, with_markers, is_open)
    swaps = find_likely_swaps(track.problem, track.options.preparation)
    return RecordingFacts(
        frames=len(track),
        span=(first, last),
        recorded=len(on_subject),
        used=len(names),
        unused={code: tuple(who) for code, who in unused.items()},
        mean_error=float(samples.mean()) if len(samples) > 0 else float("nan"),
        p95_error=float(np.percentile(samples, 95.0)) if len(samples) > 0 else float("nan"),
        marker_errors={
            name: float(errors[seen[:, m], m].mean())
            for m, name in enumerate(track.names)
            if ever_seen[m]
        },
        far_stretches=find_far_stretches(
            np.where(ignored, np.nan, errors), track.names, track.markers.rate, first
        ),
        marker_jumps=find_marker_jumps(
            track.problem.targets.position[frames],
            ignored,
            track.names,
            track.markers.rate,
            track.options.jumps.neighbour_ratio,
            first,
        ),
        stature=stature,
        is_person=is_person(skeleton),
        size=None if context is None else context.size,
        unit_factor=1.0 if context is None else context.unit_factor,
        handedness=None if context is None else context.handedness,
        label_doubt=None if context is None else context.label_doubt,
        heading=measure_heading(track, frames, stature),
        limbs=limbs,
        uninstrumented=tuple(b.name for b in skeleton.bones if b.name not in instrumented),
        open_dofs=tuple(dof_names[with_markers & is_open].tolist()),
        instrumented_dofs=int(with_markers.sum()),
        poses=poses,
        redundancy=measure_redundancy(
            3.0 * seen.sum(axis=1).mean(),
            int(with_markers.sum()),
            poses,
            0 if context is None else context.parameters,
        ),
        unpaired=tuple(unpaired),
        paired=paired,
        limit_shares={
            str(name): float(share)
            for name, share, there in zip(dof_names, at_limits, with_markers, strict=True)
            if there and share > 0.0
        },
        gap_share=max((limb.gap_share for limb in limbs), default=1.0),
        blind_share=float((seen.sum(axis=1) < 3).mean()),
        missing_share=float(1.0 - seen[:, ever_seen].mean()) if ever_seen.any() else 1.0,
        not_converged_share=float((~track.converged[frames]).mean()),
        poor_share=_share_of(track, frames, "poor-fit"),
        jump_share=float(track.jumps[frames].mean()),
        swaps=swaps,
        swap_share=max((measure_swap(swap, len(track)) for swap in swaps), default=0.0),
        up=None if context is None else context.up,
        doubtful=tuple(use.name for use in uses if use.marker and use.confidence < SURE_CONFIDENCE),
        guessed=tuple(use.name for use in uses if use.marker and use.code == GEOMETRY),
        deviations=find_deviations(skeleton, instrumented) if is_fitted else (),
        place_differences=find_place_differences(skeleton, uses, names) if is_fitted else (),
        settled=None if context is None else context.settled,
        is_fitted=is_fitted,
        marker_set=None if context is None else context.marker_set,
        set_size=0 if context is None else context.set_size,
        set_missing=() if context is None else context.set_missing,
    )


def _list_uses(track: Track) -> tuple[MarkerUse, ...]:
    """Return what became of the markers of a track that was made without a context."""
    from exactik.tracking import match_markers

    matched = match_markers(track.skeleton, track.markers)
    seen_shares = dict(
        zip(track.markers.names, 1.0 - track.markers.missing.mean(axis=0), strict=True)
    )
    uses = []
    for name in track.markers.names:
        marker = matched.get(name)
        code = "same-name" if marker is not None else "unknown-name"
        bone = None if marker is None else track.skeleton.marker(marker)[0]
        uses.append(
            MarkerUse(
                name=name,
                marker=marker,
                bone=bone,
                code="never-seen" if seen_shares[name] == 0.0 else code,
                confidence=1.0 if marker is not None else 0.0,
                seen_share=seen_shares[name],
            )
        )
    return tuple(uses)


def _find_ignored(track: Track) -> BoolArray:
    """Return which samples nothing goes by, (T, M): of no weight, or left out by a robust loss."""
    ignored = ~np.isfinite(track.errors_that_count)
    if track.marker_weights is not None:
        ignored |= track.marker_weights < track.options.assessment.ignored_weight
    return ignored


def find_span(seen: BoolArray) -> tuple[int, int]:
    """Return the first and the last frame that have three markers or more; all if none has."""
    there = np.flatnonzero(seen.sum(axis=1) >= 3)
    return (int(there[0]), int(there[-1])) if len(there) > 0 else (0, len(seen) - 1)


def _share_of(track: Track, frames: slice, kind: str) -> float:
    """Return the share of the frames in segments of a kind of attention."""
    segments = [(found.first, found.last) for found in track.attention if found.kind == kind]
    return float(mark_segments(len(track), segments)[frames].mean())


def measure_swap(swap: Swap, frames: int) -> float:
    """Return the share of the frames of a recording in which two markers are exchanged.

    After a single exchange the names before it or those after it may be wrong: the fewer.
    """
    count = swap.last - swap.first + 1
    return (count if swap.last < frames - 1 else min(count, swap.first)) / frames


def count_poses(track: Track, span: slice, names: Sequence[str], stature: float) -> int:
    """Return how many poses of a recording differ, up to `MAX_POSES`.

    By the distances between the markers on the figure, so that neither a figure that is carried
    about nor joints that nothing determines count. The first frame counts; each next one if these
    distances differ by `POSE_STEP` or more, rms, from those of all that count.
    """
    skeleton, q = track.skeleton, np.asarray(track.motion.q)[span]
    frames = choose_even_frames(len(q), POSE_FRAMES)
    order = list(skeleton.markers)
    columns = [order.index(name) for name in names]
    places = skeleton.forward(q[frames]).markers[:, columns]
    first, second = np.triu_indices(len(columns), k=1)
    if len(first) == 0:
        return 1
    distances = np.linalg.norm(places[:, first] - places[:, second], axis=2)
    different = distances[:1]
    for shape in distances[1:]:
        change = np.sqrt(np.mean((different - shape) ** 2, axis=1))
        if (change >= POSE_STEP * stature).all():
            different = np.concatenate([different, shape[None]])
            if len(different) == MAX_POSES:
                break
    return len(different)


def measure_redundancy(coordinates: float, dofs: int, poses: int, parameters: int) -> float:
    """Return the share of measured coordinates that are more than what is fitted to them.

    Args:
        coordinates: of markers in a frame, on average.
        dofs: that are fitted to each frame.
        poses: that differ; equal ones tell nothing new of the parameters.
        parameters: that are fitted to all frames together.
    """
    if coordinates <= 0.0:
        return -1.0
    return float(1.0 - (dofs + parameters / poses) / coordinates)
