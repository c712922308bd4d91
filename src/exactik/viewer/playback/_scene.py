"""Footage in a scene: the figure, ghosts, markers; the same on the page and in exported files."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.typing import Array
from exactik.viewer.page._scene import FigureScene, set_up_scene
from exactik.viewer.playback._data import PlaybackData
from exactik.viewer.playback._marker_scene import GhostScene, MarkerScene
from exactik.viewer.playback._uncertainty import compute_joint_deviations, colour_uncertainty
from exactik.viewer.posing._handles import compute_reach
from exactik.viewer._limits import LimitState, compute_limit_state

__all__ = ["LIMITS", "PLAIN", "UNCERTAINTY", "PlayScene"]


PLAIN, LIMITS, UNCERTAINTY = "plain", "limits", "uncertainty"
LOOKED_AT = 64  # frames, to find out where the figure goes
LOWER = 0.17  # of its reach
FAR = 0.6  # of its reach: if it goes farther than that, the view goes with it


def _whereabouts(playback: PlaybackData) -> tuple[Array, float]:
    """Return the middle of the figure in its first pose [m, world], and how far it goes [m]."""
    frames = np.flatnonzero(playback.present)
    some = frames[np.unique(np.linspace(0, len(frames) - 1, LOOKED_AT).astype(np.int64))]
    places = playback.skeleton.forward(playback.motion.q[some]).positions
    middles = 0.5 * (places.min(axis=1) + places.max(axis=1))
    return middles[0], float(np.linalg.norm(middles - middles[0], axis=1).max())


class PlayScene:
    """All that is seen of playback.

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

    def __init__(self, server: Any, playback: PlaybackData):
        """Add the footage to the scene of a server; nothing is in its place before `draw`."""
        self.server, self.data = server, playback
        self._here, goes = _whereabouts(playback)
        reach = compute_reach(playback.skeleton)
        self.follows = goes > FAR * reach
        self._world = server.scene.add_frame("/take", show_axes=False)
        # A little lower than the middle is looked at: the timeline lies over the foot of the page.
        set_up_scene(server, reach, self._here - (0.0, 0.0, LOWER * reach), "/take/floor", 1.2)
        self.figure = FigureScene(server, playback.skeleton, "/take/figure")
        count = range(len(playback.references))
        self.ghosts = [GhostScene(server, playback, k, "/take") for k in count]
        self.markers = MarkerScene(server, playback, "/take")
        self.colouring = LIMITS
        self.limits: LimitState = compute_limit_state(playback.skeleton, playback.skeleton.neutral())
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
        playback = self.data
        pose = playback.pose(frame)
        away = np.zeros(3)
        if self.follows:  # by the middle of all bones, which shakes less than any of them
            away[:2] = self._here[:2] - pose.positions[:, :2].mean(axis=0)
        self._world.position = away
        self.limits = compute_limit_state(playback.skeleton, playback.motion.q[playback.shown(frame)])
        self.figure.draw(pose, self.limits if self.colouring == LIMITS else None)
        if words:
            sd = playback.deviations(frame)
            self.deviation = None if sd is None else compute_joint_deviations(playback.skeleton, sd)
            if self.deviation is not None and self.colouring == UNCERTAINTY:
                self.figure.paint(colour_uncertainty(self.deviation))
        for ghost in self.ghosts:
            ghost.draw(frame)
        self.markers.draw(frame, pose)
