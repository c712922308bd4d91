"""A still picture of a scene, as SVG: what is seen without scripts, in print and in notebooks.

Seen from afar, so that parallels stay parallel. Limbs are strokes with round ends, the farthest
drawn first.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import NamedTuple

import numpy as np

from exactik.player._scene import PlayerScene
from exactik.player._shapes import make_limbs, make_spheres, place_spheres
from exactik.typing import Array

__all__ = ["render_still"]

AZIMUTH, ELEVATION = -0.9, 0.2  # [rad] from which the player looks at first, against the heading
MARGIN_SHARE = 0.06  # of the picture's width, on each side
MARKER_PX, RING_PX = 2.6, 3.6  # radius of a measured marker, and of the figure's
NEAR_COLOUR, FAR_COLOUR = np.array([112.0, 126.0, 148.0]), np.array([164.0, 174.0, 190.0])
MODEL_COLOUR, MEASURED_COLOUR, ERROR_COLOUR = "#008c66", "#5a6472", "#c72985"
MIN_ERROR_PX = 0.4  # [px] shorter lines between the two are not drawn


Projection = Callable[[Array], Array]


class _Shape(NamedTuple):
    """Something to draw, and how far towards the reader it is [m]."""

    depth: float
    svg: str


def render_still(scene: PlayerScene, *, width: int = 480, height: int = 408) -> str:
    """Return a picture of the scene's first frame as SVG.

    Args:
        scene: what is shown.
        width: [px].
        height: [px].
    """
    k = scene.index_of(scene.first)
    heading = _find_heading(scene)
    right, up, back = _make_axes(heading + AZIMUTH, ELEVATION)
    measured, model = scene.measured[k], scene.model_markers[k]
    corners = [measured, model]
    if scene.pose is not None:
        corners.append(scene.pose.positions[k])
    points = np.concatenate(corners)
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) == 0:
        return _wrap("", scene.name, width, height)
    flat = np.stack([points @ right, -points @ up], axis=1)
    low, high = flat.min(axis=0), flat.max(axis=0)
    room = (1.0 - 2.0 * MARGIN_SHARE) * np.array([width, height], dtype=float)
    scale = float((room / np.maximum(high - low, 1e-3)).min())
    centre = np.array([width, height]) / 2.0 - scale * (low + high) / 2.0

    def project(places: Array) -> Array:
        return centre + scale * np.stack([places @ right, -places @ up], axis=-1)

    shapes = _draw_figure(scene, k, project, back, scale) if scene.pose is not None else []
    inside = [shape.svg for shape in sorted(shapes)]
    inside += _draw_markers(project(measured), project(model))
    return _wrap("".join(inside), scene.name, width, height)


def _find_heading(scene: PlayerScene) -> float:
    """Return the direction in which it travels [rad], 0 if it stays."""
    places = scene.measured if scene.pose is None else scene.pose.positions
    ends = [places[0], places[-1]]
    if not all(np.isfinite(end).all(axis=1).any() for end in ends):
        return 0.0
    start, end = (place[np.isfinite(place).all(axis=1)].mean(axis=0) for place in ends)
    size = float(np.ptp(places[0][np.isfinite(places[0]).all(axis=1)], axis=0).max())
    travel = end - start
    if np.hypot(travel[0], travel[1]) < 0.5 * size:
        return 0.0
    return float(np.arctan2(travel[1], travel[0]))


def _make_axes(azimuth: float, elevation: float) -> tuple[Array, Array, Array]:
    back = np.array(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ]
    )
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    return right, np.cross(back, right), back


def _draw_figure(
    scene: PlayerScene, k: int, project: Projection, back: Array, scale: float
) -> list[_Shape]:
    assert scene.pose is not None
    skeleton = scene.pose.skeleton
    pose = type(scene.pose)(skeleton, scene.pose.positions[k], scene.pose.rotations[k])
    limbs = make_limbs(skeleton)
    spheres = make_spheres(skeleton, limbs)
    starts = pose.positions[limbs.bone]
    ways = np.einsum("nij,nj->ni", pose.rotations[limbs.bone], limbs.R_bone_limb[:, :, 2])
    ends = starts + limbs.scale[:, 2:] * ways
    depths = 0.5 * (starts + ends) @ back
    a, b = project(starts), project(ends)
    colours, widths = _shade(depths), np.maximum(1.6 * scale * limbs.scale[:, 0], 1.5)
    shapes = [
        _Shape(
            float(depths[n]),
            f'<path d="M{a[n, 0]:.1f},{a[n, 1]:.1f}L{b[n, 0]:.1f},{b[n, 1]:.1f}" '
            f'stroke="{colours[n]}" stroke-width="{widths[n]:.1f}"/>',
        )
        for n in range(len(starts))
    ]
    centres = place_spheres(spheres, pose)
    for n in np.flatnonzero(spheres.is_head):
        x, y = project(centres[n])
        radius = scale * float(spheres.radius[n])
        shapes.append(
            _Shape(
                float(centres[n] @ back),
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" stroke="none" '
                f'fill="{_shade(np.append(depths, centres[n] @ back))[-1]}"/>',
            )
        )
    return shapes


def _shade(depths: Array) -> list[str]:
    span = max(float(np.ptp(depths)), 1e-9)
    share = ((depths - depths.min()) / span)[:, None]
    rgb = np.round(FAR_COLOUR + share * (NEAR_COLOUR - FAR_COLOUR)).astype(int)
    return [f"rgb({r},{g},{b})" for r, g, b in rgb]


def _draw_markers(measured: Array, model: Array) -> list[str]:
    parts = []
    for (x, y), (u, v) in zip(measured, model, strict=True):
        seen, on_figure = bool(np.isfinite(x)), bool(np.isfinite(u))
        if on_figure:
            parts.append(
                f'<circle cx="{u:.1f}" cy="{v:.1f}" r="{RING_PX}" stroke="{MODEL_COLOUR}" '
                'stroke-width="1.2"/>'
            )
        if seen and on_figure and np.hypot(x - u, y - v) > MIN_ERROR_PX:
            parts.append(
                f'<path d="M{x:.1f},{y:.1f}L{u:.1f},{v:.1f}" stroke="{ERROR_COLOUR}" '
                'stroke-width="1.6"/>'
            )
        if seen:
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{MARKER_PX}" fill="{MEASURED_COLOUR}" '
                'stroke="none"/>'
            )
    return parts


def _wrap(inside: str, name: str, width: int, height: int) -> str:
    return (
        f'<svg class="still" role="img" aria-label="{escape(name)}" viewBox="0 0 {width} {height}" '
        f'fill="none" stroke-linecap="round" width="{width}" height="{height}">{inside}</svg>'
    )
