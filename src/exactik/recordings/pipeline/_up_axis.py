"""Which way is up in a recording or a motion, as the figure in it tells.

The root of a figure is free, so that a fit does not depend on the up axis. What stands upright is
seen from the markers that are known: their heights on the figure at rest, against their places in
the recording. With heights h_i at rest and places p_i in a frame,

    u = Σ (h_i − h̄) (p_i − p̄)

points from the feet to the head, wherever the figure looks and however it holds its arms, which
are left out: markers far from the axis of the body at rest. A T-pose spreads most sideways, but its
head is above its feet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from exactik.anatomy import find_figure_up
from exactik.io import find_format, measure_space
from exactik.model import Skeleton, human
from exactik.model.motion import Markers, Motion, cyclic_axes, turn_to_up
from exactik.recordings.calibration import propose_mapping
from exactik.recordings.diagnosis import UpAxis
from exactik.recordings.pipeline._units import pair_with_rest
from exactik.typing import Array

AXIS_HALF_WIDTH = 0.18
"""[share of the skeleton's height at rest] from the vertical through the root up to which a marker
counts as of trunk, head or legs: shoulders and hips are at 0.12, elbows of a T-pose at 0.3."""
MIN_HEIGHT_RANGE = 0.25
"""[share of the height of the skeleton at rest] that known markers must span to show what is up: a
leg or a trunk does, a head or a foot does not."""
MAX_FRAMES = 200  # looked at, spread over the recording; directions are means over them
MIN_UPRIGHT = 0.8
"""Cosine of the mean direction with an axis from which that axis is up: 37°. A walking trunk leans
by 10°, a runner's by 20°; of three axes no other is then nearer than 53°."""


class Upright(NamedTuple):
    """From the feet to the head."""

    # Mean over the frames of unit vectors, (3,), world axes of the recording; short if they differ
    direction: Array
    axis: str  # "x", "y" or "z" that it is nearest to
    cosine: float  # of it with that axis; negative if the figure is upside down


class AlignedRecording(NamedTuple):
    """A recording with the skeleton's axis up."""

    markers: Markers  # turned
    up: UpAxis  # which axis it was, and who says so
    notes: list[str]  # what was turned or assumed


def align_up_axis(
    markers: Markers, skeleton_up: str | None, upright: Upright | None, *, is_given: bool = False
) -> AlignedRecording:
    """Return a recording turned so that the skeleton's axis is up in it.

    Taken from the file or the user where they say it, else from the figure: its head is above its
    feet; else as markers spread most, or as is the custom of the format.

    Args:
        skeleton_up: which axis is up for the skeleton; None if nobody knows, and nothing is turned.
        upright: how the figure stands in the recording, see `find_upright`.
        is_given: whether the recording's `up_axis` is the user's word.
    """
    custom, cosine, advice = _find_custom(markers), None, "--up says otherwise."
    if skeleton_up is None:
        text = "Which axis is up for the skeleton is not known: taken as in the recording. "
        unknown = UpAxis(axis=markers.up_axis, origin="unknown", custom=custom, cosine=None)
        return AlignedRecording(markers, unknown, [f"{text}--skeleton-up says otherwise."])
    notes: list[str] = []
    origin, up = "user" if is_given else "file", markers.up_axis
    if up is None:
        up, origin, why = _guess_up_axis(markers, upright, custom)
        if up is None:
            notes.append(
                f"Which axis is up in the recording is not known: {skeleton_up} is taken for it, "
                f"as for the skeleton. {advice}"
            )
            up = skeleton_up
        else:
            notes.append(f"{up} is taken for up in the recording, {why}. {advice}")
    if upright is not None:
        cosine = float(upright.direction["xyz".index(up)])
    turned = replace(markers, up_axis=up)
    if up != skeleton_up:
        axes = cyclic_axes(up, skeleton_up)
        notes.append(
            f"The recording has {up} up and the skeleton {skeleton_up}: the recording was turned "
            f"(--axes {axes})."
        )
        turned = turned.turned(axes)
    return AlignedRecording(
        turned, UpAxis(axis=up, origin=origin, custom=custom, cosine=cosine), notes
    )


def find_upright(
    markers: Markers, skeleton: Skeleton, skeleton_up: str | None, names: Mapping[str, str]
) -> Upright | None:
    """Return how the figure of a recording stands, from feet to head; None if it cannot be seen.

    Args:
        markers: the recording, in axes of its own.
        skeleton_up: which axis is up for it at rest.
        names: recorded name → the skeleton's.
    """
    if skeleton_up is None:
        return None
    recorded, at_rest = pair_with_rest(markers, skeleton, names, MAX_FRAMES)
    if len(at_rest) < 3:
        return None
    k = "xyz".index(skeleton_up)
    rest = skeleton.forward(skeleton.neutral())
    everything = np.concatenate([rest.positions, rest.markers])
    height = float(np.ptp(everything[:, k]))
    from_axis = np.linalg.norm(np.delete(at_rest - rest.positions[0], k, axis=1), axis=1)
    central = from_axis < AXIS_HALF_WIDTH * height
    if central.sum() < 3 or np.ptp(at_rest[central, k]) < MIN_HEIGHT_RANGE * height:
        return None
    places, heights = recorded[:, central], at_rest[central, k]
    seen = np.asarray(np.isfinite(places).all(axis=2))
    enough = seen.sum(axis=1) >= 3
    if not enough.any():
        return None
    places, seen = places[enough], seen[enough]
    count = seen.sum(axis=1)
    above = np.where(seen, heights, 0.0)
    above = np.where(seen, heights - (above.sum(axis=1) / count)[:, None], 0.0)
    slope = np.einsum("tm,tmk->tk", above, np.where(seen[..., None], places, 0.0))
    length = np.linalg.norm(slope, axis=1)
    wide = (np.abs(above).max(axis=1) > 0.5 * MIN_HEIGHT_RANGE * height) & (length > 0.0)
    if not wide.any():
        return None
    direction = np.mean(slope[wide] / length[wide, None], axis=0)
    axis = int(np.argmax(np.abs(direction)))
    return Upright(direction, "xyz"[axis], float(direction[axis]))


def find_upright_person(markers: Markers) -> Upright | None:
    """Return how a person stands in a recording, by markers that our human knows by name."""
    figure = human()
    mapping = propose_mapping(figure, markers, geometry=False)
    names = {match.recorded: match.marker for match in mapping.used if match.marker is not None}
    return find_upright(markers, figure, "z", names)


def find_motion_up(motion: Motion) -> str | None:
    """Return which axis is up in a motion; None if nothing tells.

    By what it says; by the rule of its file's format; by the shape of its figure; by the custom of
    the format.
    """
    if motion.up_axis is not None:
        return motion.up_axis
    form = find_format(motion.source) if motion.source != "" else None
    if form is not None and form.up_axis_is_fixed:
        return form.up_axis
    return find_figure_up(motion) or (None if form is None else form.up_axis)


def stand_up(motion: Motion) -> Motion:
    """Return a motion with z up, turned where `find_motion_up` finds another axis."""
    return turn_to_up(replace(motion, up_axis=find_motion_up(motion)), "z")


def _guess_up_axis(
    markers: Markers, upright: Upright | None, custom: str | None
) -> tuple[str | None, str, str]:
    """Return which axis is up in a file that does not say, who says so, and that in words."""
    if upright is not None and abs(upright.cosine) >= MIN_UPRIGHT:
        unusual = custom not in (None, upright.axis)
        custom_words = f", although {custom} is customary" if unusual else ""
        return upright.axis, "figure", f"along which the figure stands{custom_words}"
    tallest = measure_space(markers.positions)[1]
    if upright is None and tallest is not None:
        return tallest, "spread", "along which the markers spread most"
    suffix = "." + markers.source.rpartition(".")[2]
    return custom, "custom", f"as in most {suffix} files"


def _find_custom(markers: Markers) -> str | None:
    """Return the axis that is up by the custom of the file's format."""
    form = find_format(markers.source) if markers.source != "" else None
    return None if form is None or form.up_axis_of is not None else form.up_axis
