"""Animations of an FBX file: curves of single numbers, sampled at the same times for all nodes.

A curve has keys at times in units of 1/46186158000 s. After a key it stays, goes straight to the
next one, or on the cubic with the slopes that the file states at both ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.io.fbx._nodes import CHANNELS
from exactik.io.fbx._scene import Object, Scene
from exactik.typing import Array, IntArray

TICKS = 46_186_158_000  # in a second
CONSTANT, CUBIC = 2, 8  # bits of a key's flags
MAX_FRAMES = 4_000_000  # nine hours at 120 Hz; two keys may claim to be any time apart
# Numbers made of all curves together: these plus so many per byte of the file.
FREE_NUMBERS, NUMBERS_PER_BYTE = 1 << 22, 64

Moved = dict[Object, dict[str, Array]]


class Curve(NamedTuple):
    """One number over time."""

    times: Array  # of the keys [s], (n,), increasing
    values: Array  # (n,)
    kinds: IntArray  # bits of what happens after each key, (n,)
    slopes: Array  # after each key and before the next one [1/s], (n, 2)

    def sample(self, times: Array) -> Array:
        """Return the values at some times; before the first and after the last key it stays."""
        x = np.interp(times, self.times, self.values)
        after = np.searchsorted(self.times, times, side="right")
        k = np.clip(after - 1, 0, len(self.times) - 1)
        inside = (after > 0) & (after < len(self.times))
        if not (inside & ((self.kinds[k] & (CONSTANT | CUBIC)) > 0)).any():
            return x
        end = np.minimum(k + 1, len(self.times) - 1)
        d = np.where(inside, self.times[end] - self.times[k], 1.0)
        u = np.clip((times - self.times[k]) / d, 0.0, 1.0)
        a, b = self.values[k], self.values[end]
        cubic = (2 * u**3 - 3 * u**2 + 1) * a + (3 * u**2 - 2 * u**3) * b
        cubic += d * ((u**3 - 2 * u**2 + u) * self.slopes[k, 0] + (u**3 - u**2) * self.slopes[k, 1])
        x = np.where(inside & (self.kinds[k] & CUBIC > 0), cubic, x)
        return np.where(inside & (self.kinds[k] & CONSTANT > 0), a, x)


class Animation(NamedTuple):
    """An animation of the file, sampled."""

    name: str
    times: Array  # [s], (T,)
    moved: Moved  # the channels of nodes, (T, 3) each


def read_curve(curve: Object) -> Curve:
    """Return a curve of the file."""
    ticks, values = curve.array("KeyTime"), curve.array("KeyValueFloat")
    if len(ticks) != len(values) or len(ticks) == 0 or (np.diff(ticks) <= 0.0).any():
        text = f"{len(ticks)} times for {len(values)} values; expected as many, increasing"
        raise curve.scene.notes.error(text, f"{curve.place}, KeyTime")
    kinds, slopes = np.full(len(ticks), CONSTANT << 1), np.zeros((len(ticks), 2))
    if curve.record.first("KeyAttrRefCount") is not None:
        counts = curve.array("KeyAttrRefCount").astype(int)
        flags, data = curve.array("KeyAttrFlags"), curve.array("KeyAttrDataFloat", 4)
        if (
            counts.min(initial=0) < 0
            or counts.sum() != len(ticks)
            or not (len(counts) == len(flags) == len(data))
        ):
            text = f"of {counts.sum()} keys for {len(ticks)}; expected all"
            raise curve.scene.notes.error(text, f"{curve.place}, KeyAttrRefCount")
        rows = np.repeat(np.arange(len(counts)), counts)
        kinds, slopes = flags.astype(np.int64)[rows], data[rows, :2]
    return Curve(ticks / TICKS, values, kinds, slopes)


def read_animations(scene: Scene) -> list[Animation]:
    """Return the animations that move a node."""
    rate, room = scene.find_rate(), FREE_NUMBERS + NUMBERS_PER_BYTE * len(scene.file.data)
    animations = []
    for stack in scene.list_objects("AnimationStack"):
        channels: dict[tuple[Object, str], list[tuple[Curve | None, float]]] = {}
        for layer in stack.list_parts("AnimationLayer"):
            for group in layer.list_parts("AnimationCurveNode"):
                _read_group(group, channels)
        curves = [curve for axes in channels.values() for curve, _ in axes if curve is not None]
        if len(curves) == 0:
            continue
        keys = np.unique(np.concatenate([curve.times for curve in curves]))
        times = _choose_times(keys, rate, stack)
        room -= 10 * len(times) * len({node for node, _ in channels})
        if len(times) > MAX_FRAMES or room < 0:
            text = f"{len(times)} frames at {rate:g} Hz; expected fewer in a file of its size"
            raise scene.notes.error(text, stack.place)
        moved: Moved = {}
        for (node, name), axes in channels.items():
            columns = [
                np.full(len(times), usual) if curve is None else curve.sample(times)
                for curve, usual in axes
            ]
            moved.setdefault(node, {})[name] = np.stack(columns, axis=1)
        animations.append(Animation(stack.name, times, moved))
    return animations


def _read_group(
    group: Object, channels: dict[tuple[Object, str], list[tuple[Curve | None, float]]]
) -> None:
    """Read the curves of one property of a node."""
    notes = group.scene.notes
    for node, name in group.owners:
        if node.kind != "Model" or name not in CHANNELS:
            continue
        if (node, name) in channels:
            text = "moved by several layers; the first one is read"
            notes.flag_damage(text, f"{node.place}, {name}")
            continue
        rest = node.numbers(name, *(3 * (CHANNELS[name],)))
        parts = {link.role: link.other for link in group.parts}
        channels[node, name] = [
            (
                read_curve(parts[role]) if role in parts else None,
                group.number(role, float(rest[axis])),
            )
            for axis, role in enumerate(("d|X", "d|Y", "d|Z"))
        ]


def _choose_times(keys: Array, rate: float, stack: Object) -> Array:
    """Return the keys, if they are as close as frames and evenly spaced; else the frames."""
    steps = np.diff(keys)
    if len(keys) < 2:
        return keys
    span = float(keys[-1] - keys[0])
    if steps.max() < 1.02 * span / len(steps) and steps.max() < 1.02 / rate:
        return keys
    count = span * rate
    if count > MAX_FRAMES:
        text = f"lasts {span:.6g} s; expected at most {MAX_FRAMES} frames at {rate:g} Hz"
        raise stack.scene.notes.error(text, stack.place)
    return keys[0] + np.arange(int(count + 0.02) + 1) / rate
