"""Read markers from C3D.

A marker is missing where the file says so by a negative status word, whatever the coordinates;
where a coordinate is not a number; and, unless `zeros_are_missing` is unset, where it is exactly at
(0, 0, 0), which is how some writers put it although they call the point valid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from exactik._text import join_names
from exactik.errors import Advice
from exactik.io._files import make_unique, read_bytes
from exactik.io._notes import Notes
from exactik.io._units import metres_per
from exactik.io.c3d._analog import read_analog
from exactik.io.c3d._force_plates import read_force_plates
from exactik.io.c3d._frames import FrameRange, Points, find_frames, read_points
from exactik.io.c3d._parameters import C3dHeader, Parameters, read_header, read_parameters
from exactik.model.motion import Markers, Series
from exactik.typing import Array

# Points that are no markers, by the parameter of POINT that lists their names. OTHERS is written by
# exactik alone.
POINT_KINDS = {
    "ANGLES": "angle",
    "FORCES": "force",
    "MOMENTS": "moment",
    "POWERS": "power",
    "SCALARS": "scalar",
    "OTHERS": "other",
}

# Points that are places computed from markers, by the parameter of POINT that lists their names.
# Another group of TYPE_GROUPS, which pairs groups with types, is one of these if its type is a
# length.
COMPUTED_GROUPS = ("MODELED_MARKERS", "MODELLED_MARKERS", "VIRTUAL_MARKERS")
LENGTH_TYPES = ("LENGTH", "POSITION", "MARKER")

MAX_LISTED_LABELS = 5  # of those that come more than once

# Units by their first letters, as files cut them off; "m" alone is compared as a whole.
UNIT_PREFIXES = {
    "mm": "mm",
    "milli": "mm",
    "cm": "cm",
    "centi": "cm",
    "dm": "dm",
    "deci": "dm",
    "met": "m",
    "in": "in",
    "ft": "ft",
    "feet": "ft",
    "foot": "ft",
}


def read_c3d(
    path: str,
    notes: Notes,
    length_unit: str | float | None = None,
    rate: float | None = None,
    zeros_are_missing: bool = True,
) -> Markers:
    """Return the markers in a file.

    Args:
        length_unit: in place of what the file says.
        rate: frames a second [Hz], in place of what the file says.
        zeros_are_missing: whether a marker exactly at (0, 0, 0) is taken for a missing one.

    Returns:
        Markers whose `metadata` has: `encoding` and `numbers` of the file; `maker` and `software`;
        `subjects`; `events`, each a name, a context such as "Left" and a time as the file has it
        [s]; `missing`, how many times a marker is for which reason; `mean_residual` [m]. Analog
        channels and force plates are found, and read when they are asked for.
    """
    data = read_bytes(path)
    header = read_header(data, notes)
    parameters = read_parameters(data, header, notes)
    frames = find_frames(data, header, parameters, notes)
    points = read_points(data, frames.layout, frames.total, header.encoding, frames.scale)
    frame_rate = rate if rate is not None else _choose_rate(header, parameters, notes)
    labels = _read_labels(parameters, frames.layout.point_count, notes)
    names = make_unique(labels)
    kinds = _find_kinds(parameters, labels)
    computed = _find_computed(parameters, labels)
    is_marker = np.array([kind is None for kind, _ in kinds], dtype=bool)
    marker_points = points if is_marker.all() else points.select(np.flatnonzero(is_marker))
    positions, missing = _blank_missing(marker_points, zeros_are_missing, notes)
    unit, metres = _choose_unit(parameters, positions, length_unit, notes)
    positions *= metres
    residuals = marker_points.compute_residuals(frames.scale)
    metadata = _collect_metadata(header, parameters, frames)
    analog = read_analog(path, header, parameters, frames, frame_rate, notes)
    plates = read_force_plates(parameters, analog, frame_rate, metres, notes)
    metadata["missing"] = missing
    metadata["mean_residual"] = float(residuals.mean()) * metres if residuals.size > 0 else 0.0
    if len(parameters.texts("ROTATION:LABELS")) > 0:
        notes.remark("rotations of the group ROTATION are not read")
    return Markers(
        positions=positions,
        names=tuple(name for name, keep in zip(names, is_marker, strict=True) if keep),
        rate=frame_rate,
        first_frame=frames.first,
        start_time=max(frames.first - 1, 0) / frame_rate,  # events of C3D count from frame 1
        units_in_file=unit,
        up_axis=_find_up_axis(parameters, notes),
        source=path,
        others=_collect_others(points, names, kinds),
        metadata=metadata,
        notes=notes.all,
        computed=tuple(
            name for name, label in zip(names, labels, strict=True) if label in computed
        ),
        analog=analog,
        force_plates=plates,
    )


def _choose_rate(header: C3dHeader, parameters: Parameters, notes: Notes) -> float:
    """Return the frame rate [Hz]; the parameters win over the first block."""
    stated = {
        "POINT:RATE": parameters.number("POINT:RATE"),
        "the header": header.rate,
        "TRIAL:CAMERA_RATE": parameters.number("TRIAL:CAMERA_RATE"),
    }
    sound = {key: r for key, r in stated.items() if r is not None and 0.0 < r < np.inf}
    if len(sound) == 0:
        raise notes.error(
            f"frame rate is {header.rate:g}",
            "byte 20",
            code="rate-missing",
            advice=Advice("; give the ", "rate", after=" to read it"),
        )
    source, rate = next(iter(sound.items()))
    for key, other in sound.items():
        if abs(other - rate) > 1e-3 * rate:
            notes.remark(f"{source} is {rate:g} Hz, which is used; {key} says {other:g} Hz")
    analog = parameters.number("ANALOG:RATE")
    if header.analog_count > 0 and analog is not None and analog > 0.0:
        samples = max(header.samples_per_frame, 1)
        if abs(analog - samples * rate) > 1e-3 * analog:
            notes.remark(
                f"{samples} analog samples a frame at {analog:g} Hz make {analog / samples:g} "
                f"frames a second, but the frame rate is {rate:g} Hz; one of them is wrong"
            )
    return rate


def _read_labels(parameters: Parameters, points: int, notes: Notes) -> list[str]:
    """Return a label for each point as the file has it, empty where it has none."""
    labels = parameters.texts("POINT:LABELS")
    if len(labels) > points:
        notes.remark(f"{len(labels)} labels for {points} points; the first {points} are used")
    elif len(labels) < points:
        notes.remark(f"{len(labels)} labels for {points} points; the others get names such as '*0'")
    labels = (labels + [""] * points)[:points]
    repeated = sorted(label for label, n in Counter(labels).items() if n > 1 and label != "")
    if len(repeated) > 0:
        shown = join_names(list(map(repr, repeated)), MAX_LISTED_LABELS, last=", ", rest=", …")
        notes.remark(f"labels that come more than once get a number: {shown}")
    return labels


def _find_kinds(parameters: Parameters, labels: Sequence[str]) -> list[tuple[str | None, str]]:
    """Return the kind and unit of each point; the kind of a marker is None."""
    kinds: dict[str, tuple[str, str]] = {}
    for group, kind in POINT_KINDS.items():
        names = parameters.texts(f"POINT:{group}")
        units = parameters.texts(f"POINT:{group[:-1]}_UNITS")
        if len(units) != len(names):  # one for all, rather than one for each
            units = (units or [""])[:1] * len(names)
        kinds |= dict(zip(names, zip([kind] * len(names), units, strict=True), strict=True))
    kinds.pop("", None)
    marker = (None, "")
    # The parameter may list names without the prefix of the subject.
    return [kinds.get(label, kinds.get(label.rpartition(":")[2], marker)) for label in labels]


def _find_computed(parameters: Parameters, labels: Sequence[str]) -> set[str]:
    """Return the labels that the file lists as places computed from markers."""
    pairs = parameters.texts("POINT:TYPE_GROUPS")
    of_lengths = [
        group
        for group, kind in zip(pairs[::2], pairs[1::2], strict=False)
        if kind in LENGTH_TYPES and group not in POINT_KINDS
    ]
    listed = {
        name
        for group in (*COMPUTED_GROUPS, *of_lengths)
        for name in parameters.texts(f"POINT:{group}")
        if name != ""
    }
    return {label for label in labels if label in listed or label.rpartition(":")[2] in listed}


def _blank_missing(
    points: Points, zeros_are_missing: bool, notes: Notes
) -> tuple[Array, dict[str, int]]:
    """Set missing coordinates to NaN; return them, and how many are missing for which reason."""
    is_flagged = points.is_flagged
    is_not_finite = points.is_not_finite & ~is_flagged
    is_at_origin = points.is_at_origin & ~is_flagged
    if is_at_origin.any():
        what = "missing" if zeros_are_missing else "valid"
        notes.remark(
            f"{is_at_origin.sum()} times a marker is at (0, 0, 0) and called valid; taken as {what}"
        )
    points.values[is_flagged | is_not_finite | (is_at_origin & zeros_are_missing)] = np.nan
    return points.values, {
        "flagged": int(is_flagged.sum()),
        "not_a_number": int(is_not_finite.sum()),
        "at_origin": int(is_at_origin.sum()),
    }


def _choose_unit(
    parameters: Parameters,
    positions: Array,
    length_unit: str | float | None,
    notes: Notes,
) -> tuple[str, float]:
    """Return the name of the length unit and the metres in it."""
    if length_unit is not None and length_unit != "auto":
        metres = metres_per(length_unit)
        return length_unit if isinstance(length_unit, str) else f"{metres:g} m", metres
    stated = [name.lower() for name in parameters.texts("POINT:UNITS") if name != ""]
    known = [
        unit for name in stated for prefix, unit in UNIT_PREFIXES.items() if name.startswith(prefix)
    ]
    known += ["m" for name in stated if name == "m"]
    reach = float(np.fmax.reduce(np.abs(positions).ravel(), initial=0.0))  # skips gaps
    if len(known) == 0:
        unit = "m" if 0.0 < reach < 20.0 else "mm"  # millimetres are the custom
        what = f"says {stated[0]!r}" if len(stated) > 0 else "is not given"
        if reach > 0.0:
            notes.assume(
                f"the length unit {what}; {unit} is assumed as coordinates reach {reach:g}"
            )
        return unit, metres_per(unit)
    if len(set(known)) > 1:
        notes.assume(f"markers have different length units; {known[0]} is taken for all of them")
    metres = metres_per(known[0])
    if reach > 0.0 and not 0.01 < reach * metres < 1000.0:
        notes.remark(f"coordinates reach {reach:g} {known[0]}; the length unit may be wrong")
    return known[0], metres


def _find_up_axis(parameters: Parameters, notes: Notes) -> str | None:
    """Return the axis that points up on the screen."""
    axis = parameters.text("POINT:Y_SCREEN").lower()
    if axis.startswith("-"):
        notes.remark(f"POINT:Y_SCREEN is {axis.upper()!r}: the axis points down on the screen")
    axis = axis.lstrip("+-")
    return axis if axis in ("x", "y", "z") else None


def _collect_others(
    points: Points, names: Sequence[str], kinds: Sequence[tuple[str | None, str]]
) -> dict[str, Series]:
    """Return the points that are no markers, as the file has them."""
    others = {}
    for k, (kind, unit) in enumerate(kinds):
        if kind is not None:
            point = points.select([k])
            point.values[point.is_flagged | point.is_not_finite] = np.nan
            others[names[k]] = Series(kind, point.values[:, 0], unit)
    return others


def _collect_metadata(
    header: C3dHeader, parameters: Parameters, frames: FrameRange
) -> dict[str, Any]:
    """Return what else the file says, in plain Python types."""
    software = [parameters.text(f"MANUFACTURER:{k}") for k in ("SOFTWARE", "VERSION_LABEL")]
    names = [name for name in parameters.texts("SUBJECTS:NAMES") if name != ""]
    return {
        "encoding": header.encoding.name,
        "numbers": "float32" if frames.layout.is_float else "int16",
        "maker": parameters.text("MANUFACTURER:COMPANY"),
        "software": " ".join(text for text in software if text != ""),
        "subjects": tuple(names),
        "events": _collect_events(header, parameters),
    }


def _collect_events(
    header: C3dHeader, parameters: Parameters
) -> tuple[tuple[str, str, float], ...]:
    """Return name, context and time [s] of each event, from the parameters or the first block."""
    labels, contexts = (parameters.texts(f"EVENT:{key}") for key in ("LABELS", "CONTEXTS"))
    times = parameters.numbers("EVENT:TIMES")  # minutes and seconds of each
    count = min(len(labels), len(times) // 2, parameters.count("EVENT:USED") or 0)
    contexts += [""] * count
    events = [
        (labels[k], contexts[k], 60.0 * times[2 * k] + times[2 * k + 1]) for k in range(count)
    ]
    if len(events) == 0:
        events = [(name, "", time) for name, time in header.events]
    return tuple(event for event in events if np.isfinite(event[2]))
