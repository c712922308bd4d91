"""Markers of the figure, those that were measured, and lines between them; all in three nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.model import Pose
from exactik.viewer.page._colours import GHOST, MARKER, RESIDUAL, TARGET, srgb_to_linear
from exactik.viewer.page._scene import FigureScene, add_instances
from exactik.viewer.page._shapes import BALL
from exactik.viewer.playback._data import PlaybackData
from exactik.viewer.posing._handles import compute_reach

__all__ = ["GhostScene", "MarkerScene"]


OPACITY = 0.28  # of ghosts
GLASS = 0.25  # opacity of measured markers: the figure's own is seen inside
SIZE, LARGER = 0.009, 1.7  # radius of a marker over the figure's reach; a measured one's over it
WIDTH = 3.0  # [pixels] of lines


class MarkerScene:
    """Model markers as balls, measured ones as glass around them, residuals as lines.

    Attributes:
        model: balls of the figure's markers, None if none was recorded.
        measured: larger ones where markers were recorded, None if there are none.
        residuals: lines from the first to the second, times `exaggeration`.
        exaggeration: of the lines.
    """

    def __init__(self, server: Any, playback: PlaybackData, below: str = ""):
        """Add what the footage has, below a node."""
        self.data, self.exaggeration = playback, 1.0
        self.model: Any = None
        self.measured: Any = None
        self.residuals: Any = None
        self._size = SIZE * compute_reach(playback.skeleton)
        recorded = playback.targets(0)
        if len(recorded) > 0:
            glass = {"batched_colors": srgb_to_linear(TARGET), "opacity": GLASS}
            self.measured = self._balls(server, f"{below}/measured", len(recorded), LARGER, **glass)
        count = len(playback.names)
        if count > 0:
            self.model = self._balls(
                server, f"{below}/markers", count, 1.0, batched_colors=srgb_to_linear(MARKER)
            )
            self.residuals = server.scene.add_line_segments(
                *(f"{below}/residuals", np.zeros((count, 2, 3), np.float32), RESIDUAL),
                thickness=WIDTH,
                thickness_units="screen",
            )
        self._scales = np.empty(0)

    def _balls(self, server: Any, name: str, count: int, size: float, **options: Any) -> Any:
        sizes = np.full(count, size * self._size)
        return add_instances(server, name, BALL, np.zeros((count, 3)), sizes, **options)

    def draw(self, frame: int, pose: Pose) -> None:
        """Move the markers; to be called inside `server.atomic()`."""
        if self.measured is not None:
            places = self.data.targets(frame)
            seen = np.asarray(np.isfinite(places).all(axis=1, keepdims=True))
            self.measured.batched_positions = np.where(seen, places, 0.0).astype(np.float32)
            scales = np.where(seen[:, 0], LARGER * self._size, 0.0).astype(np.float32)
            if not np.array_equal(scales, self._scales):  # a missing one is there, without size
                self.measured.batched_scales = self._scales = scales
        if self.model is not None and self.residuals is not None:
            own, places = self.data.shown(frame), self.data.matched_targets(frame)
            model = self.data.model_markers(own, pose)
            self.model.batched_positions = model.astype(np.float32)
            seen = np.asarray(np.isfinite(places).all(axis=1, keepdims=True))
            off = np.where(seen, places - model, 0.0)
            lines = np.stack([model, model + self.exaggeration * off], axis=1)
            self.residuals.points = lines.astype(np.float32)


class GhostScene:
    """A reference motion beside the figure, translucent."""

    def __init__(self, server: Any, playback: PlaybackData, k: int, below: str = ""):
        """Add the k-th reference of the footage, below a node."""
        self.data, self.k = playback, k
        skeleton = playback.references[k].thing.skeleton
        self.figure = FigureScene(server, skeleton, f"{below}/ghost_{k}", OPACITY)
        self.figure.paint(np.tile(GHOST, (len(skeleton.bones), 1)))
        self.wanted = True

    def put_aside(self, metres: float) -> None:
        """Move the ghost along y by so much [m]."""
        self.figure.node.position = (0.0, metres, 0.0)

    def draw(self, frame: int) -> None:
        """Move the ghost; it hides where the reference has no pose."""
        pose = self.data.reference(self.k, frame) if self.wanted else None
        visible = pose is not None
        if self.figure.node.visible != visible:
            self.figure.node.visible = visible
        if pose is not None:
            self.figure.draw(pose)
