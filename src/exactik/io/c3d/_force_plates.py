"""Force plates of a C3D file: the group FORCE_PLATFORM, and what plates of each type measure.

Corners are numbered from the one in the quadrant (+x, +y) of the plate on, then (−x, +y), (−x, −y)
and (+x, −y), with z down. In that frame channels hold the ground reaction F and, by type,

    1   Fx Fy Fz, the centre of pressure Px Py, and the free moment Tz
    2   Fx Fy Fz Mx My Mz about the origin of the sensors
    3   Fx12 Fx34 Fy14 Fy23 Fz1 Fz2 Fz3 Fz4 of four sensors at (±a, ±b)
    4   as 2, after a matrix of 6 × 6

ORIGIN is the vector o from where a plate measures to the middle of its surface, so that the moment
about the middle is M + F × o; it points up, against z, and files that have it the other way round
mean the same. Of type 3, a and b are its first two numbers. With the moment about the middle,
the centre of pressure is (−My, Mx) / Fz, and that of type 1 is made a moment: (Px, Py, 0) × F + Tz.

ZERO names the frames, the first frame being 1, in which nobody was on the plates: the mean of each
channel there is subtracted. 0 for any of the two means that there are none.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from exactik._text import count_noun
from exactik.errors import UsageError
from exactik.io._notes import Notes
from exactik.io.c3d._parameters import Parameters
from exactik.model.motion import Analog, ForcePlate, LazySamples
from exactik.typing import Array

CHANNEL_COUNTS = {1: 6, 2: 6, 3: 8, 4: 6}  # by type
GROUP = "FORCE_PLATFORM"
METRES_IN_MOMENTS = {  # by the letters of a unit, in lower case: "N.mm" and "Nmm" are the same
    f"{force}{length}": metres
    for force in ("n", "nt", "newton", "newtons")
    for length, metres in {"mm": 1e-3, "cm": 1e-2, "m": 1.0}.items()
}


class _PlateChannels(NamedTuple):
    """What makes a wrench of channels."""

    type: int  # of the plate, 1 to 4
    channels: tuple[int, ...]  # which, from 0
    origin: tuple[float, float, float]  # ORIGIN, pointing up [m], (3,)
    # Of type 4: what makes forces and moments of channels, (6, 6)
    calibration: tuple[tuple[float, ...], ...] | None
    metres: float  # in the length unit of moments and of centres of pressure
    # First sample and the one after the last of those that make the zero; None if none
    baseline: tuple[int, int] | None


def read_force_plates(
    parameters: Parameters, analog: Analog | None, rate: float, metres: float, notes: Notes
) -> tuple[ForcePlate, ...]:
    """Return the plates of a file; what they measured is computed when somebody asks for it.

    Args:
        rate: of the frames [Hz].
        metres: in the length unit of the file.
        notes: takes what is odd. Nothing about plates is a reason to refuse markers.
    """
    stated = parameters.count(f"{GROUP}:USED") or 0
    corners = _rows(parameters, "CORNERS", (4, 3)) * metres
    if stated > len(corners):
        _note(notes, f"{GROUP}:CORNERS has {len(corners)} of {count_noun(stated, 'plate')}")
    types = parameters.numbers(f"{GROUP}:TYPE")
    plates = []
    for k in range(min(stated, len(corners))):
        kind = int(types[k]) if k < len(types) and np.isfinite(types[k]) else 0
        origin = _find_origin(parameters, k, kind, metres, notes)
        count = 0 if analog is None else len(analog)
        wrench = LazySamples(partial(np.full, (count, 6), np.nan), count)
        channels = _find_channels(parameters, k, kind, analog, notes)
        if analog is not None and len(channels) > 0:
            recipe = _PlateChannels(
                type=kind,
                channels=channels,
                origin=origin,
                calibration=_find_calibration(parameters, k, notes) if kind == 4 else None,
                metres=_choose_moment_unit(analog, channels, kind, metres),
                baseline=_find_baseline(parameters, analog, rate, notes if k == 0 else None),
            )
            wrench = LazySamples(partial(_compute_wrench, analog, recipe), count)
        sample_rate = rate if analog is None else analog.rate
        try:
            plate = ForcePlate(
                wrench, type=kind, corners=corners[k], origin=origin, rate=sample_rate
            )
        except UsageError:  # its corners are on a line
            _note(notes, f"force plate {k + 1} has no area; it is left out")
        else:
            plates.append(plate)
    return tuple(plates)


# --- parameters


def _note(notes: Notes, text: str) -> None:
    notes.remark(text, code="force-plates-damaged")


def _rows(parameters: Parameters, name: str, shape: tuple[int, ...]) -> Array:
    """Return the numbers of a parameter, plate by plate, (p, *shape), first index fastest."""
    values = np.array(parameters.numbers(f"{GROUP}:{name}"), dtype=np.float64)
    size = int(np.prod(shape))
    whole = values[: len(values) // size * size].reshape(-1, *shape)
    is_finite = np.isfinite(whole).reshape(len(whole), size).all(axis=1)
    return whole if is_finite.all() else whole[: int(np.argmin(is_finite))]


def _find_origin(
    parameters: Parameters, k: int, kind: int, metres: float, notes: Notes
) -> tuple[float, float, float]:
    """Return ORIGIN, its third number pointing up [m]."""
    origins = _rows(parameters, "ORIGIN", (3,))
    if k >= len(origins):
        _note(notes, f"{GROUP}:ORIGIN has no numbers for plate {k + 1}; (0, 0, 0) is taken")
        return 0.0, 0.0, 0.0
    x, y, z = (origins[k] * metres).tolist()
    if kind == 1:
        return 0.0, 0.0, -abs(z)
    if kind == 3:  # the first two are distances
        return abs(x), abs(y), -abs(z)
    return (-x, -y, -z) if z > 0.0 else (x, y, z)


def _find_channels(
    parameters: Parameters, k: int, kind: int, analog: Analog | None, notes: Notes
) -> tuple[int, ...]:
    """Return the channels of a plate, from 0; none if it cannot be understood."""
    count = CHANNEL_COUNTS.get(kind, 0)
    if count == 0:
        _note(notes, f"force plate {k + 1} is of type {kind}; forces are read of types 1 to 4")
        return ()
    stored = parameters.by_name.get(f"{GROUP}:CHANNEL")
    numbers = parameters.numbers(f"{GROUP}:CHANNEL")
    stride = stored.shape[0] if stored is not None and len(stored.shape) > 0 else 0
    own = numbers[k * stride : k * stride + count] if stride >= count else []
    available = 0 if analog is None else len(analog.labels)
    if len(own) < count or not all(1.0 <= number <= available for number in own):
        what = f"has {len(own)} of {count} channels" if len(own) < count else "names others"
        _note(
            notes,
            f"{GROUP}:CHANNEL {what} for plate {k + 1}, of {count_noun(available, 'channel')} in "
            "the file; its forces are not known",
        )
        return ()
    return tuple(int(number) - 1 for number in own)


def _find_calibration(
    parameters: Parameters, k: int, notes: Notes
) -> tuple[tuple[float, ...], ...] | None:
    """Return the matrix of a plate; None, for no change, where there is none."""
    matrices = _rows(parameters, "CAL_MATRIX", (6, 6))
    if k >= len(matrices) or not matrices[k].any():
        _note(notes, f"{GROUP}:CAL_MATRIX has no matrix for plate {k + 1}; none is applied")
        return None
    return tuple(map(tuple, matrices[k].T.tolist()))  # the first index is that of rows


def _find_baseline(
    parameters: Parameters, analog: Analog, rate: float, notes: Notes | None
) -> tuple[int, int] | None:
    """Return the samples of ZERO: the first, and the one after the last."""
    numbers = parameters.numbers(f"{GROUP}:ZERO")[:2]
    if len(numbers) < 2 or not np.isfinite(numbers).all() or min(numbers) < 1.0:
        return None
    samples = analog.rate / rate
    first, stop = round((numbers[0] - 1.0) * samples), round(numbers[1] * samples)
    if not 0 <= first < stop <= len(analog):
        if notes is not None:
            _note(notes, f"{GROUP}:ZERO names frames that are not there; no zero is subtracted")
        return None
    return first, stop


def _choose_moment_unit(
    analog: Analog, channels: tuple[int, ...], kind: int, metres: float
) -> float:
    """Return the metres in the length of moments: by the unit of channels, else of the file.

    What a matrix makes of channels is in the unit of the file.
    """
    if kind != 2:
        return metres
    letters = "".join(c for c in analog.units[channels[3]].lower() if c.isalpha())
    return METRES_IN_MOMENTS.get(letters, metres)


# --- what plates measure


def _compute_wrench(analog: Analog, recipe: _PlateChannels) -> Array:
    """Return force [N] and moment about the middle [N m] of each sample, (m, 6), plate frame."""
    channels = analog.values[:, recipe.channels]
    if recipe.baseline is not None:
        zero = channels[slice(*recipe.baseline)].mean(axis=0)
        if recipe.type == 1:
            zero[3:5] = 0.0  # a place has no baseline
        channels = channels - zero
    if recipe.type == 1:
        return _combine_place(channels, recipe.metres)
    if recipe.type == 3:
        force, moment = _combine_sensors(channels, recipe.origin)
        origin = np.array([0.0, 0.0, recipe.origin[2]])
    else:
        if recipe.calibration is not None:
            channels = channels @ np.array(recipe.calibration).T
        force, moment = channels[:, :3], channels[:, 3:] * recipe.metres
        origin = np.array(recipe.origin)
    return np.concatenate([force, moment + np.cross(force, origin)], axis=1)


def _combine_place(channels: Array, metres: float) -> Array:
    """Return the wrench of type 1: forces, centre of pressure, free moment."""
    force, place = channels[:, :3], np.zeros((len(channels), 3))
    place[:, :2] = channels[:, 3:5] * metres
    moment = np.cross(place, force)
    moment[:, 2] += channels[:, 5] * metres
    return np.concatenate([force, moment], axis=1)


def _combine_sensors(channels: Array, origin: tuple[float, float, float]) -> tuple[Array, Array]:
    """Return force [N] and moment [N m] of type 3, about the middle of its four sensors."""
    x12, x34, y14, y23, z1, z2, z3, z4 = channels.T
    a, b, _ = origin
    force = np.stack([x12 + x34, y14 + y23, z1 + z2 + z3 + z4], axis=1)
    moment = [
        b * (z1 + z2 - z3 - z4),
        a * (z2 + z3 - z1 - z4),
        b * (x34 - x12) + a * (y14 - y23),
    ]
    return force, np.stack(moment, axis=1)
