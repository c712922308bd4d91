"""A still picture of a scene, as SVG: what is seen without scripts, in print and in notebooks.

Seen from afar, so that parallels stay parallel, the farthest drawn first. Limbs are strokes with
round ends; a skin is a few thousand triangles of one colour each.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import NamedTuple

import numpy as np

from exactik._text import make_writable
from exactik.model import Pose
from exactik.model.visuals import compute_normals
from exactik.studio.player.plates import ShownPlate
from exactik.studio.player.scene import PlayerScene
from exactik.studio.player.shapes import make_limbs, make_spheres, place_spheres
from exactik.studio.player.surface import (
    Part,
    make_skin_parts,
    make_stick_part,
    place_part,
    simplify_part,
)
from exactik.typing import Array

AZIMUTH, ELEVATION = -0.9, 0.2  # [rad] from which the player looks at first, against the heading
MARGIN_SHARE = 0.06  # of the picture's width, on each side
MARKER_PX, RING_PX = 2.6, 3.6  # radius of a measured marker, and of the figure's
NEAR_COLOUR, FAR_COLOUR = np.array([112.0, 126.0, 148.0]), np.array([164.0, 174.0, 190.0])
MODEL_COLOUR, MEASURED_COLOUR, ERROR_COLOUR = "#008c66", "#5a6472", "#c72985"
PLATE_COLOUR, FORCE_COLOUR = "#80889a", "#b01e3c"
MAX_STILL_VERTICES = 1600  # of a skin: about as many triangles are seen, 55 bytes each
AMBIENT_LIGHT, SUN_LIGHT = 0.42, 0.75  # from everywhere, and from above the reader
MIN_ERROR_PX = 0.4  # [px] shorter lines between the two are not drawn


Projection = Callable[[Array], Array]


class _Shape(NamedTuple):
    """Something to draw, and how far towards the reader it is [m]."""

    depth: float
    svg: str


def render_still(
    scene: PlayerScene, *, width: int = 480, height: int = 408, with_skin: bool = False
) -> str:
    """Return a picture of the scene's first frame as SVG.

    Args:
        with_skin: whether to show the look of the figure, if it has one: some 100 kB.
    """
    k = scene.index_of(scene.first)
    heading = _find_heading(scene)
    right, up, back = make_view_axes(heading + AZIMUTH, ELEVATION)
    measured, model = scene.measured[k], scene.model_markers[k]
    explained = measured if scene.pose is None else measured[scene.marker_bones >= 0]
    corners = [explained, model]
    parts = []
    if scene.pose is not None and with_skin and scene.pose.skeleton.visuals:
        parts = _place_skin(scene.pose, k)
        corners += [places for _, places in parts]
    elif scene.pose is not None:
        part = make_stick_part(scene.pose.skeleton)
        corners.append(place_part(part, scene.pose.positions[k], scene.pose.rotations[k]))
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

    if len(parts) > 0:
        shapes = _draw_skin(parts, project, back)
    elif scene.pose is not None:
        shapes = _draw_sticks(scene.pose, k, project, back, scale)
    else:
        shapes = []
    inside = [shape.svg for shape in sorted(shapes)]
    if len(parts) > 0:
        paint = 'transform="scale(.1)" fill="currentColor" stroke="currentColor" stroke-width="5"'
        inside = [f"<g {paint}>", *inside, "</g>"]
    inside = [_draw_plate(plate, project) for plate in scene.plates] + inside
    inside += [_draw_force(plate, k, project) for plate in scene.plates]
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


def make_view_axes(azimuth: float, elevation: float) -> tuple[Array, Array, Array]:
    """Return right, up and back of who looks from this direction [rad], (3,) each."""
    back = np.array(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ]
    )
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    return right, np.cross(back, right), back


def _draw_sticks(
    poses: Pose, k: int, project: Projection, back: Array, scale: float
) -> list[_Shape]:
    skeleton = poses.skeleton
    pose = Pose(skeleton, poses.positions[k], poses.rotations[k])
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


def _place_skin(pose: Pose, k: int) -> list[tuple[Part, Array]]:
    """Return the look of a figure with few vertices, and where they are [m, world]."""
    parts = make_skin_parts(pose.skeleton)
    count = sum(len(part.mesh.vertices) for part in parts)
    share = min(1.0, MAX_STILL_VERTICES / max(count, 1))
    small = [simplify_part(part, max(int(share * len(part.mesh.vertices)), 8)) for part in parts]
    return [(part, place_part(part, pose.positions[k], pose.rotations[k])) for part in small]


def _draw_skin(parts: list[tuple[Part, Array]], project: Projection, back: Array) -> list[_Shape]:
    sun = back + np.array([0.0, 0.0, 1.1])
    sun /= np.linalg.norm(sun)
    shapes = []
    for part, places in parts:
        corners = places[part.mesh.faces]
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(across, axis=1)
        # The mean of its corners' normals lights a face, so that few faces still look round.
        normals = compute_normals(places, part.mesh.faces)[part.mesh.faces].mean(axis=1)
        light = AMBIENT_LIGHT + SUN_LIGHT * np.maximum(normals @ sun, 0.0)
        linear = np.clip(part.colours[part.mesh.faces[:, 0]] * light[:, None], 0.0, 1.0)
        rgb = np.round(255.0 * linear ** (1.0 / 2.2)).astype(int)
        depths = corners.mean(axis=1) @ back
        # Tenths of a pixel, the second and third corner from the one before.
        steps = np.round(10.0 * project(corners)).astype(int)
        steps[:, 1:] = np.diff(steps, axis=1)
        for n in np.flatnonzero((across @ back > 0.0) & (length > 0.0)):
            (x, y), (a, b), (c, d) = steps[n].tolist()
            colour = "#{:02x}{:02x}{:02x}".format(*rgb[n])
            svg = f'<path color="{colour}" d="M{x} {y}l{a} {b} {c} {d}z"/>'
            shapes.append(_Shape(float(depths[n]), svg))
    return shapes


def _shade(depths: Array) -> list[str]:
    span = max(float(np.ptp(depths)), 1e-9)
    share = ((depths - depths.min()) / span)[:, None]
    rgb = np.round(FAR_COLOUR + share * (NEAR_COLOUR - FAR_COLOUR)).astype(int)
    return [f"rgb({r},{g},{b})" for r, g, b in rgb]


def _draw_plate(plate: ShownPlate, project: Projection) -> str:
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in project(plate.corners))
    return (
        f'<polygon class="plate" points="{corners}" fill="{PLATE_COLOUR}" fill-opacity=".2" '
        f'stroke="{PLATE_COLOUR}" stroke-width="1"/>'
    )


def _draw_force(plate: ShownPlate, k: int, project: Projection) -> str:
    if not np.isfinite(plate.tips[k]).all():
        return ""
    (x, y), (u, v) = project(np.stack([plate.feet[k], plate.tips[k]]))
    return (
        f'<path class="force" d="M{x:.1f},{y:.1f}L{u:.1f},{v:.1f}" stroke="{FORCE_COLOUR}" '
        'stroke-width="2.4"/>'
    )


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
    return make_writable(
        f'<svg class="still" role="img" aria-label="{escape(name)}" viewBox="0 0 {width} {height}" '
        f'fill="none" stroke-linecap="round" stroke-linejoin="round" width="{width}" '
        f'height="{height}" style="max-width:100%">{inside}</svg>'
    )
