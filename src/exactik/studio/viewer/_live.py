"""A page that shows a figure and its markers as they move."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from exactik.model import Skeleton
from exactik.model.motion import axes_matrix, cyclic_axes
from exactik.recordings.live import LivePose
from exactik.spatial import wxyz_from_matrix
from exactik.studio.player.shapes import SPHERE_MESH
from exactik.studio.viewer.page.camera import (
    Framing,
    WindowSize,
    find_floor,
    keep_in_view,
    measure_box,
)
from exactik.studio.viewer.page.colours import MARKER_COLOUR, srgb_to_linear
from exactik.studio.viewer.page.scene import BOTH, FigureScene, add_instances
from exactik.studio.viewer.page.server import start_guarded_server
from exactik.studio.viewer.page.surroundings import set_up_scene
from exactik.studio.viewer.page.viewer import Viewer
from exactik.typing import Array

DRAW_SECONDS = 1.0 / 30.0  # [s] between two drawings: the one that solves needs the processor more
TEXT_DRAWINGS = 10  # drawings between two texts
MARKER_RADIUS = 0.007  # of the reach, which is that of the longest chain
ROOM = 1.0  # [m] around the figure at first, in which people move


class LiveViewer(Viewer):
    """Where the poses of a session go: the last is drawn from a thread, some times a second."""

    def __init__(
        self,
        skeleton: Skeleton,
        describe: Callable[[], str],
        *,
        up_axis: str | None = "z",
        q: Array | None = None,
        port: int = 0,
    ):
        """Start a server; the page is at `url`.

        Args:
            skeleton: the figure.
            describe: gives the line below it.
            up_axis: which axis is up for the figure; z if nobody knows.
            q: pose that the camera begins with.
            port: 0 for any that is free.
        """
        host = "127.0.0.1"
        super().__init__(start_guarded_server(host, port, label="exactik: live"), host)
        self._skeleton, self._describe = skeleton, describe
        turn = axes_matrix(
            cyclic_axes(up_axis or "z", "z") if up_axis not in (None, "z") else "XYZ"
        )
        pose = skeleton.forward(skeleton.neutral() if q is None else q)
        box = measure_box(pose)
        points = box.points @ turn.T
        room = np.array([ROOM, ROOM, 0.0])
        around = np.concatenate([points - room, points + room])
        self._start, self._turn = points.mean(axis=0), turn
        framing = Framing(around, covered=WindowSize(0.0, 0.0))
        floor = find_floor(float(points[:, 2].min()), box.size)
        self._world = self.server.scene.add_frame("/live", show_axes=False)
        set_up_scene(self.server, box.size, framing, floor, "/live/floor")
        keep_in_view(self.server, lambda: framing)
        self.server.scene.add_frame("/live/turned", show_axes=False, wxyz=wxyz_from_matrix(turn))
        self.figure = FigureScene(self.server, skeleton, "/live/turned/figure")
        self.figure.show_as(BOTH)
        self._radius, self._markers, self._count = MARKER_RADIUS * box.size, None, -1
        self._text = self.server.gui.add_markdown("")
        self._latest: LivePose | None = None
        self._drawn: LivePose | None = None
        self._thread = threading.Thread(target=self._run, name="exactik drawing", daemon=True)
        self._thread.start()

    def write(self, pose: LivePose) -> None:
        """Take a pose; it is drawn when it is time, if no later one has come."""
        self._latest = pose

    def draw(self, pose: LivePose) -> None:
        """Show a pose."""
        shown = self._skeleton.forward(pose.q)
        away = (self._turn @ shown.positions.mean(axis=0) - self._start) * (1.0, 1.0, 0.0)
        far = float(np.linalg.norm(away))
        with self.server.atomic():
            # Who goes farther than there is room stays at its edge, and the floor moves.
            self._world.position = -max(1.0 - ROOM / max(far, ROOM), 0.0) * away
            self.figure.draw(shown)
            if len(pose.positions) != self._count:  # markers that were not known came
                self._count = len(pose.positions)
                self._markers = add_instances(
                    self.server,
                    "/live/turned/markers",
                    SPHERE_MESH,
                    np.zeros((self._count, 3)),
                    np.full(self._count, self._radius),
                    batched_colors=srgb_to_linear(MARKER_COLOUR),
                )
            seen = np.isfinite(pose.positions).all(axis=1)
            assert self._markers is not None
            self._markers.batched_positions = np.nan_to_num(pose.positions).astype(np.float32)
            self._markers.batched_scales = np.where(seen, self._radius, 0.0).astype(np.float32)
        self._drawn = pose

    def _run(self) -> None:
        count = 0
        while not self._closed.wait(DRAW_SECONDS):
            pose = self._latest
            if pose is not None and pose is not self._drawn:
                self.draw(pose)
            if count % TEXT_DRAWINGS == 0:
                self._text.content = self._describe()
            count += 1

    def _stop(self) -> None:
        self._thread.join(timeout=1.0)
