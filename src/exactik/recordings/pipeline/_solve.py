"""A whole recording, all of its subjects: prepared, solved and ready to be judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from exactik._options import list_options, require_options, to_arguments
from exactik._text import join_names
from exactik._threads import keep_blas_on_one_thread
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.calibration import propose_mapping
from exactik.recordings.diagnosis import RecordingVerdict, UpAxis
from exactik.recordings.pipeline._context import make_context
from exactik.recordings.pipeline._files import LoadedSkeleton
from exactik.recordings.pipeline._handedness import measure_handedness
from exactik.recordings.pipeline._options import RecordingOptions, resolve_weights
from exactik.recordings.pipeline._prepare import PreparedSkeleton, prepare_skeleton
from exactik.recordings.pipeline._subjects import SubjectMarkers, choose_subjects, label_subject
from exactik.recordings.pipeline._units import correct_unit
from exactik.recordings.pipeline._up_axis import AlignedRecording, align_up_axis, find_upright
from exactik.recordings.tracking import FigureErrors, PlainTrackOptions, Track, match_markers, track

Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, kw_only=True)
class SolvedRecording:
    """One subject of a recording."""

    subject: str  # name, "" if the recording has one subject
    track: Track  # the motion; its `context` says what was decided on the way
    prepared: PreparedSkeleton  # the skeleton, for other recordings of the subject
    notes: tuple[str, ...]  # what was assumed and done, a sentence each

    @property
    def verdict(self) -> RecordingVerdict:
        """How far to trust it, see `Track.verdict`."""
        return self.track.verdict


@dataclass(frozen=True, kw_only=True)
class _Request:
    """What is the same for all subjects, see `solve_recording`."""

    skeleton: Skeleton
    skeleton_up: str | None
    up_origin: str
    window: tuple[float, float] | None
    progress: Progress | None
    options: RecordingOptions
    figure_errors: FigureErrors | None  # how far the skeleton may be wrong, if it was fitted


@keep_blas_on_one_thread()
def solve_recording(
    markers: Markers,
    skeleton: Skeleton | LoadedSkeleton,
    options: RecordingOptions | None = None,
    *,
    skeleton_up: str | None = "z",
    up_origin: str | None = None,
    prepared: Mapping[str, PreparedSkeleton] | None = None,
    subject: str | None = None,
    window: tuple[float, float] | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> list[SolvedRecording]:
    """Solve a recording as `exactik solve` does, from what was read to motions that are judged.

    Args:
        markers: the recording, in axes and under names of the file.
        skeleton: the figure, with markers; or without, and a mapping says the bone of each. As it
            was read, it brings its up axis, and how far it may be wrong if it was fitted.
        options: what is asked; those of reading and writing have no part here.
        skeleton_up: which axis is up for it; None if nobody knows.
        up_origin: who says `markers.up_axis`, see `RecordingOptions.up_origin`; by the options if
            None.
        prepared: subject → skeleton that was prepared on another recording of the same subject, in
            place of fitting.
        subject: which one to solve, "all" for each; by the options if None.
        window: solve only from here to there, both included [s from the first frame]; what markers,
            unit and axes are is decided on the whole recording.
        progress: is called with what is being done, how much of it is done, and how much there is.
        **changes: of the options, by name.

    Returns:
        One for each subject that was asked for.
    """
    require_options("solve_recording", changes, list_options(RecordingOptions))
    options = replace(options or RecordingOptions(), **changes)
    figure_errors = None
    if isinstance(skeleton, LoadedSkeleton):
        skeleton_up, figure_errors = skeleton.up, skeleton.figure_errors
        skeleton = skeleton.skeleton
    request = _Request(
        skeleton=skeleton,
        figure_errors=figure_errors,
        skeleton_up=skeleton_up,
        up_origin=up_origin or options.up_origin,
        window=window,
        progress=progress,
        options=options,
    )
    return [
        _solve_subject(part, None if prepared is None else prepared.get(part.name), request)
        for part in choose_subjects(markers, subject or options.person, options.mapping)
    ]


def _solve_subject(
    subject: SubjectMarkers, known: PreparedSkeleton | None, request: _Request
) -> SolvedRecording:
    """Solve one subject of a recording, with a skeleton that is known already or made for it."""
    options = request.options
    if known is None and options.mapping is None:
        subject = label_subject(subject, request.skeleton)
    figure, names = _name_markers(subject.markers, known, request)
    sized = correct_unit(subject.markers, figure, names)
    aligned = _align(sized.markers, figure, names, request)
    prepared = known
    if prepared is None:
        prepared = prepare_skeleton(
            request.skeleton,
            aligned.markers,
            mapping=options.mapping,
            computed=options.computed,
            fit=options.fit,
            progress=_report_as("fitting the figure", request.progress),
            limits=options.limits,
            lock=options.lock,
            threads=options.threads,
        )
    markers = prepared.rename_markers(aligned.markers)
    if request.window is not None:
        markers = markers.between(*request.window)
    weights = None
    if options.weights is not None:
        matched = match_markers(prepared.skeleton, markers)
        weights = resolve_weights(options.weights, tuple(matched.values()), matched)
    solved = track(
        prepared.skeleton,
        markers,
        weights=weights,
        progress=_report_as("solving", request.progress),
        **to_arguments(options, PlainTrackOptions),
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
    fit, errors = prepared.calibration, request.figure_errors
    if fit is not None:
        errors = fit.figure_errors
    notes = [*_describe_subjects(subject), *subject.notes, *sized.notes, *aligned.notes]
    return SolvedRecording(
        subject=subject.name,
        track=replace(solved, motion=motion, figure_errors=errors, context=context),
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
    options = request.options
    mapping = propose_mapping(
        request.skeleton, markers, options.mapping, geometry=False, computed=options.computed
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
