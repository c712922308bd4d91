"""The scene of playback: figure, ghosts, markers; the same on the page and in exported files."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from exactik.model import Pose
from exactik.model.motion import choose_even_frames
from exactik.studio.player.proportions import compute_reach
from exactik.studio.player.shapes import DIAMOND_MESH, SPHERE_MESH
from exactik.studio.viewer._limits import LimitState, compute_limit_state
from exactik.studio.viewer.page.anchors import MARKER_ANCHOR
from exactik.studio.viewer.page.camera import FigureBox, Framing, WindowSize, measure_box
from exactik.studio.viewer.page.colours import (
    GHOST_COLOUR,
    GHOST_OPACITIES,
    MARKER_COLOUR,
    RESIDUAL_COLOUR,
    srgb_to_linear,
)
from exactik.studio.viewer.page.scene import BOTH, FigureScene, add_instances
from exactik.studio.viewer.page.surroundings import set_up_scene
from exactik.studio.viewer.playback._data import PlaybackData
from exactik.studio.viewer.playback._residuals import WorstMarkerScene
from exactik.studio.viewer.playback._uncertainty import (
    colour_quality,
    colour_uncertainty,
    compute_joint_deviations,
)
from exactik.studio.viewer.recording import NONE, PlateScene, RecordingScene
from exactik.typing import Array

PLAIN, LIMITS, UNCERTAINTY, QUALITY = "plain", "limits", "uncertainty", "quality"
PATH_SAMPLES = 64  # frames that tell how far the figure goes
SHAPE_SAMPLES = 5  # frames in which meshes and skins tell what is to be seen
NOTHING = WindowSize(0.0, 0.0)
FOLLOW_DISTANCE = 0.6  # of the reach: a figure that goes farther is followed
ASIDE_OPACITY = 0.85  # of a ghost that stands beside the figure, and need not be seen through
ASIDE_SHARE = 0.3  # of its reach: nearer ones are in the figure
MARKER_RADIUS = 0.009  # of the reach
# Radius of a measured marker over that of the figure's, a diamond: where both are at one place, the
# sphere shows in the faces of the diamond, and its corners stick out.
MEASURED_SCALE = 0.75
ALONE_SCALE = 1.1  # likewise where there is no figure
TRAIL_S = 0.5  # [s] length of trails at first, of markers alone
RESIDUAL_PIXELS = 3.0  # width of lines


class MarkerScene:
    """Model markers as diamonds, measured ones as spheres, residuals as lines between them.

    Attributes:
        model: diamonds, the figure's markers; None if none was recorded.
        measured: spheres where markers were recorded, None if there are none.
        residuals: lines from the first to the second, times `exaggeration`.
        worst: the longest of them, None if there are none.
        recording: labels, trails and choice of the measured ones, None if there are none.
    """

    def __init__(self, server: Any, playback: PlaybackData, reach: float, below: str = ""):
        """Add the markers of the playback data, below a node."""
        self.data, self.exaggeration = playback, 1.0
        self.model: Any = None
        self.measured: Any = None
        self.residuals: Any = None
        self.worst: WorstMarkerScene | None = None
        self.recording: RecordingScene | None = None
        self._radius = MARKER_RADIUS * reach
        self._scale = MEASURED_SCALE if playback.has_figure else ALONE_SCALE
        if playback.recorded is not None and playback.overview is not None:
            radius = self._scale * self._radius
            self.recording = RecordingScene(server, playback.overview, radius, below)
            if playback.has_figure:
                self.recording.labels = NONE
            else:
                self.recording.set_trails(TRAIL_S)
            count = len(playback.recorded.content.names)
            colours = self.recording.colours(None)
            self.measured = add_instances(
                server,
                f"{below}/measured",
                MARKER_ANCHOR.mark(SPHERE_MESH),
                np.zeros((count, 3)),
                np.full(count, radius),
                batched_colors=colours,
            )
        count = len(playback.names)
        if count > 0:
            radii = np.full(count, self._radius)
            self.model = add_instances(
                server,
                f"{below}/markers",
                DIAMOND_MESH,
                np.zeros((count, 3)),
                radii,
                batched_colors=srgb_to_linear(MARKER_COLOUR),
            )
            self.residuals = server.scene.add_line_segments(
                f"{below}/residuals",
                np.zeros((count, 2, 3), np.float32),
                RESIDUAL_COLOUR,
                thickness=RESIDUAL_PIXELS,
                thickness_units="screen",
            )
            self.worst = WorstMarkerScene(server, playback.names, self._radius, below)
        self._scales = np.empty(0)

    def draw(self, frame: int, pose: Pose | None) -> None:
        """Move the markers; to be called inside `server.atomic()`."""
        if self.measured is not None and self.recording is not None:
            places = self.data.targets(frame)
            seen = np.asarray(np.isfinite(places).all(axis=1, keepdims=True))
            self.measured.batched_positions = np.where(seen, places, 0.0).astype(np.float32)
            shown = seen[:, 0] & self.recording.find_shown()
            scales = np.where(shown, self._scale * self._radius, 0.0).astype(np.float32)
            if not np.array_equal(scales, self._scales):  # a missing marker has no size
                self.measured.batched_scales = self._scales = scales
            t = self.data.recorded_frame(frame)
            self.recording.draw(t)
            colours = self.recording.colours(t)
            if not np.array_equal(colours, self.measured.batched_colors):
                self.measured.batched_colors = colours
        if pose is not None and self.model is not None and self.residuals is not None:
            places = self.data.matched_targets(frame)
            model = self.data.model_markers(self.data.frame_with_pose(frame), pose)
            self.model.batched_positions = model.astype(np.float32)
            seen = np.asarray(np.isfinite(places).all(axis=1, keepdims=True))
            residual = np.where(seen, places - model, 0.0)
            lines = np.stack([model, model + self.exaggeration * residual], axis=1)
            self.residuals.points = lines.astype(np.float32)
            if self.worst is not None:
                self.worst.draw(self.data.errors[frame], model, places, self.exaggeration)


class GhostScene:
    """A reference motion beside the figure, translucent."""

    def __init__(self, server: Any, playback: PlaybackData, k: int, below: str = ""):
        """Add the k-th reference motion, below a node."""
        self.data, self.k = playback, k
        skeleton = playback.references[k].content.skeleton
        self.figure = FigureScene(server, skeleton, f"{below}/ghost_{k}", GHOST_OPACITIES[False])
        self.figure.paint(np.tile(GHOST_COLOUR, (len(skeleton.bones), 1)))
        self.enabled = True
        self._reach, self._aside, self._dark = compute_reach(skeleton), 0.0, False

    def set_offset(self, metres: float) -> None:
        """Move the ghost along y by so much [m]."""
        self.figure.node.position = (0.0, metres, 0.0)
        self._aside = metres
        self._fade()

    def set_dark(self, dark: bool) -> None:
        """Choose how much is seen of it, for a light page or for a dark one."""
        self._dark = dark
        self._fade()

    def _fade(self) -> None:
        is_aside = abs(self._aside) > ASIDE_SHARE * self._reach
        self.figure.set_opacity(ASIDE_OPACITY if is_aside else GHOST_OPACITIES[self._dark])

    def draw(self, frame: int) -> None:
        """Move the ghost; it hides where the reference has no pose."""
        pose = self.data.reference(self.k, frame) if self.enabled else None
        visible = pose is not None
        if self.figure.node.visible != visible:
            self.figure.node.visible = visible
        if pose is not None:
            self.figure.draw(pose)


class _SceneExtent(NamedTuple):
    """What the camera is for."""

    points: Array  # that are to be seen, as they are drawn [m, world], (n, 3)
    box: FigureBox  # around what is shown, where it begins
    reach: float  # of it [m]
    start: Array  # middle where it begins [m, world], (3,)
    follows: bool  # whether it goes so far that it is followed
    heading: float  # where it goes, from x towards y [rad]; 0 if it stays


def _measure_extent(playback: PlaybackData) -> _SceneExtent:
    """Return where what is shown is, how large it is, and how far it goes."""
    if playback.cloud is not None and not playback.has_figure:
        cloud = playback.cloud
        return _SceneExtent(
            points=cloud.box.points,
            box=cloud.box,
            reach=cloud.box.size,
            start=cloud.box.middle,
            follows=cloud.distance > FOLLOW_DISTANCE * cloud.box.size,
            heading=_find_heading(cloud.middles, cloud.box.size),
        )
    frames = np.flatnonzero(playback.present)
    sampled = frames[choose_even_frames(len(frames), PATH_SAMPLES)]
    places = playback.skeleton.forward(playback.figure_motion.q[sampled]).positions
    middles = 0.5 * (places.min(axis=1) + places.max(axis=1))
    reach = compute_reach(playback.skeleton)
    distance = float(np.linalg.norm(middles - middles[0], axis=1).max())
    follows = distance > FOLLOW_DISTANCE * reach
    points = []
    for t in sampled[choose_even_frames(len(sampled), SHAPE_SAMPLES)].tolist():
        pose = playback.pose(t)
        shown = [measure_box(pose).points]
        for k in range(len(playback.references)):
            ghost = playback.reference(k, t)
            aside = (0.0, playback.aside, 0.0)
            shown += [] if ghost is None else [measure_box(ghost).points + aside]
        points += [one + follows * _find_shift(middles[0], pose) for one in shown]
    if not follows:
        points.append(places.reshape(-1, 3))
    return _SceneExtent(
        points=np.concatenate(points),
        box=measure_box(playback.pose(0)),
        reach=reach,
        start=middles[0],
        follows=follows,
        heading=_find_heading(middles, reach),
    )


def _find_heading(middles: Array, reach: float) -> float:
    """Return where a way [m, world], (n, 3), leads, from x towards y [rad]; 0 if it is short."""
    x, y, _ = middles[-1] - middles[0]
    return float(np.arctan2(y, x)) if np.hypot(x, y) > reach else 0.0


def _find_shift(start: Array, pose: Pose) -> Array:
    """Return by how much a figure is moved so that it stays where it begins [m], (3,)."""
    return (start - pose.positions.mean(axis=0)) * (1.0, 1.0, 0.0)


class PlayScene:
    """All that is seen of a playback.

    Attributes:
        surroundings: floor and colours of the page.
        plates: force plates of the recording, None without any.
        follows: whether floor and all move, so that the figure stays in view.
        colouring: of the bones, `PLAIN`, by `LIMITS`, `UNCERTAINTY` or `QUALITY`.
        limits: how near the shown pose is to them, None without a figure.
        shift: by which all is moved so that it stays in view [m], (3,).
        deviation: standard deviation of each bone's joint [rad] in the last frame with details, or
            None.
    """

    def __init__(self, server: Any, playback: PlaybackData):
        """Add everything to the scene of a server; places are set by `draw`."""
        self.server, self.data = server, playback
        view = _measure_extent(playback)
        self._start = view.start
        self.follows = view.follows
        self._world = server.scene.add_frame("/take", show_axes=False)
        framing = Framing(view.points, heading=view.heading, covered=NOTHING)
        self.surroundings = set_up_scene(
            server, view.box.size, framing, view.box.floor, "/take/floor"
        )
        self.figure: FigureScene | None = None
        self.limits: LimitState | None = None
        if playback.has_figure:
            self.figure = FigureScene(server, playback.skeleton, "/take/figure")
            if len(playback.names) > 0:  # a skin hides markers that are inside it
                self.figure.show_as(BOTH)
        count = range(len(playback.references))
        self.ghosts = [GhostScene(server, playback, k, "/take") for k in count]
        for ghost in self.ghosts:
            ghost.set_offset(playback.aside)
            self.surroundings.on_dark(ghost.set_dark)
        self.markers = MarkerScene(server, playback, view.reach, "/take")
        self.plates: PlateScene | None = None
        if playback.recorded is not None and len(playback.recorded.content.force_plates) > 0:
            self.plates = PlateScene(server, playback.recorded.content, "/take")
        self.colouring = LIMITS
        self.deviation: Array | None = None
        self._painted_quality = np.empty(0, np.uint8)

    def colour_by(self, colouring: str) -> None:
        """Choose what the colours of the bones mean."""
        self.colouring, self._painted_quality = colouring, np.empty(0, np.uint8)
        if self.figure is not None:
            self.figure.paint()

    def draw(self, frame: int, details: bool = True) -> None:
        """Show a frame; to be called inside `server.atomic()`.

        Args:
            details: whether to compute error bars too, which are shown less often.
        """
        pose = self._draw_figure(frame, details) if self.figure is not None else None
        shift = np.zeros(3)
        if self.follows:
            shift = self._find_shift(frame, pose)
        self._world.position = self.shift = shift
        for ghost in self.ghosts:
            ghost.draw(frame)
        self.markers.draw(frame, pose)
        if self.plates is not None:
            self.plates.draw(self.data.recorded_frame(frame))

    def _find_shift(self, frame: int, pose: Pose | None) -> Array:
        """Return by how much all is moved so that it stays where it begins [m], (3,)."""
        if pose is not None:  # by the mean of all bones: it shakes less than one
            return _find_shift(self._start, pose)
        assert self.data.cloud is not None
        return (self._start - self.data.cloud.middle(frame)) * (1.0, 1.0, 0.0)

    def _draw_figure(self, frame: int, details: bool) -> Pose:
        """Move and paint the figure."""
        assert self.figure is not None
        playback = self.data
        pose = playback.pose(frame)
        self.limits = compute_limit_state(
            playback.skeleton, playback.figure_motion.q[playback.frame_with_pose(frame)]
        )
        self.figure.draw(pose, self.limits if self.colouring == LIMITS else None)
        if self.colouring == QUALITY and playback.joint_quality is not None:
            quality = playback.joint_quality[frame]
            if not np.array_equal(quality, self._painted_quality):
                self._painted_quality = quality
                self.figure.paint(colour_quality(playback.skeleton, quality))
        if details:
            sd = playback.deviations(frame)
            self.deviation = None if sd is None else compute_joint_deviations(playback.skeleton, sd)
            if self.deviation is not None and self.colouring == UNCERTAINTY:
                self.figure.paint(colour_uncertainty(self.deviation))
        return pose
