"""What the markers of a recording are, without solving it, or by a motion of the same take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exactik._text import join_names
from exactik.anatomy.marker_sets import strip_prefix
from exactik.errors import FileError
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion, choose_even_frames, heading_axes
from exactik.recordings.calibration import (
    HandMapping,
    MarkerBone,
    MarkerMapping,
    attach_markers,
    find_marker_bones,
    measure_distances,
    propose_mapping,
)
from exactik.recordings.pipeline._prepare import shows_joints
from exactik.recordings.pipeline._subjects import choose_subjects
from exactik.recordings.pipeline._units import correct_unit
from exactik.recordings.pipeline._up_axis import align_up_axis, find_upright

ATTACH_FRAMES = 300
"""At which to see on which bone a marker is: 2.5 s at 120 Hz, or as many spread over more."""
MAX_SPREAD = 0.15
"""[m] that a marker spreads on its bone; with more it is on none. Skin moves by 0.03 m, the next
bone by more than this in any motion that is worth a take."""
MAX_LISTED_NAMES = 6


@dataclass(frozen=True, kw_only=True)
class MatchedRecording:
    """What the markers of one subject are."""

    subject: str  # name, "" if the recording has one subject
    mapping: MarkerMapping  # what each marker is taken for
    # Recorded name → how far it is from where the figure of the subject's size has it, or from the
    # nearest bone if it is not used [m]; empty if too few markers are known
    distances: Mapping[str, float]
    left_out: Mapping[str, str]  # name → code, of markers of the file that are on no subject
    notes: tuple[str, ...]  # what was assumed and done, a sentence each


def match_recording(
    markers: Markers,
    skeleton: Skeleton,
    *,
    skeleton_up: str | None = "z",
    mapping: HandMapping | None = None,
    computed: bool = False,
    subject: str | None = None,
    is_up_given: bool = False,
) -> list[MatchedRecording]:
    """Return what the markers of each subject are, as `solve_recording` would take them.

    Args:
        markers: the recording, in axes and under names of the file.
        skeleton_up: which axis is up for it; None if nobody knows.
        mapping: what recorded markers are, by hand, see `propose_mapping`.
        computed: whether to use points that software computed from markers.
        subject: which one, "all" for each; the first if None.
        is_up_given: whether `markers.up_axis` is the user's word.
    """
    matched = []
    for part in choose_subjects(markers, subject, mapping):
        by_name = propose_mapping(
            skeleton, part.markers, mapping, geometry=False, computed=computed
        )
        figure, names = by_name.applied(), by_name.names
        sized = correct_unit(part.markers, figure, names)
        upright = find_upright(sized.markers, figure, skeleton_up, names)
        aligned = align_up_axis(sized.markers, skeleton_up, upright, is_given=is_up_given)
        turned = aligned.markers
        proposed = propose_mapping(
            skeleton, turned, mapping, geometry=shows_joints(turned), computed=computed
        )
        matched.append(
            MatchedRecording(
                subject=part.name,
                mapping=proposed,
                distances=measure_distances(proposed, turned),
                left_out=part.left_out,
                notes=(*part.notes, *sized.notes, *aligned.notes),
            )
        )
    return matched


def attach_from_take(
    motion: Motion,
    markers: Markers,
    up: str | None,
    by_hand: HandMapping | None,
    source: str,
) -> tuple[Skeleton, list[str]]:
    """Put the markers of a recording on a skeleton, by a motion of the same recording.

    Args:
        motion: of the same recording, frame by frame.
        markers: the recording, the skeleton's axis up; it may face another way.
        up: which axis is up for the skeleton.
        by_hand: what recorded markers are, see `propose_mapping`.
        source: name of the motion's file.

    Returns:
        The skeleton with the markers; what was done, a sentence each.
    """
    if len(motion) != len(markers):
        raise FileError(
            source,
            f"has {len(motion)} frames and {Path(markers.source).name} {len(markers)}; expected a "
            "motion of the same recording",
        )
    frames = choose_even_frames(len(motion), ATTACH_FRAMES)
    best: tuple[float, str, dict[str, MarkerBone]] = (np.inf, "XYZ", {})
    for axes in heading_axes(up):
        marker_bones = find_marker_bones(motion, markers.turned(axes), frames)
        spreads = [place.spread for place in marker_bones.values()]
        candidate = float(np.median(spreads or [np.inf])), axes, marker_bones
        best = min(best, candidate, key=lambda other: other[0])
    _, axes, marker_bones = best
    bones = {name: p.bone for name, p in marker_bones.items() if p.spread < MAX_SPREAD}
    for name, what in (by_hand or {}).items():
        full = next((n for n in markers.names if name in (n, strip_prefix(n))), name)
        bones.pop(full, None)
        if what is not None:
            bones[full] = what if isinstance(what, str) else what[0]
    if len(bones) == 0:
        raise FileError(source, "no marker keeps to a bone: not a motion of the same recording")
    short = {name: strip_prefix(name) for name in bones}
    if len(set(short.values())) < len(short):
        short = {name: name for name in bones}
    attached = markers.chosen(tuple(bones)).turned(axes).renamed(short)
    skeleton = attach_markers(
        motion.skeleton, attached, motion, {short[name]: bone for name, bone in bones.items()}
    )
    name = Path(source).name
    notes = [f"{len(bones)} markers were put on the skeleton where {name} has them."]
    unused = [strip_prefix(name) for name in markers.names if name not in bones]
    if len(unused) > 0:
        notes.append(f"Not put on it: {join_names(unused, MAX_LISTED_NAMES, spare=1)}.")
    return skeleton, notes
