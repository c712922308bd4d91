"""A solver made of the first frames: unit, axes and names settled, the figure fitted if asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exactik._options import to_arguments
from exactik.errors import ModelError
from exactik.model import Skeleton
from exactik.model.motion import Markers, axes_matrix, cyclic_axes
from exactik.recordings.calibration import propose_mapping
from exactik.recordings.live._frames import LiveFrame
from exactik.recordings.live._solver import LiveSolver
from exactik.recordings.pipeline import (
    RecordingOptions,
    align_up_axis,
    correct_unit,
    find_upright,
    prepare_skeleton,
    resolve_weights,
)
from exactik.recordings.tracking import PlainTrackOptions, TrackOptions, match_markers

DEFAULT_RATE = 100.0  # [Hz] where neither the source nor the times of frames tell
PREPARING = RecordingOptions(fit=False)


def collect_markers(
    frames: Sequence[LiveFrame], rate: float | None, up_axis: str | None, source: str = ""
) -> Markers:
    """Return frames as a recording, with all points that any of them names."""
    names = tuple(dict.fromkeys(name for frame in frames for name in frame.names))
    index = {name: m for m, name in enumerate(names)}
    positions = np.full((len(frames), len(names), 3), np.nan)
    for t, frame in enumerate(frames):
        positions[t, [index[name] for name in frame.names]] = frame.positions
    if not rate:
        times = np.array([frame.time or 0.0 for frame in frames])
        spans = np.diff(times)
        rate = 1.0 / float(np.median(spans)) if (spans > 0.0).any() else DEFAULT_RATE
    return Markers(positions, names, rate, up_axis=up_axis, source=source)


def prepare_live(
    frames: Sequence[LiveFrame],
    skeleton: Skeleton,
    options: RecordingOptions = PREPARING,
    *,
    skeleton_up: str | None = "z",
    rate: float | None = None,
    up_axis: str | None = None,
    lag: int = 0,
) -> tuple[LiveSolver, tuple[str, ...]]:
    """Return a solver for what the first frames show, and what was assumed, a sentence each.

    Args:
        frames: the first of a source; those of some seconds in which all joints move, if the
            figure is to be fitted to the subject (`options.fit`).
        skeleton: with markers, as for `solve_recording`.
        options: limits, locks, weights, mapping, axes, unit, fit; others have no part here.
        skeleton_up: which axis is up for it; None if nobody knows.
        rate: of the source [Hz], if it tells.
        up_axis: likewise.
        lag: see `LiveSolver`.
    """
    markers = collect_markers(frames, rate, options.up or up_axis)
    proposed = propose_mapping(skeleton, markers, options.mapping, geometry=False)
    figure, names = proposed.applied(), proposed.names
    if len(names) == 0:
        listed = ", ".join(markers.names[:6])
        raise ModelError(f"none of the markers ({listed}, …) is on the skeleton {skeleton.name!r}")
    sized = correct_unit(markers, figure, names)
    notes = list(sized.notes)
    if options.axes is not None:
        axes, aligned = options.axes, sized.markers.turned(options.axes)
    else:
        upright = find_upright(sized.markers, figure, skeleton_up, names)
        is_given = options.up is not None
        turned = align_up_axis(sized.markers, skeleton_up, upright, is_given=is_given)
        notes += turned.notes
        aligned, up = turned.markers, turned.up.axis
        is_turned = None not in (up, skeleton_up) and up != skeleton_up
        axes = cyclic_axes(str(up), str(skeleton_up)) if is_turned else "XYZ"
    prepared = prepare_skeleton(
        skeleton,
        aligned,
        mapping=options.mapping,
        computed=options.computed,
        fit=options.fit,
        limits=options.limits,
        lock=options.lock,
        threads=options.threads,
    )
    renamed = prepared.rename_markers(aligned)
    own = match_markers(prepared.skeleton, renamed)
    weights = options.weights
    if weights is not None:
        weights = resolve_weights(weights, tuple(own.values()), own)
    arguments: dict[str, Any] = to_arguments(options, PlainTrackOptions) | {"weights": weights}
    solver = LiveSolver(
        prepared.skeleton,
        TrackOptions(**arguments),
        rate=markers.rate,
        names=prepared.names,
        turn=sized.factor * axes_matrix(axes),
        lag=lag,
    )
    return solver, (*notes, *prepared.notes)
