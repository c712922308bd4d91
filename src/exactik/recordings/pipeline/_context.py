"""What was decided on the way from a file to a track, as plain data for the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from exactik.anatomy import find_limbs
from exactik.anatomy.marker_sets import recognise_marker_set
from exactik.model import human
from exactik.model.motion import Markers
from exactik.recordings.diagnosis import MarkerUse, RecordingContext, UpAxis
from exactik.recordings.pipeline._prepare import PreparedSkeleton
from exactik.recordings.pipeline._subjects import SubjectMarkers
from exactik.recordings.pipeline._units import SizedRecording
from exactik.recordings.tracking import match_markers


def make_context(
    subject: SubjectMarkers,
    prepared: PreparedSkeleton,
    up: UpAxis,
    sized: SizedRecording,
    handedness: float | None,
    is_fitted_here: bool,
) -> RecordingContext:
    """Return the context of a subject's track.

    Args:
        subject: the markers of it, and those left out of the file.
        prepared: the skeleton that follows them.
        up: which axis is up.
        sized: what became of the unit.
        handedness: of the markers, see `measure_handedness`.
        is_fitted_here: whether the skeleton was fitted to this recording and not to another.
    """
    calibration = prepared.calibration
    uses = _list_uses(subject.markers, prepared, subject.left_out)
    return RecordingContext(
        uses=uses,
        subject=subject.name,
        subjects=subject.subjects,
        up=up,
        size=sized.size,
        handedness=handedness,
        label_doubt=subject.label_doubt,
        unit_factor=sized.factor,
        is_fitted=calibration is not None,
        scales={} if calibration is None else dict(calibration.scales),
        scale_sds={} if calibration is None else dict(calibration.scale_sds),
        settled=None if calibration is None else calibration.settled,
        parameters=len(calibration.fit.solution.theta) if calibration and is_fitted_here else 0,
        **_compare_with_set([use.name for use in uses if use.marker is not None]),
    )


def _compare_with_set(names: Sequence[str]) -> dict[str, Any]:
    """Return what the recognised marker set has on the parts of the body that it is on.

    Legs without arms are no incomplete set: what counts is what is missing among what is there.
    """
    match = recognise_marker_set(names)
    if match is None:
        return {}
    part_of = {bone: part[0] for part in find_limbs(human()) for bone in part}
    landmarks = match.marker_set.landmarks
    there = {landmarks[name].id for name in match.names.values() if name in landmarks}
    all_landmarks = {landmark.id: landmark for landmark in landmarks.values()}
    parts = {part_of.get(all_landmarks[landmark].bone) for landmark in there}
    expected = {n for n, landmark in all_landmarks.items() if part_of.get(landmark.bone) in parts}
    return {
        "marker_set": match.marker_set.title,
        "set_size": len(expected),
        "set_missing": tuple(all_landmarks[n].text for n in sorted(expected - there)),
    }


def _list_uses(
    markers: Markers, prepared: PreparedSkeleton, left_out: Mapping[str, str]
) -> tuple[MarkerUse, ...]:
    """Return what became of each marker of the file."""
    used = match_markers(prepared.skeleton, prepared.rename_markers(markers))
    matches = {} if prepared.mapping is None else {m.recorded: m for m in prepared.mapping}
    shares = 1.0 - markers.missing.mean(axis=0)
    seen_shares = dict(zip(markers.names, shares.tolist(), strict=True))
    uses = []
    for name in markers.names:
        marker = used.get(prepared.names.get(name, name))
        bone = None if marker is None else prepared.skeleton.marker(marker)[0]
        match = matches.get(name)
        if match is None:
            code, confidence = ("unknown-name", 0.0) if marker is None else ("same-name", 1.0)
        else:
            code, confidence = match.code, match.confidence
        uses.append(
            MarkerUse(
                name=name,
                marker=marker,
                bone=bone,
                code=code,
                confidence=confidence,
                seen_share=seen_shares[name],
                landmark="" if match is None else match.landmark,
            )
        )
    for name, code in left_out.items():
        uses.append(MarkerUse(name=name, marker=None, bone=None, code=code, confidence=1.0))
    return tuple(uses)
