"""Whether a figure would fall: its centre of mass over the polygon in which it touches the floor.

What touches the floor is found by place: vertices of meshes and skins, or, of a figure without
any, origins of bones and markers. A figure at rest stands if its centre of mass is above the
convex hull of these places; how far inside is the shortest way to an edge.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from exactik.model import Pose
from exactik.studio.player.proportions import compute_reach
from exactik.typing import Array

# Of the reach: what is no higher above the floor touches it; about a centimetre for a human, since
# soles are not flat. Without meshes joints and markers do, which are some centimetres inside feet.
CONTACT_SHARE, BARE_CONTACT_SHARE = 0.01, 0.035
NO_MASSES = "balance: the figure's file states no masses"


class Balance(NamedTuple):
    """How a figure stands."""

    center: Array  # the centre of mass [m, world], (3,)
    # Corners of the polygon in which it touches the floor [m, world], (n, 2), anticlockwise; fewer
    # than three where it touches in a line or a point, or not at all
    support: Array
    # How far the centre is inside the polygon [m]; negative outside, −∞ without one, ∞ of a figure
    # whose base is fixed to the world, which needs none
    margin: float


def find_convex_hull(points: Array) -> Array:
    """Return the corners of the convex hull of points, (n, 2), anticlockwise (Andrew, 1979)."""
    ordered = np.unique(np.asarray(points, dtype=float).reshape(-1, 2), axis=0).tolist()
    if len(ordered) < 3:
        return np.array(ordered).reshape(-1, 2)
    halves = []
    for way in (ordered, ordered[::-1]):
        chain: list[list[float]] = []
        for x, y in way:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0.0:
                    break
                chain.pop()
            chain.append([x, y])
        halves.append(chain[:-1])
    return np.array(halves[0] + halves[1])


def measure_margin(polygon: Array, point: Array) -> float:
    """Return how far a point, (2,), is inside a convex polygon, (n, 2), anticlockwise [m].

    Negative outside: the distance to the polygon. −∞ for no polygon at all.
    """
    if len(polygon) == 0:
        return -np.inf
    edges = np.roll(polygon, -1, axis=0) - polygon
    lengths = np.maximum(np.linalg.norm(edges, axis=1), 1e-15)
    away = point - polygon
    along = np.clip((away * edges).sum(axis=1) / lengths**2, 0.0, 1.0)
    distance = float(np.linalg.norm(away - along[:, None] * edges, axis=1).min())
    left = (edges[:, 0] * away[:, 1] - edges[:, 1] * away[:, 0]) / lengths
    return distance if len(polygon) > 2 and left.min() >= 0.0 else -distance


def find_contacts(pose: Pose, floor: float, *, without: Collection[int] = ()) -> Array:
    """Return the places of a figure that touch the floor at a height [m], world, (n, 2).

    Args:
        without: indices of bones that do not count.
    """
    skeleton, reach = pose.skeleton, compute_reach(pose.skeleton)
    visuals = skeleton.visuals
    meshes = visuals.compute_vertices(skeleton.bone_names, pose.positions, pose.rotations)
    bones, share = visuals.find_vertex_bones(skeleton.bone_names), CONTACT_SHARE
    if sum(len(mesh) for mesh in meshes) == 0:
        of_markers = [skeleton.bone_index(bone) for bone, _ in skeleton.markers.values()]
        meshes, share = [pose.positions, pose.markers], BARE_CONTACT_SHARE
        bones = [np.arange(len(skeleton.bones)), np.array(of_markers, dtype=np.int64)]
    points = np.concatenate([np.asarray(mesh).reshape(-1, 3) for mesh in meshes])
    counts = ~np.isin(np.concatenate(bones), list(without))
    return points[(points[:, 2] <= floor + share * reach) & counts][:, :2]


def compute_balance(pose: Pose, floor: float = 0.0) -> Balance | None:
    """Return how a figure stands on a floor at a height [m]; None if its masses are not known."""
    if len(pose.skeleton.masses) == 0:
        return None
    center = pose.center_of_mass
    if not any(bone.joint.translates for bone in pose.skeleton.bones if bone.parent is None):
        return Balance(center=center, support=np.empty((0, 2)), margin=np.inf)
    support = find_convex_hull(find_contacts(pose, floor))
    return Balance(center=center, support=support, margin=measure_margin(support, center[:2]))


def describe_balance(balance: Balance | None, note: str = "") -> str:
    """Return in words how a figure stands; `note` says why its masses are not known."""
    if balance is None:
        return f"balance: masses are not known, {note}" if note != "" else NO_MASSES
    if np.isposinf(balance.margin):
        return "balance: its base is fixed to the world, so that it cannot fall"
    if len(balance.support) == 0:
        return "balance: nothing touches the floor"
    distance = f"{1e3 * abs(balance.margin):.0f} mm"
    if balance.margin >= 0.0:
        return f"in balance: the centre of mass is {distance} inside the support"
    return f"out of balance: the centre of mass is {distance} outside the support"
