"""Markers put on a skeleton by a motion of the same recording."""

from __future__ import annotations

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
    attach_markers,
    find_marker_bones,
)

ATTACH_FRAMES = 300
"""At which to see on which bone a marker is: 2.5 s at 120 Hz, or as many spread over more."""
MAX_SPREAD = 0.15
"""[m] that a marker spreads on its bone; with more it is on none. Skin moves by 0.03 m, the next
bone by more than this in any motion that is worth a take."""
MAX_LISTED_NAMES = 6


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
