"""Footage in a scene: the figure, ghosts, markers; the same on the page and in exported files."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.typing import Array
from exactik.viewer.page._scene import FigureScene, light
from exactik.viewer.playback._footage import Footage
from exactik.viewer.playback._marker_scene import GhostScene, MarkerScene
from exactik.viewer.playback._tint import joint_deviations, uncertainty_colours
from exactik.viewer.posing._handles import reach_of
from exactik.viewer.posing._limits import LimitState, limit_state

__all__ = ["LIMITS", "PLAIN", "UNCERTAINTY", "PlayScene"]


PLAIN, LIMITS, UNCERTAINTY = "plain", "limits", "uncertainty"
LOOKED_AT = 64  # frames, to find out where the figure goes
LOWER = 0.17  # of its reach
FAR = 0.6  # of its reach: if it goes farther than that, the view goes with it


def _whereabouts(footage: Footage) -> tuple[Array, float]:
    """Return the middle of the figure in its first pose [m, world], and how far it goes [m]."""
    frames = np.flatnonzero(footage.present)
    some = frames[np.unique(np.linspace(0, len(frames) - 1, LOOKED_AT).astype(np.int64))]
    places = footage.skeleton.forward(footage.motion.q[some]).positions
    middles = 0.5 * (places.min(axis=1) + places.max(axis=1))
    return middles[0], float(np.linalg.norm(middles - middles[0], axis=1).max())


class PlayScene:
    """All that is seen of footage.

    Attributes:
        figure: the bones.
        ghosts: the references.
        markers: model markers, measured ones and residuals.
        follows: whether floor and all move, so that the figure stays in view.
        colouring: of the bones, `PLAIN`, by `LIMITS` or by `UNCERTAINTY`.
        limits: how near the shown pose is to them.
        deviation: standard deviation of each bone's joint when it was last asked for [rad], or
            None.
    """

    def __init__(self, server: Any, footage: Footage):
        """Add the footage to the scene of a server; nothing is in its place before `draw`."""
        self.server, self.footage = server, footage
        self._here, goes = _whereabouts(footage)
        reach = reach_of(footage.skeleton)
        self.follows = goes > FAR * reach
        self._world = server.scene.add_frame("/take", show_axes=False)
        # A little lower than the middle is looked at: the timeline lies over the foot of the page.
        light(server, reach, self._here - (0.0, 0.0, LOWER * reach), "/take/floor", 1.2)
        self.figure = FigureScene(server, footage.skeleton, "/take/figure")
        count = range(len(footage.references))
        self.ghosts = [GhostScene(server, footage, k, "/take") for k in count]
        self.markers = MarkerScene(server, footage, "/take")
        self.colouring = LIMITS
        self.limits: LimitState = limit_state(footage.skeleton, footage.skeleton.neutral())
        self.deviation: Array | None = None

    def colour_by(self, colouring: str) -> None:
        """Choose what the colours of the bones say."""
        self.colouring = colouring
        self.figure.paint()

    def draw(self, frame: int, words: bool = True) -> None:
        """Show a frame; to be called inside `server.atomic()`.

        Args:
            frame: its index.
            words: whether to find out as well what is shown more seldom: error bars.
        """
        footage = self.footage
        pose = footage.pose(frame)
        away = np.zeros(3)
        if self.follows:  # by the middle of all bones, which shakes less than any of them
            away[:2] = self._here[:2] - pose.positions[:, :2].mean(axis=0)
        self._world.position = away
        self.limits = limit_state(footage.skeleton, footage.motion.q[footage.shown(frame)])
        self.figure.draw(pose, self.limits if self.colouring == LIMITS else None)
        if words:
            sd = footage.deviations(frame)
            self.deviation = None if sd is None else joint_deviations(footage.skeleton, sd)
            if self.deviation is not None and self.colouring == UNCERTAINTY:
                self.figure.paint(uncertainty_colours(self.deviation))
        for ghost in self.ghosts:
            ghost.draw(frame)
        self.markers.draw(frame, pose)
