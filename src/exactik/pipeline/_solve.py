"""A whole recording, all of its subjects: prepared, solved and ready to be judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from exactik._text import join_names
from exactik.calibration import HandMapping, propose_mapping
from exactik.model import Skeleton
from exactik.motion import Markers
from exactik.pipeline._context import make_context
from exactik.pipeline._handedness import measure_handedness
from exactik.pipeline._labels import label_subject
from exactik.pipeline._prepare import PreparedSkeleton, prepare_skeleton
from exactik.pipeline._subjects import SubjectMarkers, choose_subjects
from exactik.pipeline._units import correct_unit
from exactik.pipeline._up_axis import AlignedRecording, align_up_axis, find_upright
from exactik.pipeline._weights import resolve_weights
from exactik.tracking import Track, match_markers, track
from exactik.verdict import RecordingVerdict, UpAxis

__all__ = ["SolvedRecording", "solve_recording"]

Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, kw_only=True)
class SolvedRecording:
    """One subject of a recording.

    Attributes:
        subject: name, "" if the recording has one subject.
        track: the motion; its `context` says what was decided on the way.
        prepared: the skeleton, for other recordings of the subject.
        notes: what was assumed and done, a sentence each.
    """

    subject: str
    track: Track
    prepared: PreparedSkeleton
    notes: tuple[str, ...]

    @property
    def verdict(self) -> RecordingVerdict:
        """How far to trust it, see `Track.verdict`."""
        return self.track.verdict


@dataclass(frozen=True, kw_only=True)
class _Request:
    """The arguments of `solve_recording` that are the same for all subjects."""

    skeleton: Skeleton
    skeleton_up: str | None
    up_origin: str
    fit: bool
    mapping: HandMapping | None
    computed: bool
    weights: Mapping[str, float] | None
    window: tuple[float, float] | None
    progress: Progress | None
    tracking: Mapping[str, Any]


def solve_recording(
    markers: Markers,
    skeleton: Skeleton,
    *,
    skeleton_up: str | None = "z",
    up_origin: str = "file",
    fit: bool = True,
    mapping: HandMapping | None = None,
    computed: bool = False,
    prepared: Mapping[str, PreparedSkeleton] | None = None,
    subject: str | None = None,
    weights: Mapping[str, float] | None = None,
    window: tuple[float, float] | None = None,
    progress: Progress | None = None,
    **tracking: Any,
) -> list[SolvedRecording]:
    """Solve a recording as `exactik solve` does, from what was read to motions that are judged.

    Args:
        markers: the recording, in axes and under names of the file.
        skeleton: the figure, with markers; or without, and `mapping` says the bone of each.
        skeleton_up: which axis is up for it; None if nobody knows.
        up_origin: who says `markers.up_axis`: "file" or "user"; "axes" if the markers were turned
            by hand and are not to be turned again.
        fit: whether to fit size and markers of the skeleton to each subject first.
        mapping: what recorded markers are, by hand, see `propose_mapping`.
        computed: whether to use points that software computed from markers, such as joint centres.
        prepared: subject → skeleton that was prepared on another recording of the same subject, in
            place of fitting.
        subject: which one to solve, "all" for each; the first if None.
        weights: of markers, by recorded names, the skeleton's, or patterns of these.
        window: solve only from here to there, both included [s from the first frame]; what markers,
            unit and axes are is decided on the whole recording.
        progress: is called with what is being done, how much of it is done, and how much there is.
        **tracking: options of `track`.

    Returns:
        One for each subject that was asked for.
    """
    request = _Request(
        skeleton=skeleton,
        skeleton_up=skeleton_up,
        up_origin=up_origin,
        fit=fit,
        mapping=mapping,
        computed=computed,
        weights=weights,
        window=window,
        progress=progress,
        tracking=tracking,
    )
    return [
        _solve_subject(part, None if prepared is None else prepared.get(part.name), request)
        for part in choose_subjects(markers, subject, mapping)
    ]


def _solve_subject(
    subject: SubjectMarkers, known: PreparedSkeleton | None, request: _Request
) -> SolvedRecording:
    """Solve one subject of a recording, with a skeleton that is known already or made for it."""
    if known is None and request.mapping is None:
        subject = label_subject(subject, request.skeleton)
    figure, names = _name_markers(subject.markers, known, request)
    sized = correct_unit(subject.markers, figure, names)
    aligned = _align(sized.markers, figure, names, request)
    prepared = known
    if prepared is None:
        prepared = prepare_skeleton(
            request.skeleton,
            aligned.markers,
            mapping=request.mapping,
            computed=request.computed,
            fit=request.fit,
            progress=_report_as("fitting the figure", request.progress),
            limits=request.tracking.get("limits", "hard"),
            lock=request.tracking.get("lock", ()),
        )
    markers = prepared.rename_markers(aligned.markers)
    if request.window is not None:
        markers = markers.between(*request.window)
    weights = None
    if request.weights is not None:
        matched = match_markers(prepared.skeleton, markers)
        weights = resolve_weights(request.weights, tuple(matched.values()), matched)
    solved = track(
        prepared.skeleton,
        markers,
        weights=weights,
        progress=_report_as("solving", request.progress),
        **request.tracking,
    )
    context = make_context(
        subject,
        prepared,
        aligned.up,
        sized,
        measure_handedness(sized.markers, figure, names),
        is_fitted_here=known is None,
    )
    motion = replace(solved.motion, up_axis=request.skeleton_up or markers.up_axis)
    notes = [*_describe_subjects(subject), *subject.notes, *sized.notes, *aligned.notes]
    return SolvedRecording(
        subject=subject.name,
        track=replace(solved, motion=motion, context=context),
        prepared=prepared,
        notes=(*notes, *(prepared.notes if known is None else ())),
    )


def _name_markers(
    markers: Markers, known: PreparedSkeleton | None, request: _Request
) -> tuple[Skeleton, dict[str, str]]:
    """Return the figure with its markers, and recorded name → its own, as far as names tell."""
    if known is not None:
        renamed = match_markers(known.skeleton, known.rename_markers(markers))
        own = {name: known.names.get(name, name) for name in markers.names}
        return known.skeleton, {n: renamed[mine] for n, mine in own.items() if mine in renamed}
    mapping = propose_mapping(
        request.skeleton, markers, request.mapping, geometry=False, computed=request.computed
    )
    return mapping.applied(), mapping.names


def _align(
    markers: Markers, figure: Skeleton, names: Mapping[str, str], request: _Request
) -> AlignedRecording:
    """Return the recording with the skeleton's axis up, unless it was turned by hand."""
    if request.up_origin == "axes":
        up = UpAxis(axis=markers.up_axis, origin="axes", custom=None, cosine=None)
        return AlignedRecording(markers, up, [])
    upright = find_upright(markers, figure, request.skeleton_up, names)
    is_given = request.up_origin == "user"
    return align_up_axis(markers, request.skeleton_up, upright, is_given=is_given)


def _describe_subjects(subject: SubjectMarkers) -> list[str]:
    if len(subject.subjects) < 2:
        return []
    others = [name for name in subject.subjects if name != subject.name]
    return [
        f"The recording has {len(subject.subjects)} subjects; this is {subject.name}, beside "
        f"{join_names(others)}. --subject says otherwise."
    ]


def _report_as(what: str, progress: Progress | None) -> Callable[[int, int], object] | None:
    if progress is None:
        return None
    return lambda done, total: progress(what, done, total)
