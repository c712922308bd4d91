"""What is seen: the figure, its handles, a gizmo at the selected one; and what is done to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik.model import Pose, Skeleton
from exactik.spatial import matrix_from_wxyz, wxyz_from_matrix
from exactik.viewer._handles import reach_of
from exactik.viewer._limits import LimitState
from exactik.viewer._session import PosingSession
from exactik.viewer._shapes import BALL, SPINDLE, segments_of, spindles_at
from exactik.viewer._worker import PosingWorker

__all__ = ["FigureScene", "HandleScene", "light"]

Array = NDArray[np.float64]

# Colours that remain apart for those who see few of them; text says the same in words.
BONE = (110, 122, 140)
LEVELS = np.array([BONE, (230, 159, 0), (200, 30, 30)], dtype=np.uint8)  # fine, near, at a limit
FREE, PINNED, HELD = (225, 228, 233), (0, 114, 178), (204, 80, 160)
BALL_SIZE = 0.022  # of the figure's reach
GIZMO = 80.0  # [pixels]


def light(server: Any, reach: float, middle: Array, floor_name: str = "/floor") -> None:
    """Set up floor, lights and camera for a figure of this reach [m] about a middle [m, world].

    No environment map and no shadows: they wash the colours out, and cost most of the frames where
    there is no graphics processor.
    """
    scene = server.scene
    scene.set_up_direction("+z")
    scene.configure_environment_map(hdri=None)
    scene.configure_default_lights(enabled=False, cast_shadow=False)
    scene.add_light_hemisphere("/sky", ground_color=(130, 125, 120), intensity=1.6)
    scene.add_light_directional("/sun", intensity=1.6, position=(1.0, -1.5, 2.5))
    cell = 10.0 ** np.floor(np.log10(0.4 * reach)) * 2.5
    floor = {"width": 8.0 * reach, "height": 8.0 * reach, "cell_size": cell}
    scene.add_grid(floor_name, section_size=4.0 * cell, shadow_opacity=0.0, **floor)
    server.initial_camera.look_at = middle
    server.initial_camera.position = middle + reach * np.array([1.15, -0.75, 0.35])


class FigureScene:
    """The bones of a figure, drawn in one message.

    Attributes:
        bones: the spindles, a batched mesh; instance k belongs to bone `segments.bone[k]`.
    """

    def __init__(self, server: Any, skeleton: Skeleton, name: str = "/figure"):
        """Add the figure to the scene of a viser server, in its neutral pose."""
        self.server, self.skeleton = server, skeleton
        self.segments = segments_of(skeleton)
        places, turns = spindles_at(self.segments, skeleton.forward(skeleton.neutral()))
        self.bones = server.scene.add_batched_meshes_simple(
            f"{name}/bones",
            *(SPINDLE.vertices, SPINDLE.faces, turns, places),
            batched_scales=self.segments.scale.astype(np.float32),
            batched_colors=np.tile(LEVELS[0], (len(places), 1)),
            flat_shading=True,
            cast_shadow=False,
            receive_shadow=False,
            lod="off",
        )
        self._shown: NDArray[np.uint8] | None = None

    def draw(self, pose: Pose, limits: LimitState | None = None) -> None:
        """Move the bones; to be called inside `server.atomic()`."""
        places, turns = spindles_at(self.segments, pose)
        self.bones.batched_positions = places.astype(np.float32)
        self.bones.batched_wxyzs = turns.astype(np.float32)
        if limits is not None:
            levels = limits.bones[self.segments.bone]
            if self._shown is None or not np.array_equal(levels, self._shown):
                self.bones.batched_colors = LEVELS[levels]
                self._shown = levels

    def paint(self, colours: NDArray[np.uint8] | None = None) -> None:
        """Give every piece its colour, (n, 3); that of bones if None. Limits paint over it."""
        own = np.tile(LEVELS[0], (len(self.segments.bone), 1)) if colours is None else colours
        self.bones.batched_colors = own
        self._shown = None


class HandleScene:
    """Handles as balls, a gizmo at the selected one, and bones that can be pulled.

    Callbacks only copy and post: the worker does the rest.
    """

    def __init__(self, server: Any, session: PosingSession, worker: PosingWorker, figure: Any):
        """Add the handles of a session; `figure` is its `FigureScene`."""
        self.server, self.session, self.worker = server, session, worker
        self.selected = next(iter(session.handles), "")
        self.names = [name for name, h in session.handles.items() if h.kind != "grab"]
        self.on_select: Any = lambda name: None
        self._gizmo_held = False
        self._balls = self._gizmo = None
        if len(self.names) > 0:
            size = BALL_SIZE * reach_of(session.skeleton)
            count = len(self.names)
            self._balls = server.scene.add_batched_meshes_simple(
                "/handles",
                *(BALL.vertices, BALL.faces, np.tile((1.0, 0, 0, 0), (count, 1))),
                np.zeros((count, 3)),
                batched_scales=np.full(count, size, dtype=np.float32),
                batched_colors=np.tile(np.array(FREE, np.uint8), (count, 1)),
                cast_shadow=False,
                receive_shadow=False,
                lod="off",
            )
            self._balls.on_click(self._clicked)
            self._balls.on_drag(self._ball_dragged)
            gizmo = {"fixed": True, "scale": GIZMO, "depth_test": False}
            self._gizmo = server.scene.add_transform_controls("/gizmo", **gizmo)
            self._gizmo.on_update(self._gizmo_moved)
        self.figure = figure
        figure.bones.on_drag(self._bone_dragged)

    def draw(self, pose: Pose) -> None:
        """Move balls and gizmo; to be called inside `server.atomic()`."""
        if self._balls is None or self._gizmo is None:
            return
        handles, dragged = self.session.handles, self.session.dragged
        own = [handles[name] for name in self.names]
        places = np.array([pose.point(h.bone, h.point) for h in own])
        colours = [HELD if h.name in dragged else (PINNED if h.pinned else FREE) for h in own]
        self._balls.batched_positions = places.astype(np.float32)
        self._balls.batched_colors = np.array(colours, dtype=np.uint8)
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

    async def _bone_dragged(self, event: Any) -> None:
        if event.instance_index is None:
            return
        name = f"pull {event.client_id}"
        if event.phase == "start":
            k = int(self.figure.segments.bone[event.instance_index])
            bone, place = self.session.skeleton.bone_names[k], np.array(event.start_position)
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
