"""Stick figures: bones as lines, seen from afar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exactik.model import Skeleton
from exactik.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_dots", "draw_stick", "hide_axes", "seen"]


AZIMUTH = 50.0  # degrees about the vertical
TILT = 0.18  # how much of the depth is seen as height: the sine of looking down
HEAD = 0.055  # radius of the head / height of the figure


def seen(points: ArrayLike, up: int, azimuth: float = AZIMUTH) -> Array:
    """Return points (…, 3) as seen from afar, (…, 2): to the right, and up."""
    x = np.asarray(points, dtype=float)
    a, b = x[..., (up + 1) % 3], x[..., (up + 2) % 3]
    angle = np.radians(azimuth)
    right, depth = (
        a * np.cos(angle) + b * np.sin(angle),
        b * np.cos(angle) - a * np.sin(angle),
    )
    return np.stack([right, x[..., up] * np.sqrt(1.0 - TILT**2) + TILT * depth], axis=-1)


def draw_stick(
    axes: Axes,
    skeleton: Skeleton,
    q: ArrayLike,
    up: int,
    color: str,
    *,
    shift: float = 0.0,
    azimuth: float = AZIMUTH,
    width: float = 2.0,
    alpha: float = 1.0,
) -> None:
    """Draw a pose (nq,), moved to the right by `shift`."""
    from matplotlib.patches import Circle

    places = seen(skeleton.forward(np.asarray(q)).positions, up, azimuth) + np.array([shift, 0.0])
    names = [bone.name for bone in skeleton.bones]
    look = {"color": color, "lw": width, "alpha": alpha, "solid_capstyle": "round"}
    for k, bone in enumerate(skeleton.bones):
        if bone.parent is not None:
            pair = places[[names.index(bone.parent), k]]
            axes.plot(pair[:, 0], pair[:, 1], **look)
    if "head" in names:
        radius = HEAD * float(np.ptp(skeleton.forward(skeleton.neutral()).positions[:, up]))
        x, y = places[names.index("head")]
        axes.add_patch(
            Circle((x, y + radius), radius, fill=False, color=color, lw=width, alpha=alpha)
        )


def draw_dots(
    axes: Axes,
    points: ArrayLike,
    up: int,
    color: str = "tab:orange",
    *,
    shift: float = 0.0,
    azimuth: float = AZIMUTH,
    size: float = 5.0,
) -> None:
    """Draw points (n, 3), such as goals."""
    places = seen(points, up, azimuth).reshape(-1, 2)
    axes.plot(places[:, 0] + shift, places[:, 1], "o", color=color, ms=size, mec="black", mew=0.5)


def hide_axes(axes: Axes) -> None:
    """Show lengths true to scale, and nothing but the figures."""
    axes.set_aspect("equal")
    axes.set_axis_off()
