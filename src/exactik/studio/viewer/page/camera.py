"""The camera of a page: as near as it can be with all in the part of the window that is free.

Axes of a camera: x to the right, y up, z back, towards the viewer; it is at c. A point p is seen
inside a window whose edges have the slopes r, l, t and b (right, left, top and bottom; tangents of
angles from the axis of the camera, outwards) if

    p_x − c_x ≤ r (c_z − p_z),   c_x − p_x ≤ l (c_z − p_z),   and likewise for y,

which is linear in c. With R = max(p_x + r p_z) and L = max(l p_z − p_x) over all points, the sum of
both says c_z ≥ (R + L) / (r + l): the nearest camera has the larger of that and its twin for y, and
its c_x and c_y are where as much of the window stays empty on one side as on the other. (The middle
of what is left to c_x would be elsewhere: a metre has more pixels near the camera than far away.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from exactik.model import Pose
from exactik.studio.player.proportions import compute_reach
from exactik.studio.player.scene import MAX_PLACE
from exactik.studio.player.still import make_view_axes
from exactik.typing import Array

FIELD_OF_VIEW = 0.9  # [rad] vertically: 52°. viser's own 75° stretches what is near the edges
AZIMUTH = -0.58  # [rad] from where a figure faces to the camera: from the front, to its right
ELEVATION = 0.23  # [rad] of the camera above the horizon: the floor is seen as one
# Directions to the camera: azimuth from where a figure faces, elevation [rad]. A little off the
# vertical, from above: which way is up on the page would else be open.
VIEWS = {
    "home": (AZIMUTH, ELEVATION),
    "front": (0.0, 0.05),
    "side": (-0.5 * np.pi, 0.05),
    "top": (0.0, 0.5 * np.pi - 0.02),
}
UNMOVED_SHARE = 1e-3  # of the distance: a page rounds the place of its camera; a drag is far more
LOW_WINDOW_PIXELS = 700  # in a window that is not higher, what covers it is made lower
MAX_COVERED = 0.45  # of a window: in a lower one a figure is rather half hidden than tiny
MAX_BESIDE = 0.6  # of a window's width: what is left beside more than that is a slit
MAX_AROUND = 0.15  # of a window, on each side: in a small one a gizmo is rather cut than all tiny
BISECTIONS = 40  # of a range of some figures' sizes: to far below a pixel
MARGIN = 0.06  # of the window's height or width, on each side, that stays empty


class WindowSize(NamedTuple):
    """A part of the page [pixels]."""

    width: float
    height: float


class CameraPlace(NamedTuple):
    """Where a camera is."""

    position: Array  # of it [m, world], (3,)
    look_at: Array  # what it looks at, and turns about [m, world], (3,)


TYPICAL_WINDOW = WindowSize(1050.0, 850.0)  # of the scene in a page of 1400 by 850


class _Slopes(NamedTuple):
    """Tangents of the angles from the axis of a camera to the edges of what is free."""

    right: float
    left: float
    top: float
    bottom: float


class Framing:
    """What is to be seen, and which corner of the window a panel covers.

    Attributes:
        points: that are to be seen [m, world], (n, 3).
        heading: where the figure faces, from x towards y [rad].
        covered: at the bottom left; all of the window's width if it is wider.
        covered_when_low: likewise, in a window of no more than `LOW_WINDOW_PIXELS`.
        around: room on each side of what is to be seen [pixels], besides a margin.
    """

    def __init__(
        self, points: Array, *, heading: float = 0.0, covered: WindowSize, around: float = 0.0
    ):
        """Take what is to be seen.

        Args:
            points: that are to be seen [m, world], (n, 3).
            heading: where the figure faces, from x towards y [rad].
            covered: at the bottom left.
            around: room on each side [pixels], such as for the gizmo of a hand.
        """
        near = points[(np.abs(points) <= MAX_PLACE).all(axis=1)]  # by a camera's single precision
        self.points = near if len(near) > 0 else np.zeros((1, 3))
        self.heading = heading
        self.covered = self.covered_when_low = covered
        self.around = around

    def place(self, window: WindowSize = TYPICAL_WINDOW, view: str = "home") -> CameraPlace:
        """Return the camera for a window: all is above what is covered, or all is right of it.

        Args:
            view: one of `VIEWS`.
        """
        azimuth, elevation = VIEWS[view]
        is_low = window.height <= LOW_WINDOW_PIXELS
        covered = self.covered_when_low if is_low else self.covered
        wide, high = np.divide(covered, window).tolist()
        around = min(self.around, MAX_AROUND * min(window))
        places = [
            fit_camera(
                self.points,
                (self.heading + azimuth, elevation),
                window,
                FIELD_OF_VIEW,
                left=left,
                bottom=bottom,
                around=around,
            )
            for left, bottom in ((0.0, min(high, MAX_COVERED)), (wide, 0.0))
            if left <= MAX_BESIDE
        ]
        return min(places, key=lambda one: float(np.linalg.norm(one.position - one.look_at)))

    def set_initial(self, server: Any) -> None:
        """Set the camera that pages begin with."""
        place, camera = self.place(), server.initial_camera
        camera.fov = FIELD_OF_VIEW
        camera.look_at, camera.position = place.look_at, place.position

    def aim(self, client: Any, view: str = "home") -> CameraPlace:
        """Move the camera of a page to one of `VIEWS`; return where to."""
        camera = client.camera
        place = self.place(_read_window(camera), view)
        with client.atomic():
            camera.position = place.position  # first: what it looks at moves with it
            camera.look_at = place.look_at
        return place


def keep_in_view(server: Any, find_framing: Callable[[], Framing]) -> None:
    """Let pages see all that is to be seen in their windows, until somebody moves the camera.

    The scene of a page has its size only when its panels are there; later its window is resized.
    """

    async def watch(client: Any) -> None:
        seen_in = _read_window(client.camera)
        places = [find_framing().place(), find_framing().aim(client)]

        async def check(_: Any) -> None:
            nonlocal seen_in
            window = _read_window(client.camera)
            position = np.array(client.camera.position)
            unmoved = any(
                np.linalg.norm(position - one.position)
                <= UNMOVED_SHARE * np.linalg.norm(one.position - one.look_at)
                for one in places
            )
            if window != seen_in and unmoved:
                seen_in = window
                places.append(find_framing().aim(client))

        client.camera.on_update(check)

    server.on_client_connect(watch)


def _read_window(camera: Any) -> WindowSize:
    return WindowSize(float(camera.image_width), float(camera.image_height))


def fit_camera(
    points: Array,
    direction: tuple[float, float],
    window: WindowSize,
    field_of_view: float,
    *,
    left: float = 0.0,
    bottom: float = 0.0,
    around: float = 0.0,
) -> CameraPlace:
    """Return the nearest camera that sees all points in the free part of a window.

    Args:
        points: to be seen [m, world], (n, 3).
        direction: from them to the camera: azimuth, from x towards y, and elevation [rad].
        field_of_view: from its bottom to its top [rad].
        left: share of its width, at the left, that is covered.
        bottom: share of its height, at the bottom, that is covered.
        around: room on each side of the points [pixels], besides a margin.
    """
    slope = float(np.tan(0.5 * field_of_view))
    aspect = max(window.width, 1.0) / max(window.height, 1.0)
    beside, below = (MARGIN + around / max(length, 1.0) for length in window)
    slopes = _Slopes(
        right=slope * aspect * (1.0 - 2.0 * beside),
        left=slope * aspect * (1.0 - 2.0 * (beside + left)),
        top=slope * (1.0 - 2.0 * below),
        bottom=slope * (1.0 - 2.0 * (below + bottom)),
    )
    R_camera_world = np.stack(make_view_axes(*direction))
    x, y, z = R_camera_world @ points.T
    most_right, most_left = (x + slopes.right * z).max(), (slopes.left * z - x).max()
    most_up, most_down = (y + slopes.top * z).max(), (slopes.bottom * z - y).max()
    distance = max(
        (most_right + most_left) / (slopes.right + slopes.left),
        (most_up + most_down) / (slopes.top + slopes.bottom),
        z.max() + 1e-3,  # a single point
    )
    depths = distance - z
    across = _find_middle(x, depths, slopes.right, slopes.left)
    above = _find_middle(y, depths, slopes.top, slopes.bottom)
    place = np.array([across, above, distance])
    target = np.array([across, above, 0.5 * (z.min() + z.max())])
    return CameraPlace(position=R_camera_world.T @ place, look_at=R_camera_world.T @ target)


def _find_middle(offsets: Array, depths: Array, more: float, less: float) -> float:
    """Return where a camera sees points with as much room on one side as on the other.

    Args:
        offsets: of the points, across the axis of the camera [m], (n,).
        depths: of the points, before the camera, positive [m], (n,).
        more: slope of the edge towards larger offsets.
        less: of the other edge, outwards.
    """
    low, high = float(offsets.min()), float(offsets.max())
    spread = (more + less) * float(depths.max())
    low, high = low - spread, high + spread
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        slopes = (offsets - middle) / depths
        if more - slopes.max() < less + slopes.min():
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


# --- the box around a figure: how large it is, and the floor that it stands on


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
