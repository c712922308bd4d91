"""The box around a figure: how large it is, and the floor that it stands on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.model import Pose
from exactik.studio.player.proportions import compute_reach
from exactik.typing import Array

SUNK_SHARE = 0.1  # of the size: figures that reach so far below zero do not stand there
BOX_SHARE = 0.52  # of a box's diagonal: half of it, and some room
MAX_BOX_POINTS = 4000  # of a figure's vertices, for the camera: a scan would take 0.1 s a page
# Over what a box needs: robot arms are folded at first, and stretched out twice as large or more.
MAX_ROOM = 1.5


class FigureBox(NamedTuple):
    """Where a figure is in one pose."""

    points: Array  # of it [m, world], (n, 3): all joints, some of its vertices
    middle: Array  # of the box around it [m, world], (3,)
    size: float  # of what is around it [m]
    # Height of the floor that it stands on [m]: zero, or its lowest point below that, as of robots
    # whose origin is in their hips
    floor: float


def measure_box(pose: Pose) -> FigureBox:
    """Return the box around bones, meshes and skins of a figure in one pose.

    The size is the length of the longest chain, so that there is room to move, but not less than
    the box around bones, meshes and skins needs, nor more than `MAX_ROOM` times that.
    """
    skeleton = pose.skeleton
    places = [pose.positions]
    places += skeleton.visuals.compute_vertices(skeleton.bone_names, pose.positions, pose.rotations)
    low = np.min([part.min(axis=0) for part in places if len(part) > 0], axis=0)
    high = np.max([part.max(axis=0) for part in places if len(part) > 0], axis=0)
    share = BOX_SHARE * float(np.linalg.norm(high - low))
    size = min(max(compute_reach(skeleton), share), MAX_ROOM * share)
    floor = find_floor(float(low[2]), size)
    stride = 1 + sum(len(part) for part in places) // MAX_BOX_POINTS
    points = np.concatenate([pose.positions, *(part[::stride] for part in places[1:])])
    return FigureBox(points=points, middle=0.5 * (low + high), size=size, floor=floor)


def find_floor(lowest: float, size: float) -> float:
    """Return the height of the floor [m] under something of a size [m] with its lowest point [m].

    Zero, unless it reaches far below that.
    """
    return lowest if lowest < -SUNK_SHARE * size else 0.0
