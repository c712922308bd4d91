"""What is seen: the figure, its handles, a gizmo at the selected one; and what is done to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik.model import Pose, Skeleton
from exactik.spatial import matrix_from_wxyz, wxyz_from_matrix
from exactik.typing import Array, IntArray
from exactik.viewer.page._colours import (
    BONE,
    FREE,
    HELD,
    JOINT,
    LEVELS,
    PINNED,
    RESIDUAL,
    painted,
)
from exactik.viewer.page._shapes import (
    BALL,
    LIMB,
    Mesh,
    balls_at,
    balls_of,
    limbs_at,
    segments_of,
)
from exactik.viewer.posing._handles import reach_of
from exactik.viewer.posing._limits import LimitState
from exactik.viewer.posing._session import PosingSession
from exactik.viewer.posing._worker import PosingWorker

__all__ = ["FigureScene", "HandleScene", "add_batch", "light"]


BALL_SIZE = 0.025  # of the figure's reach
GIZMO = 80.0  # [pixels]


def light(
    server: Any, reach: float, middle: Array, floor_name: str = "/floor", away: float = 1.0
) -> None:
    """Set up floor, lights and camera for a figure of this reach [m] about a middle [m, world].

    No environment map and no shadows: they wash the colours out, and cost most of the frames where
    there is no graphics processor. The panel has its place beside the scene, not above it.
    """
    server.gui.configure_theme(show_share_button=False, show_logo=False)
    server.gui.main_panel.dock_right()
    scene = server.scene
    scene.set_up_direction("+z")
    scene.configure_environment_map(hdri=None)
    scene.configure_default_lights(enabled=False, cast_shadow=False)
    scene.add_light_hemisphere("/sky", ground_color=(130, 125, 120), intensity=3.2)
    scene.add_light_directional("/sun", intensity=2.6, position=(1.0, -1.5, 2.5))
    cell = 10.0 ** np.floor(np.log10(0.4 * reach)) * 2.5
    floor = {"width": 8.0 * reach, "height": 8.0 * reach, "cell_size": cell}
    paint = {"cell_color": (226, 229, 234), "section_color": (200, 205, 213)}
    scene.add_grid(floor_name, section_size=4.0 * cell, shadow_opacity=0.0, **floor, **paint)
    server.initial_camera.look_at = middle
    server.initial_camera.position = middle + away * reach * np.array([1.0, -0.65, 0.3])


def add_batch(
    server: Any,
    name: str,
    mesh: Mesh,
    places: Array,
    scales: Array,
    turns: Array | None = None,
    **look: Any,
) -> Any:
    """Add copies of a mesh to the scene of a viser server, to be moved in one message.

    Args:
        server: viser's.
        name: in the scene.
        mesh: what is copied.
        places: of the copies [m], (n, 3).
        scales: (n,), or of each axis (n, 3).
        turns: as quaternions wxyz, (n, 4); none if None.
        look: colours and opacity, as viser takes them.
    """
    level = np.tile((1.0, 0.0, 0.0, 0.0), (len(places), 1)) if turns is None else turns
    return server.scene.add_batched_meshes_simple(
        *(name, mesh.vertices, mesh.faces, level, places),
        batched_scales=scales.astype(np.float32),
        cast_shadow=False,
        receive_shadow=False,
        lod="off",
        **look,
    )


class FigureScene:
    """A figure, drawn in two messages: its limbs, and its joints and heads.

    Attributes:
        node: what they hang on, to move or hide the figure as a whole.
    """

    def __init__(
        self, server: Any, skeleton: Skeleton, name: str = "/figure", opacity: float | None = None
    ):
        """Add the figure to the scene of a viser server, in its neutral pose."""
        self.server, self.skeleton = server, skeleton
        self.node = server.scene.add_frame(name, show_axes=False)
        self.segments = segments_of(skeleton)
        self.balls = balls_of(skeleton, self.segments)
        pose = skeleton.forward(skeleton.neutral())
        places, turns = limbs_at(self.segments, pose)
        limbs = (f"{name}/bones", LIMB, places, self.segments.scale, turns)
        self.bones = add_batch(server, *limbs, opacity=opacity)
        joints = (f"{name}/joints", BALL, balls_at(self.balls, pose), self.balls.size)
        self.joints = add_batch(server, *joints, opacity=opacity)
        self._shown: NDArray[np.uint8] | None = None
        self.paint()

    def draw(self, pose: Pose, limits: LimitState | None = None) -> None:
        """Move the figure; to be called inside `server.atomic()`."""
        places, turns = limbs_at(self.segments, pose)
        self.bones.batched_positions = places.astype(np.float32)
        self.bones.batched_wxyzs = turns.astype(np.float32)
        self.joints.batched_positions = balls_at(self.balls, pose).astype(np.float32)
        if limits is not None and (
            self._shown is None or not np.array_equal(limits.bones, self._shown)
        ):
            self.paint(np.array(LEVELS)[limits.bones])
            self._shown = limits.bones

    def paint(self, colours: NDArray[Any] | None = None) -> None:
        """Give every bone its colour, (n_bones, 3); the usual one if None. Limits paint over it."""
        own = np.tile(BONE, (len(self.skeleton.bones), 1)) if colours is None else colours
        self.bones.batched_colors = painted(own[self.segments.bone])
        heads = painted(own[self.balls.bone])
        self.joints.batched_colors = np.where(self.balls.head[:, None], heads, painted(JOINT))
        self._shown = None

    def on_drag(self, callback: Callable[[str, Any], Awaitable[None]]) -> None:
        """Have the name of a bone that the mouse pulls, and viser's event, sent to a function."""
        for mesh, bones in ((self.bones, self.segments.bone), (self.joints, self.balls.bone)):

            async def dragged(event: Any, bones: IntArray = bones) -> None:
                if event.instance_index is not None:
                    name = self.skeleton.bone_names[int(bones[event.instance_index])]
                    await callback(name, event)

            mesh.on_drag(dragged)


class HandleScene:
    """Handles as balls with lines to where they should be, a gizmo, and bones that can be pulled.

    Callbacks only copy and post: the worker does the rest.
    """

    def __init__(self, server: Any, session: PosingSession, worker: PosingWorker, figure: Any):
        """Add the handles of a session; `figure` is its `FigureScene`."""
        self.server, self.session, self.worker = server, session, worker
        self.selected = next(iter(session.handles), "")
        self.names = [name for name, h in session.handles.items() if h.kind != "grab"]
        self.on_select: Any = lambda name: None
        self._gizmo_held, self._visible = False, True
        self._colours: list[tuple[int, int, int]] = []
        self._balls = self._gizmo = self._misses = None
        if len(self.names) > 0:
            count = len(self.names)
            sizes = np.full(count, BALL_SIZE * reach_of(session.skeleton))
            self._balls = add_batch(server, "/handles", BALL, np.zeros((count, 3)), sizes)
            self._balls.on_click(self._clicked)
            self._balls.on_drag(self._ball_dragged)
            gizmo = {"fixed": True, "scale": GIZMO, "depth_test": False}
            self._gizmo = server.scene.add_transform_controls("/gizmo", **gizmo)
            self._gizmo.on_update(self._gizmo_moved)
            nowhere = np.zeros((count, 2, 3), dtype=np.float32)
            self._misses = server.scene.add_line_segments(
                "/misses", nowhere, RESIDUAL, thickness=3.0, thickness_units="screen"
            )
        self.figure = figure
        figure.on_drag(self._bone_dragged)

    def show(self, visible: bool) -> None:
        """Show or hide all handles: beside a pose that is only looked at they would mislead."""
        if visible != self._visible:
            self._visible = visible
            for part in (self._balls, self._gizmo, self._misses):
                if part is not None:
                    part.visible = visible

    def draw(self, pose: Pose) -> None:
        """Move balls and gizmo; to be called inside `server.atomic()`."""
        self.show(True)
        if self._balls is None or self._gizmo is None or self._misses is None:
            return
        handles, dragged = self.session.handles, self.session.dragged
        own = [handles[name] for name in self.names]
        places = np.array([pose.point(h.bone, h.point) for h in own])
        colours = [HELD if h.name in dragged else (PINNED if h.pinned else FREE) for h in own]
        self._balls.batched_positions = places.astype(np.float32)
        if colours != self._colours:  # seldom, so that it is no part of most messages
            self._balls.batched_colors, self._colours = painted(colours), colours
        asked = [
            h.position if h.pinned or h.name in dragged else places[k] for k, h in enumerate(own)
        ]
        self._misses.points = np.stack([places, np.array(asked)], axis=1).astype(np.float32)
        if not self._gizmo_held:  # else it would be torn from the pointer that holds it
            handle = handles[self.selected]
            turn = pose.rotations[self.session.skeleton.bone_index(handle.bone)]
            self._gizmo.position = places[self.names.index(self.selected)]
            self._gizmo.wxyz = wxyz_from_matrix(turn)
            self._gizmo.disable_rotations = not handle.oriented

    def select(self, name: str) -> None:
        """Put the gizmo at a handle."""
        if name in self.names:
            self.selected = name
            self.on_select(name)
            self.worker.post(lambda session: None)  # drawn again

    def forget(self, client: int, alone: bool) -> None:
        """Let go of what a page held that is gone: its last word may never come.

        Args:
            client: number of the page.
            alone: whether no other page is left.
        """
        if alone:
            self._gizmo_held = False
            self.worker.post(lambda session: session.release())
        else:
            self.worker.post(lambda session: session.release(f"pull {client}"))

    # --- events

    async def _clicked(self, event: Any) -> None:
        if event.instance_index is not None:
            self.select(self.names[event.instance_index])

    async def _ball_dragged(self, event: Any) -> None:
        if event.instance_index is not None:
            name = self.names[event.instance_index]
            if event.phase == "start":
                self.select(name)
            self._follow(event.phase, name, event.end_position)

    async def _bone_dragged(self, bone: str, event: Any) -> None:
        name = f"pull {event.client_id}"
        if event.phase == "start":
            place = np.array(event.start_position)
            self.worker.post(lambda session: session.grab(bone, place, name=name))
        self._follow(event.phase, name, event.end_position)

    async def _gizmo_moved(self, event: Any) -> None:
        target = event.target
        if event.phase == "start":
            self._gizmo_held = True
        turn = matrix_from_wxyz(np.array(target.wxyz, dtype=float))
        place = np.array(target.position, dtype=float)
        self._follow(event.phase, self.selected, place, turn)
        if event.phase == "end":
            self._gizmo_held = False

    def _follow(self, phase: str, name: str, place: Any, turn: Array | None = None) -> None:
        self.worker.drag(name, np.array(place, dtype=float), turn)
        if phase == "end":
            self.worker.post(lambda session: session.release(name))
