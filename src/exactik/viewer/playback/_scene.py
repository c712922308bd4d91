"""The scene of playback: figure, ghosts, markers; the same on the page and in exported files."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.model import Pose
from exactik.motion import choose_even_frames
from exactik.typing import Array
from exactik.viewer._limits import LimitState, compute_limit_state
from exactik.viewer._proportions import compute_reach
from exactik.viewer.page import (
    GHOST_COLOUR,
    MARKER_COLOUR,
    RESIDUAL_COLOUR,
    SPHERE_MESH,
    TARGET_COLOUR,
    FigureScene,
    add_instances,
    measure_box,
    set_up_scene,
    srgb_to_linear,
)
from exactik.viewer.playback._data import PlaybackData
from exactik.viewer.playback._uncertainty import colour_uncertainty, compute_joint_deviations

__all__ = ["LIMITS", "PLAIN", "UNCERTAINTY", "PlayScene"]


PLAIN, LIMITS, UNCERTAINTY = "plain", "limits", "uncertainty"
PATH_SAMPLES = 64  # frames that tell how far the figure goes
CAMERA_DROP = 0.17  # of the reach, below its middle: the timeline covers the foot of the page
FOLLOW_DISTANCE = 0.6  # of the reach: a figure that goes farther is followed
GHOST_OPACITY = 0.28
MEASURED_OPACITY = 0.25  # the figure's marker shows inside the measured one
MARKER_RADIUS = 0.009  # of the reach
MEASURED_SCALE = 1.7  # radius of a measured marker over that of the figure's
RESIDUAL_PIXELS = 3.0  # width of lines


class MarkerScene:
    """Model markers as spheres, measured ones as glass around them, residuals as lines.

    Attributes:
        model: spheres of the figure's markers, None if none was recorded.
        measured: larger ones where markers were recorded, None if there are none.
        residuals: lines from the first to the second, times `exaggeration`.
        exaggeration: of the lines.
    """

    def __init__(self, server: Any, playback: PlaybackData, below: str = ""):
        """Add the markers of the playback data, below a node."""
        self.data, self.exaggeration = playback, 1.0
        self.model: Any = None
        self.measured: Any = None
        self.residuals: Any = None
        self._radius = MARKER_RADIUS * compute_reach(playback.skeleton)
        recorded = playback.targets(0)
        if len(recorded) > 0:
            self.measured = self._add_spheres(
                server,
                f"{below}/measured",
                len(recorded),
                MEASURED_SCALE,
                batched_colors=srgb_to_linear(TARGET_COLOUR),
                opacity=MEASURED_OPACITY,
            )
        count = len(playback.names)
        if count > 0:
            self.model = self._add_spheres(
                server, f"{below}/markers", count, 1.0, batched_colors=srgb_to_linear(MARKER_COLOUR)
            )
            self.residuals = server.scene.add_line_segments(
                f"{below}/residuals",
                np.zeros((count, 2, 3), np.float32),
                RESIDUAL_COLOUR,
                thickness=RESIDUAL_PIXELS,
                thickness_units="screen",
            )
        self._scales = np.empty(0)

    def _add_spheres(self, server: Any, name: str, count: int, scale: float, **look: Any) -> Any:
        radii = np.full(count, scale * self._radius)
        return add_instances(server, name, SPHERE_MESH, np.zeros((count, 3)), radii, **look)

    def draw(self, frame: int, pose: Pose) -> None:
        """Move the markers; to be called inside `server.atomic()`."""
        if self.measured is not None:
            places = self.data.targets(frame)
            seen = np.asarray(np.isfinite(places).all(axis=1, keepdims=True))
            self.measured.batched_positions = np.where(seen, places, 0.0).astype(np.float32)
            scales = np.where(seen[:, 0], MEASURED_SCALE * self._radius, 0.0).astype(np.float32)
            if not np.array_equal(scales, self._scales):  # a missing marker has no size
                self.measured.batched_scales = self._scales = scales
        if self.model is not None and self.residuals is not None:
            places = self.data.matched_targets(frame)
            model = self.data.model_markers(self.data.frame_with_pose(frame), pose)
            self.model.batched_positions = model.astype(np.float32)
            seen = np.asarray(np.isfinite(places).all(axis=1, keepdims=True))
            residual = np.where(seen, places - model, 0.0)
            lines = np.stack([model, model + self.exaggeration * residual], axis=1)
            self.residuals.points = lines.astype(np.float32)


class GhostScene:
    """A reference motion beside the figure, translucent."""

    def __init__(self, server: Any, playback: PlaybackData, k: int, below: str = ""):
        """Add the k-th reference motion, below a node."""
        self.data, self.k = playback, k
        skeleton = playback.references[k].content.skeleton
        self.figure = FigureScene(server, skeleton, f"{below}/ghost_{k}", GHOST_OPACITY)
        self.figure.paint(np.tile(GHOST_COLOUR, (len(skeleton.bones), 1)))
        self.enabled = True

    def set_offset(self, metres: float) -> None:
        """Move the ghost along y by so much [m]."""
        self.figure.node.position = (0.0, metres, 0.0)

    def draw(self, frame: int) -> None:
        """Move the ghost; it hides where the reference has no pose."""
        pose = self.data.reference(self.k, frame) if self.enabled else None
        visible = pose is not None
        if self.figure.node.visible != visible:
            self.figure.node.visible = visible
        if pose is not None:
            self.figure.draw(pose)


def _find_start_and_distance(playback: PlaybackData) -> tuple[Array, float]:
    """Return the middle of the figure in its first pose [m, world], and how far it goes [m]."""
    frames = np.flatnonzero(playback.present)
    sampled = frames[choose_even_frames(len(frames), PATH_SAMPLES)]
    places = playback.skeleton.forward(playback.motion.q[sampled]).positions
    middles = 0.5 * (places.min(axis=1) + places.max(axis=1))
    return middles[0], float(np.linalg.norm(middles - middles[0], axis=1).max())


class PlayScene:
    """All that is seen of a playback.

    Attributes:
        surroundings: floor and colours of the page.
        figure: the bones.
        ghosts: the references.
        markers: model markers, measured ones and residuals.
        follows: whether floor and all move, so that the figure stays in view.
        colouring: of the bones, `PLAIN`, by `LIMITS` or by `UNCERTAINTY`.
        limits: how near the shown pose is to them.
        deviation: standard deviation of each bone's joint [rad] in the last frame with details, or
            None.
    """

    def __init__(self, server: Any, playback: PlaybackData):
        """Add everything to the scene of a server; places are set by `draw`."""
        self.server, self.data = server, playback
        self._start, distance = _find_start_and_distance(playback)
        reach = compute_reach(playback.skeleton)
        self.follows = distance > FOLLOW_DISTANCE * reach
        self._world = server.scene.add_frame("/take", show_axes=False)
        box = measure_box(playback.pose(0))
        look_at = box.middle - (0.0, 0.0, CAMERA_DROP * box.size)
        self.surroundings = set_up_scene(server, box.size, look_at, "/take/floor", 1.2)
        self.figure = FigureScene(server, playback.skeleton, "/take/figure")
        count = range(len(playback.references))
        self.ghosts = [GhostScene(server, playback, k, "/take") for k in count]
        for ghost in self.ghosts:
            ghost.set_offset(playback.aside)
        self.markers = MarkerScene(server, playback, "/take")
        self.colouring = LIMITS
        self.limits: LimitState = compute_limit_state(
            playback.skeleton, playback.skeleton.neutral()
        )
        self.deviation: Array | None = None

    def colour_by(self, colouring: str) -> None:
        """Choose what the colours of the bones mean."""
        self.colouring = colouring
        self.figure.paint()

    def draw(self, frame: int, details: bool = True) -> None:
        """Show a frame; to be called inside `server.atomic()`.

        Args:
            frame: its index.
            details: whether to compute error bars too, which are shown less often.
        """
        playback = self.data
        pose = playback.pose(frame)
        shift = np.zeros(3)
        if self.follows:  # by the mean of all bones, which shakes less than one
            shift[:2] = self._start[:2] - pose.positions[:, :2].mean(axis=0)
        self._world.position = shift
        self.limits = compute_limit_state(
            playback.skeleton, playback.motion.q[playback.frame_with_pose(frame)]
        )
        self.figure.draw(pose, self.limits if self.colouring == LIMITS else None)
        if details:
            sd = playback.deviations(frame)
            self.deviation = None if sd is None else compute_joint_deviations(playback.skeleton, sd)
            if self.deviation is not None and self.colouring == UNCERTAINTY:
                self.figure.paint(colour_uncertainty(self.deviation))
        for ghost in self.ghosts:
            ghost.draw(frame)
        self.markers.draw(frame, pose)
