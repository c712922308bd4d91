"""Read markers from C3D, the binary format of motion capture (c3d.org).

The reader is our own rather than ezc3d. That one refuses what MIPS machines wrote, files whose
parameters are slightly wrong and floats where it expects integers; counts frames from another
number than the file does; and keeps quiet where a file contradicts itself. Here each of these is
read, a file that cannot be is refused in one sentence, and memory is bounded by the size of the
file whatever its numbers claim. It takes NumPy alone.

A marker is missing where the file says so by a negative fourth word, whatever the coordinates;
where a coordinate is not a number; and, unless `zeros_are_missing` is unset, where it is exactly at
(0, 0, 0), which is how some writers put it although they call the point valid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from exactik.io._files import read_bytes
from exactik.io._notes import Notes
from exactik.io._text import make_unique
from exactik.io._units import metres_per
from exactik.io.c3d._data import Points, read_points
from exactik.io.c3d._layout import Frames, find_frames
from exactik.io.c3d._parameters import Header, Parameters, read_header, read_parameters
from exactik.motion import Markers, Series
from exactik.typing import Array

__all__ = ["read_c3d"]

# Points that are no markers, by the parameter of POINT that lists their names. The last is ours.
KINDS = {
    "ANGLES": "angle",
    "FORCES": "force",
    "MOMENTS": "moment",
    "POWERS": "power",
    "SCALARS": "scalar",
    "OTHERS": "other",
}

# By how the unit begins, as it may be cut to a few letters; "m" alone is compared as a whole.
UNITS = {
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
        path: the file.
        notes: takes what is odd about it.
        length_unit: in place of what the file says.
        rate: frames a second [Hz], in place of what the file says.
        zeros_are_missing: whether a marker exactly at (0, 0, 0) is taken for a missing one.

    Returns:
        Markers whose `metadata` has: `encoding` and `numbers` of the file; `maker` and `software`;
        `subjects`; `events`, each a name, a context such as "Left" and a time as the file has it
        [s]; `analog`, the channels that are not read and their rate [Hz]; `missing`, how many times
        a marker is for which reason; `mean_residual` [m].
    """
    data = read_bytes(path)
    header = read_header(data, notes)
    parameters = read_parameters(data, header, notes)
    frames = find_frames(data, header, parameters, notes)
    points = read_points(data, frames.layout, frames.total, header.encoding, frames.scale)
    hertz = rate if rate is not None else _rate(header, parameters, notes)
    labels = _labels(parameters, frames.layout.points, notes)
    names = make_unique(labels)
    kinds = _kinds(parameters, labels)
    own = np.array([kind is None for kind, _ in kinds], dtype=bool)
    markers = points if own.all() else points.chosen(np.flatnonzero(own))
    positions, missing = _positions(markers, zeros_are_missing, notes)
    unit, metres = _unit(parameters, positions, length_unit, notes)
    positions *= metres
    residuals = markers.residuals(frames.scale)
    metadata = _metadata(header, parameters, frames, hertz)
    metadata["missing"] = missing
    metadata["mean_residual"] = float(residuals.mean()) * metres if residuals.size > 0 else 0.0
    if len(parameters.texts("ROTATION:LABELS")) > 0:
        notes.odd("rotations of the group ROTATION are not read")
    return Markers(
        positions=positions,
        names=tuple(name for name, is_own in zip(names, own, strict=True) if is_own),
        rate=hertz,
        first_frame=frames.first,
        units_in_file=unit,
        up_axis=_up_axis(parameters, notes),
        source=path,
        others=_others(points, names, kinds),
        metadata=metadata,
        notes=notes.all,
    )


def _rate(header: Header, parameters: Parameters, notes: Notes) -> float:
    """Return frames a second, of the parameters before the first block."""
    stated = {
        "POINT:RATE": parameters.number("POINT:RATE"),
        "the header": header.rate,
        "TRIAL:CAMERA_RATE": parameters.number("TRIAL:CAMERA_RATE"),
    }
    sound = {key: r for key, r in stated.items() if r is not None and 0.0 < r < np.inf}
    if len(sound) == 0:
        raise notes.error(f"frame rate is {header.rate:g}; give the rate to read it", "byte 20")
    source, rate = next(iter(sound.items()))
    for key, other in sound.items():
        if abs(other - rate) > 1e-3 * rate:
            notes.odd(f"{source} is {rate:g} Hz, which is used; {key} says {other:g} Hz")
    analog = parameters.number("ANALOG:RATE")
    if header.analog > 0 and analog is not None and analog > 0.0:
        samples = max(header.samples, 1)
        if abs(analog - samples * rate) > 1e-3 * analog:
            notes.odd(
                f"{samples} analog samples a frame at {analog:g} Hz make {analog / samples:g} "
                f"frames a second, but the frame rate is {rate:g} Hz; one of them is wrong"
            )
    return rate


def _labels(parameters: Parameters, points: int, notes: Notes) -> list[str]:
    """Return a label for each point as the file has it, empty where it has none."""
    found = parameters.texts("POINT:LABELS")
    if len(found) > points:
        notes.odd(f"{len(found)} labels for {points} points; the first {points} are used")
    elif len(found) < points:
        notes.odd(f"{len(found)} labels for {points} points; the others get names such as '*0'")
    labels = (found + [""] * points)[:points]
    twice = sorted(label for label, n in Counter(labels).items() if n > 1 and label != "")
    if len(twice) > 0:
        shown = ", ".join(map(repr, twice[:5])) + (", …" if len(twice) > 5 else "")
        notes.odd(f"labels that come more than once get a number: {shown}")
    return labels


def _kinds(parameters: Parameters, labels: Sequence[str]) -> list[tuple[str | None, str]]:
    """Return the kind and unit of each point; the kind of a marker is None."""
    listed: dict[str, tuple[str, str]] = {}
    for group, kind in KINDS.items():
        names = parameters.texts(f"POINT:{group}")
        units = parameters.texts(f"POINT:{group[:-1]}_UNITS")
        if len(units) != len(names):  # one for all, rather than one for each
            units = (units or [""])[:1] * len(names)
        listed |= dict(zip(names, zip([kind] * len(names), units, strict=True), strict=True))
    listed.pop("", None)
    marker = (None, "")  # a list may have the names without the prefix of the subject
    return [listed.get(label, listed.get(label.rpartition(":")[2], marker)) for label in labels]


def _positions(
    points: Points, zeros_are_missing: bool, notes: Notes
) -> tuple[Array, dict[str, int]]:
    """Return coordinates that are not a number where missing, and how many are for which reason."""
    flagged, unnumbered = points.flagged, points.unnumbered & ~points.flagged
    zero = points.at_origin & ~flagged
    if zero.any():
        what = "missing" if zeros_are_missing else "valid"
        notes.odd(f"{zero.sum()} times a marker is at (0, 0, 0) and called valid; taken as {what}")
    counts = {"flagged": flagged, "not_a_number": unnumbered, "at_origin": zero}
    gone = flagged | unnumbered | (zero & zeros_are_missing)
    points.values[gone] = np.nan
    return points.values, {reason: int(where.sum()) for reason, where in counts.items()}


def _unit(
    parameters: Parameters,
    positions: Array,
    length_unit: str | float | None,
    notes: Notes,
) -> tuple[str, float]:
    """Return the name of the length unit and the metres in it."""
    if length_unit is not None and length_unit != "auto":
        metres = metres_per(length_unit)
        return length_unit if isinstance(length_unit, str) else f"{metres:g} m", metres
    units = [text.lower() for text in parameters.texts("POINT:UNITS") if text != ""]
    known = [u for text in units for start, u in UNITS.items() if text.startswith(start)]
    known += ["m" for text in units if text == "m"]
    reach = float(np.fmax.reduce(np.abs(positions).ravel(), initial=0.0))  # skips gaps
    if len(known) == 0:
        unit = "m" if 0.0 < reach < 20.0 else "mm"  # millimetres are the custom
        said = f"says {units[0]!r}" if len(units) > 0 else "is not given"
        if reach > 0.0:
            notes.assume(
                f"the length unit {said}; {unit} is assumed as coordinates reach {reach:g}"
            )
        return unit, metres_per(unit)
    if len(set(known)) > 1:
        notes.assume(f"markers have different length units; {known[0]} is taken for all of them")
    metres = metres_per(known[0])
    if reach > 0.0 and not 0.01 < reach * metres < 1000.0:
        notes.odd(f"coordinates reach {reach:g} {known[0]}; the length unit may be wrong")
    return known[0], metres


def _up_axis(parameters: Parameters, notes: Notes) -> str | None:
    """Return the axis that points up on the screen."""
    axis = parameters.text("POINT:Y_SCREEN").lower()
    if axis.startswith("-"):
        notes.odd(f"POINT:Y_SCREEN is {axis.upper()!r}: the axis points down on the screen")
    axis = axis.lstrip("+-")
    return axis if axis in ("x", "y", "z") else None


def _others(
    points: Points, names: Sequence[str], kinds: Sequence[tuple[str | None, str]]
) -> dict[str, Series]:
    """Return the points that are no markers, as the file has them."""
    found = {}
    for k, (kind, unit) in enumerate(kinds):
        if kind is not None:
            one = points.chosen([k])
            one.values[one.flagged | one.unnumbered] = np.nan
            found[names[k]] = Series(kind, one.values[:, 0], unit)
    return found


def _metadata(
    header: Header, parameters: Parameters, frames: Frames, rate: float
) -> dict[str, Any]:
    """Return what else the file says, in plain Python types."""
    samples = max(header.samples, 1)
    software = [parameters.text(f"MANUFACTURER:{k}") for k in ("SOFTWARE", "VERSION_LABEL")]
    names = [name for name in parameters.texts("SUBJECTS:NAMES") if name != ""]
    return {
        "encoding": header.encoding.name,
        "numbers": "float32" if frames.layout.floats else "int16",
        "maker": parameters.text("MANUFACTURER:COMPANY"),
        "software": " ".join(text for text in software if text != ""),
        "subjects": tuple(names),
        "events": _events(header, parameters),
        "analog": {
            "channels": frames.layout.analog // samples,
            "rate": parameters.number("ANALOG:RATE") or samples * rate,
        },
    }


def _events(header: Header, parameters: Parameters) -> tuple[tuple[str, str, float], ...]:
    """Return name, context and time [s] of each event, of the first block if of no parameter."""
    labels, contexts = (parameters.texts(f"EVENT:{key}") for key in ("LABELS", "CONTEXTS"))
    times = parameters.numbers("EVENT:TIMES")  # minutes and seconds of each
    count = min(len(labels), len(times) // 2, parameters.count("EVENT:USED") or 0)
    contexts += [""] * count
    found = [(labels[k], contexts[k], 60.0 * times[2 * k] + times[2 * k + 1]) for k in range(count)]
    if len(found) == 0:
        found = [(name, "", time) for name, time in header.events]
    return tuple(event for event in found if np.isfinite(event[2]))
