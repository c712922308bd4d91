"""The colours of the scene, and what to send so that they are seen.

The page takes the colours of batched meshes for amounts of light, not for what a screen shows:
amber sent as it is comes out yellow, and blue teal. `painted` turns the one into the other.

The colours remain apart for those who see few of them; text says the same in words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "BONE",
    "FREE",
    "GHOST",
    "HELD",
    "JOINT",
    "LEVELS",
    "MARKER",
    "PINNED",
    "RESIDUAL",
    "TARGET",
    "hexadecimal",
    "painted",
]

BONE, JOINT = (126, 138, 156), (74, 84, 100)
LEVELS = (BONE, (230, 159, 0), (200, 30, 30))  # fine, near a limit, at it
FREE, PINNED, HELD = (236, 238, 242), (0, 114, 178), (204, 80, 160)  # handles
MARKER, TARGET, RESIDUAL, GHOST = (0, 158, 115), (40, 40, 48), (204, 80, 160), (86, 140, 233)


def painted(colours: ArrayLike) -> NDArray[np.uint8]:
    """Return what to send, (…, 3), for colours of a screen, (…, 3), both of 0 to 255."""
    shown = np.asarray(colours, dtype=float) / 255.0
    light = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)  # sRGB
    return np.round(255.0 * light).astype(np.uint8)


def hexadecimal(colour: Sequence[int]) -> str:
    """Return a colour as pages write it, for what is not in the scene."""
    return "#" + "".join(f"{channel:02x}" for channel in colour)
