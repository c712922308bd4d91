"""Animations of glTF: curves over time, and the even frames at which to look at them.

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
from exactik.io.gltf._json import Part
from exactik.io.gltf._nodes import Forest
from exactik.motion import check_rate
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["Curve", "Frames", "even_frames", "read_curves", "sampled"]

MAX_FRAMES = 4_000_000
DEFAULT_RATE = 60.0  # [Hz]
EVEN = 0.02  # of a frame; more than files lose that give times in milliseconds
ROUNDING = 2.0**-23  # of a time: a step of single precision, in which glTF has its times

WIDTH = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}


class Curve(NamedTuple):
    """How one property of one node changes.

    Attributes:
        times: of the keys [s], (n,), increasing.
        values: at the keys, (n, width); rotations are unit quaternions wxyz.
        slopes: before and after each key [1/s], (n, 2, width), None unless cubic.
        step: whether the value stays until the next key.
        place: where it stands in the file.
    """

    times: Array
    values: Array
    slopes: Array | None
    step: bool
    place: str


class Frames(NamedTuple):
    """Even frames.

    Attributes:
        times: on the curves [s], (T,).
        rate: [Hz].
        first: number of the first one.
        tolerance: how far from a key a frame may be and still be meant to be on it [s].
        present: which frames the file has, (T,).
    """

    times: Array
    rate: float
    first: int
    tolerance: float
    present: BoolArray


def read_curves(
    document: Document, animation: Part, forest: Forest, notes: Notes
) -> dict[tuple[int, str], Curve]:
    """Return the curves of one animation by node and path: "translation", "rotation" or "scale"."""
    samplers = animation.parts("samplers")
    curves: dict[tuple[int, str], Curve] = {}
    for channel in animation.parts("channels"):
        target = channel.part("target")
        node, path = target.index("node", forest.parts), target.text("path")
        if path not in WIDTH or node is None:
            notes.odd(f"moves {path or 'nothing'!r}, which is not read", channel.place)
        elif (node, path) in curves:
            notes.damaged(f"a second curve of {path}; the first is kept", channel.place)
        else:
            sampler = samplers[channel.integer("sampler", count=len(samplers))]
            curves[node, path] = _read_curve(document, sampler, path, notes)
    return curves


def _read_curve(document: Document, sampler: Part, path: str, notes: Notes) -> Curve:
    times = document.accessor(sampler, "input", "SCALAR")[:, 0]
    values = document.accessor(sampler, "output", WIDTH[path])
    kind = sampler.text("interpolation", "LINEAR")
    if kind not in ("STEP", "LINEAR", "CUBICSPLINE"):
        raise sampler.error(
            f"is {kind[:40]!r}; expected LINEAR, STEP or CUBICSPLINE", "interpolation"
        )
    each = 3 if kind == "CUBICSPLINE" else 1
    if len(values) != each * len(times):
        text = f"has {len(values)} elements for {len(times)} keys"
        raise sampler.error(f"{text}; expected {each * len(times)}", "output")
    steps = np.diff(times)
    if (steps < 0.0).any():
        at = int(np.argmin(steps))
        text = f"key {at + 1} is at {times[at + 1]:g} s, after {times[at]:g} s"
        raise sampler.error(f"{text}; expected increasing times", "input")
    keep = np.append(steps > 0.0, True)
    if not keep.all():
        notes.damaged("keys at the same time; the last of them is kept", sampler.at("input"))
    slopes = None
    if path == "rotation":
        values = values[:, [3, 0, 1, 2]]
    if each == 3:
        triples = values.reshape(len(times), 3, -1)
        slopes, values = triples[keep][:, [0, 2]], triples[:, 1]
    values = values[keep]
    if path == "rotation":
        length = np.linalg.norm(values, axis=1, keepdims=True)
        if (length < 1e-6).any():
            at = int(np.argmin(length))
            raise sampler.error(f"key {at} is zero; expected a unit quaternion", "output")
        # The slopes belong to the values as they stand: a cubic curve is normalised at the end.
        values = values if each == 3 else values / length
    return Curve(times[keep], values, slopes, kind == "STEP", sampler.place)


def sampled(curve: Curve, frames: Frames, rows: IntArray, rotation: bool) -> Array:
    """Return a curve at some of the frames, (T, width)."""
    at = frames.times[rows]
    keys, values = curve.times, curve.values
    # A frame that is a rounding before a key is on it: on the other side of a step lies another
    # value.
    low = np.clip(np.searchsorted(keys, at + frames.tolerance, side="right") - 1, 0, None)
    high = np.minimum(low + 1, len(keys) - 1)
    distance = np.where(high > low, keys[high] - keys[low], 1.0)
    since = at - keys[low]
    u = np.clip(np.where(since <= frames.tolerance, 0.0, since / distance), 0.0, 1.0)[:, None]
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
    whole = np.sinc(angle / np.pi)
    return (
        (1.0 - u) * np.sinc((1.0 - u) * angle / np.pi) * a + u * np.sinc(u * angle / np.pi) * b
    ) / whole


def even_frames(
    curves: Iterable[Curve], animation: Part, rate: float | None, notes: Notes
) -> Frames:
    """Return the frames at which to look at curves.

    These are the keys, if they are evenly spaced (some may be left out), and all curves together
    have them; else frames at `rate`, or at 60 Hz. A rate that is given always holds.
    """
    keys = np.unique(np.concatenate([curve.times for curve in curves]))
    rounding = ROUNDING * float(np.abs(keys).max())
    keys = keys[np.append(True, np.diff(keys) > ROUNDING * np.abs(keys[1:]))]
    if rate is None:
        frames = _frames_of_writer(keys, rounding, animation) or _frames_of_keys(keys, rounding)
        if frames is not None:
            if frames.rate < 10.0:
                text = f"keys are {1.0 / frames.rate:.3g} s apart; a rate fills in the curves"
                notes.odd(text, animation.place)
            return frames
        if len(keys) > 1:
            text = f"keys are unevenly spaced; the curves are read at {DEFAULT_RATE:g} Hz"
            notes.odd(text, animation.place)
    rate = check_rate(DEFAULT_RATE if rate is None else rate)
    span = float(keys[-1] - keys[0]) * rate
    if span >= MAX_FRAMES:
        text = f"lasts {keys[-1] - keys[0]:.6g} s, {span:.3g} frames at {rate:g} Hz"
        raise animation.error(f"{text}; expected at most {MAX_FRAMES}")
    count = int(span + EVEN) + 1
    times = keys[0] + np.arange(count) / rate
    return Frames(times, rate, 1 + round(keys[0] * rate), rounding, np.ones(count, dtype=bool))


def _frames_of_keys(keys: Array, rounding: float) -> Frames | None:
    """Return frames of which every key is one, None if there are none."""
    if len(keys) < 2:
        return None
    span = float(keys[-1] - keys[0])
    for step in (span / (len(keys) - 1), float(np.median(np.diff(keys)))):
        count = round(span / step) + 1 if span / step < MAX_FRAMES else 0
        tolerance = EVEN * step + rounding
        if count < 2 or tolerance > 0.4 * step:
            continue
        rate = _plain((count - 1) / span, (count - 1), tolerance)
        grid = np.rint((keys - keys[0]) * rate)
        near = np.abs(keys - keys[0] - grid / rate) <= tolerance
        if near.all() and (np.diff(grid) > 0.0).all():
            times = keys[0] + np.arange(count) / rate
            first = 1 + round(keys[0] * rate)
            return Frames(times, rate, first, tolerance, np.ones(count, dtype=bool))
    return None


def _plain(rate: float, steps: int, tolerance: float) -> float:
    """Return the whole rate, or that of television, with which the keys agree as well."""
    for plain in (round(rate), round(rate * 1.001) / 1.001):
        if plain > 0 and abs(steps / plain - steps / rate) <= tolerance:
            return float(plain)
    return rate


def _frames_of_writer(keys: Array, rounding: float, animation: Part) -> Frames | None:
    """Return the frames that our writer has noted, if the keys are still those it wrote."""
    own = animation.own
    rate, count, first = own.get("rate"), own.get("frames"), own.get("first_frame", 1)
    if (
        not isinstance(rate, int | float)
        or not isinstance(count, int)
        or not isinstance(first, int)
    ):
        return None
    if not (0.0 < rate < 1e9 and 0 < count < MAX_FRAMES and abs(first) < 1 << 53):
        return None
    number = np.rint(keys * rate)
    tolerance = EVEN / rate + rounding
    on = (np.abs(number / rate - keys) <= tolerance).all() and (np.diff(number) > 0.0).all()
    if number[0] < 0 or number[-1] >= count or not on:
        return None
    present = np.zeros(count, dtype=bool)
    present[number.astype(int)] = True
    return Frames(np.arange(count) / rate, float(rate), first, tolerance, present)
