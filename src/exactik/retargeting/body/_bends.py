"""Limbs that are never quite straight.

Where a limb is straight, which way it bends next is open, and the pose that holds hand or foot
where it should be may flip from one frame to the next. People bend knees backwards and elbows
forwards; targets of limbs are therefore kept bent that way by a few degrees at least. The price is
known: a limb bent by 8° is 0.24 % shorter than a straight one.
"""

from __future__ import annotations

import numpy as np

from exactik.typing import Array

MIN_BEND = np.radians(8.0)
"""[rad] of elbows and knees: large against the noise of recorded ones (1°), small to the eye."""
MAX_EXTENSION = float(np.cos(0.5 * MIN_BEND))
"""Of a limb, in its length: what a limb of two equal halves has at that bend, 0.9976."""
EXTENSION_ROOM = 0.02
"""Of a limb, in its length: from there to the end its extension is compressed, smoothly."""
HIP_WINDOW_S = 0.1  # [s] to either side over which hips are lowered, so that they do not twitch
MAX_LOWERING = 0.2
"""Of a leg: feet that are farther away than hips can come down for are not waited for."""


def bend_at_least(upper: Array, lower: Array, flexion: float) -> Array:
    """Return directions of a lower limb part, bent against the upper one by some degrees.

    Args:
        upper: axes of the upper part in the world, (T, 3, 3): along it, forward when it hangs or is
            held to the side, and the third.
        lower: direction of the lower part, (T, 3), unit vectors.
        flexion: +1 if it bends forward (elbows), −1 if backward (knees).

    Returns:
        Unit vectors, (T, 3); as they were where the limb is clearly bent.
    """
    least = float(np.sin(MIN_BEND))
    along, forward, side = (np.einsum("ti,ti->t", upper[:, :, k], lower) for k in range(3))
    bend = flexion * forward
    needed = np.sqrt(np.maximum(least**2 - side**2, 0.0))
    gap, softness = bend - needed, 0.3 * least
    bent = 0.5 * (bend + needed + np.sqrt(gap**2 + softness**2))
    # Bent the other way by far: that is meant, or twisted otherwise than this one knows.
    amount = np.clip((np.hypot(bend, side) / least - 1.5) / 1.5, 0.0, 1.0)
    share = (1.0 - amount**2 * (3.0 - 2.0 * amount)) * (along > 0.0)
    bend = bend + share * (bent - bend)
    rest = np.sqrt(np.maximum(1.0 - bend**2 - side**2, 0.0))
    parts = np.stack([np.where(along > 0.0, rest, along), flexion * bend, side], axis=1)
    directions = np.einsum("tij,tj->ti", upper, parts)
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def limit_extension(vectors: Array, length: float) -> Array:
    """Return vectors from shoulder to wrist [m], (T, 3), none longer than the limb can be bent.

    Args:
        vectors: [m], (T, 3).
        length: of the limb when straight [m].
    """
    share = np.linalg.norm(vectors, axis=1, keepdims=True) / length
    room = EXTENSION_ROOM - (1.0 - MAX_EXTENSION)
    over = np.maximum(share - (1.0 - EXTENSION_ROOM), 0.0)
    # Slope 1 where it begins, and MAX_EXTENSION at no end.
    shorter = 1.0 - EXTENSION_ROOM + room * np.tanh(over / room)
    return vectors * np.where(over > 0.0, shorter / np.maximum(share, 1e-12), 1.0)


def lower_hips(hips: Array, ankles: Array, leg: float, rate: float) -> Array:
    """Return by how much the body comes down [m], (T,), for both feet to be reached by bent legs.

    Args:
        hips: places of the hip joints [m], z up, (T, n, 3).
        ankles: planned places [m], (T, n, 3).
        leg: length of a leg [m].
    """
    reach = MAX_EXTENSION * leg
    away = ankles - hips
    flat = np.minimum((away[..., :2] ** 2).sum(axis=-1), reach**2)
    down = -away[..., 2] - np.sqrt(reach**2 - flat)  # that the ankle is too far down
    too_far = np.linalg.norm(away, axis=-1) > reach
    needed = np.where(too_far, np.clip(down, 0.0, MAX_LOWERING * leg), 0.0).max(axis=1)
    half = max(round(HIP_WINDOW_S * rate), 1)
    padded = np.pad(needed, 2 * half, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    highest = windows.max(axis=1)
    weights = np.hanning(2 * half + 3)[1:-1]
    return np.convolve(highest, weights / weights.sum(), mode="valid")
