"""Animations of glTF: curves over time, and the evenly spaced frames at which they are sampled.

Between keys i and i + 1, with u in [0, 1] the time from one to the other and d their distance:

    STEP         x = x_i
    LINEAR       x = (1 − u) x_i + u x_{i+1}; rotations on the shorter great arc at constant speed
    CUBICSPLINE  x = (2u³ − 3u² + 1) x_i + (u³ − 2u² + u) d b_i
                   + (3u² − 2u³) x_{i+1} + (u³ − u²) d a_{i+1}

where a and b are the slopes before and after a key; rotations are brought back to unit length.
Before the first key and after the last one the curve stays as it is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from exactik.io._notes import Notes
from exactik.io.gltf._document import Document
from exactik.io.gltf._json import JsonObject
from exactik.io.gltf._nodes import NodeForest
from exactik.model.motion import check_rate
from exactik.typing import Array, BoolArray, IntArray

MAX_FRAMES = 4_000_000  # nine hours at 120 Hz; two keys may claim to be any time apart
DEFAULT_RATE = 60.0  # [Hz] for keys that are unevenly spaced
MAX_KEY_OFFSET = 0.02  # [frames] from a key to its frame; times rounded to milliseconds lose less
MIN_RATE = 10.0  # [Hz] keys that are further apart are meant to be interpolated
FLOAT32_EPSILON = 2.0**-23  # of a time: a step of single precision, in which glTF has its times

ACCESSOR_TYPES = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}


class AnimationCurve(NamedTuple):
    """How one property of one node changes."""

    times: Array  # of the keys [s], (n,), increasing
    values: Array  # at the keys, (n, width); rotations are unit quaternions wxyz
    slopes: Array | None  # before and after each key [1/s], (n, 2, width), None unless cubic
    step: bool  # whether the value stays until the next key
    place: str  # where it stands in the file


class SampleTimes(NamedTuple):
    """Evenly spaced frames."""

    times: Array  # on the curves [s], (T,)
    rate: float  # [Hz]
    first: int  # number of the first frame
    tolerance: float  # how far from a key a frame may be and still be meant to be on it [s]
    present: BoolArray  # which frames the file has, (T,)


def read_curves(
    document: Document, animation: JsonObject, forest: NodeForest, notes: Notes
) -> dict[tuple[int, str], AnimationCurve]:
    """Return the curves of one animation by node and path: "translation", "rotation" or "scale"."""
    samplers = animation.objects("samplers")
    curves: dict[tuple[int, str], AnimationCurve] = {}
    for channel in animation.objects("channels"):
        target = channel.object("target")
        node, path = target.index("node", forest.nodes), target.text("path")
        if path not in ACCESSOR_TYPES or node is None:
            notes.remark(f"moves {path or 'nothing'!r}, which is not read", channel.place)
        elif (node, path) in curves:
            notes.flag_damage(f"a second curve of {path}; the first is kept", channel.place)
        else:
            sampler = samplers[channel.integer("sampler", count=len(samplers))]
            curves[node, path] = _read_curve(document, sampler, path, notes)
    return curves


def _read_curve(document: Document, sampler: JsonObject, path: str, notes: Notes) -> AnimationCurve:
    times = document.read_accessor(sampler, "input", "SCALAR")[:, 0]
    values = document.read_accessor(sampler, "output", ACCESSOR_TYPES[path])
    kind = sampler.text("interpolation", "LINEAR")
    if kind not in ("STEP", "LINEAR", "CUBICSPLINE"):
        raise sampler.error(
            f"is {kind[:40]!r}; expected LINEAR, STEP or CUBICSPLINE", "interpolation"
        )
    values_per_key = 3 if kind == "CUBICSPLINE" else 1
    if len(values) != values_per_key * len(times):
        text = f"has {len(values)} elements for {len(times)} keys"
        raise sampler.error(f"{text}; expected {values_per_key * len(times)}", "output")
    steps = np.diff(times)
    if (steps < 0.0).any():
        k = int(np.argmin(steps))
        text = f"key {k + 1} is at {times[k + 1]:g} s, after {times[k]:g} s"
        raise sampler.error(f"{text}; expected increasing times", "input")
    keep = np.append(steps > 0.0, True)
    if not keep.all():
        notes.flag_damage(
            "keys at the same time; the last of them is kept", sampler.place_of("input")
        )
    slopes = None
    if path == "rotation":
        values = values[:, [3, 0, 1, 2]]
    if values_per_key == 3:
        triples = values.reshape(len(times), 3, -1)
        slopes, values = triples[keep][:, [0, 2]], triples[:, 1]
    values = values[keep]
    if path == "rotation":
        length = np.linalg.norm(values, axis=1, keepdims=True)
        if (length < 1e-6).any():
            k = int(np.argmin(length))
            raise sampler.error(f"key {k} is zero; expected a unit quaternion", "output")
        # Slopes belong to the values as the file has them, so a cubic curve is normalised when it
        # is sampled.
        values = values if values_per_key == 3 else values / length
    return AnimationCurve(
        times=times[keep],
        values=values,
        slopes=slopes,
        step=kind == "STEP",
        place=sampler.place,
    )


def sample_curve(
    curve: AnimationCurve, frames: SampleTimes, rows: IntArray, rotation: bool
) -> Array:
    """Return a curve at some of the frames, (T, width)."""
    times = frames.times[rows]
    keys, values = curve.times, curve.values
    # A frame that is a rounding before a key is on it: before a step the value is another one.
    low = np.clip(np.searchsorted(keys, times + frames.tolerance, side="right") - 1, 0, None)
    high = np.minimum(low + 1, len(keys) - 1)
    distance = np.where(high > low, keys[high] - keys[low], 1.0)
    elapsed = times - keys[low]
    u = np.clip(np.where(elapsed <= frames.tolerance, 0.0, elapsed / distance), 0.0, 1.0)[:, None]
    if curve.step:
        return values[low]
    a, b = values[low], values[high]
    if curve.slopes is not None:
        before, after = curve.slopes[high, 0], curve.slopes[low, 1]
        d = distance[:, None]
        x = (2 * u**3 - 3 * u**2 + 1) * a + (u**3 - 2 * u**2 + u) * d * after
        x += (3 * u**2 - 2 * u**3) * b + (u**3 - u**2) * d * before
        length = np.linalg.norm(x, axis=1, keepdims=True)
        return x / np.where(length > 0.0, length, 1.0) if rotation else x
    if not rotation:
        return (1.0 - u) * a + u * b
    b = np.where((a * b).sum(axis=1, keepdims=True) < 0.0, -b, b)
    angle = 2.0 * np.arctan2(
        np.linalg.norm(b - a, axis=1, keepdims=True), np.linalg.norm(b + a, axis=1, keepdims=True)
    )
    # sin(uθ) / sin(θ) without a division by zero; θ ≤ π/2.
    sinc_angle = np.sinc(angle / np.pi)
    return (
        (1.0 - u) * np.sinc((1.0 - u) * angle / np.pi) * a + u * np.sinc(u * angle / np.pi) * b
    ) / sinc_angle


def choose_frames(
    curves: Iterable[AnimationCurve], animation: JsonObject, rate: float | None, notes: Notes
) -> SampleTimes:
    """Return the frames at which to sample curves.

    These are the keys, if those of all curves together are evenly spaced (some may be left out);
    else frames at `rate`, or at 60 Hz. A rate that is given always holds.
    """
    keys = np.unique(np.concatenate([curve.times for curve in curves]))
    rounding = FLOAT32_EPSILON * float(np.abs(keys).max())
    keys = keys[np.append(True, np.diff(keys) > FLOAT32_EPSILON * np.abs(keys[1:]))]
    if rate is None:
        frames = _restore_written_frames(keys, rounding, animation) or _fit_frames_to_keys(
            keys, rounding
        )
        if frames is not None:
            if frames.rate < MIN_RATE:
                text = f"keys are {1.0 / frames.rate:.3g} s apart; a rate fills in the curves"
                notes.remark(text, animation.place)
            return frames
        if len(keys) > 1:
            text = f"keys are unevenly spaced; the curves are read at {DEFAULT_RATE:g} Hz"
            notes.remark(text, animation.place)
    rate = check_rate(DEFAULT_RATE if rate is None else rate)
    span = float(keys[-1] - keys[0]) * rate
    if span >= MAX_FRAMES:
        text = f"lasts {keys[-1] - keys[0]:.6g} s, {span:.3g} frames at {rate:g} Hz"
        raise animation.error(f"{text}; expected at most {MAX_FRAMES}")
    return _make_frames(keys, int(span + MAX_KEY_OFFSET) + 1, rate, rounding)


def _make_frames(keys: Array, count: int, rate: float, tolerance: float) -> SampleTimes:
    """Return so many frames from the first key on, all of them there."""
    return SampleTimes(
        times=keys[0] + np.arange(count) / rate,
        rate=rate,
        first=1 + round(keys[0] * rate),
        tolerance=tolerance,
        present=np.ones(count, dtype=bool),
    )


def _fit_frames_to_keys(keys: Array, rounding: float) -> SampleTimes | None:
    """Return frames of which every key is one, None if there are none."""
    if len(keys) < 2:
        return None
    span = float(keys[-1] - keys[0])
    for step in (span / (len(keys) - 1), float(np.median(np.diff(keys)))):
        count = round(span / step) + 1 if span / step < MAX_FRAMES else 0
        tolerance = MAX_KEY_OFFSET * step + rounding
        if count < 2 or tolerance > 0.4 * step:
            continue
        rate = _round_rate((count - 1) / span, (count - 1), tolerance)
        grid = np.rint((keys - keys[0]) * rate)
        is_on_grid = np.abs(keys - keys[0] - grid / rate) <= tolerance
        if is_on_grid.all() and (np.diff(grid) > 0.0).all():
            return _make_frames(keys, count, rate, tolerance)
    return None


def _round_rate(rate: float, steps: int, tolerance: float) -> float:
    """Return the whole rate, or that of television, with which the keys agree as well."""
    for candidate in (round(rate), round(rate * 1.001) / 1.001):
        if candidate > 0 and abs(steps / candidate - steps / rate) <= tolerance:
            return float(candidate)
    return rate


def _restore_written_frames(
    keys: Array, rounding: float, animation: JsonObject
) -> SampleTimes | None:
    """Return the frames that `write_glb` noted, if the keys are still those it wrote."""
    extras = animation.exactik_extras
    rate, count, first = extras.get("rate"), extras.get("frames"), extras.get("first_frame", 1)
    if (
        not isinstance(rate, int | float)
        or not isinstance(count, int)
        or not isinstance(first, int)
    ):
        return None
    if not (0.0 < rate < 1e9 and 0 < count < MAX_FRAMES and abs(first) < 1 << 53):
        return None
    numbers = np.rint(keys * rate)
    tolerance = MAX_KEY_OFFSET / rate + rounding
    are_on_frames = (np.abs(numbers / rate - keys) <= tolerance).all()
    if numbers[0] < 0 or numbers[-1] >= count or not are_on_frames or (np.diff(numbers) <= 0).any():
        return None
    present = np.zeros(count, dtype=bool)
    present[numbers.astype(int)] = True
    return SampleTimes(
        times=np.arange(count) / rate,
        rate=float(rate),
        first=first,
        tolerance=tolerance,
        present=present,
    )
