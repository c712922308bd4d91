"""Handles in the scene: spheres with lines to their targets, a gizmo, and bones to pull."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from exactik.model import Pose
from exactik.studio.player.proportions import compute_reach
from exactik.studio.player.shapes import SPHERE_MESH
from exactik.studio.viewer._balance import Balance, compute_balance
from exactik.studio.viewer.page.camera import measure_box
from exactik.studio.viewer.page.colours import (
    DRAGGED_COLOUR,
    FREE_COLOUR,
    MARKER_COLOUR,
    PINNED_COLOUR,
    RESIDUAL_COLOUR,
    srgb_to_linear,
)
from exactik.studio.viewer.page.scene import FigureScene, add_instances
from exactik.studio.viewer.page.skin import ON_TOP_OPACITY
from exactik.studio.viewer.posing._gizmo import Gizmo
from exactik.studio.viewer.posing._goals import find_moving_bone
from exactik.studio.viewer.posing._handles import Handle
from exactik.studio.viewer.posing._session import PosingSession
from exactik.studio.viewer.posing._worker import PosingWorker
from exactik.typing import Array

HANDLE_RADIUS = 0.025  # of the figure's size: its reach, or what a folded arm is seen as
SEEN_SHARE = 0.63  # of the diagonal of the box around a figure: a human's is as large as its reach


class HandleScene:
    """Handles as spheres with lines to their targets, a gizmo, bones that are pulled or clicked.

    Callbacks only post to the worker, which changes the session.

    Attributes:
        selected: name of the handle with the gizmo, "" before any is chosen.
        selected_before: name of the one that had it before.
    """

    def __init__(
        self, server: Any, session: PosingSession, worker: PosingWorker, figure: FigureScene
    ):
        """Add the handles of a session to the scene of its figure."""
        self.server, self.session, self.worker = server, session, worker
        self.selected = self.selected_before = ""
        self.names = [name for name, h in session.handles.items() if h.kind != "grab"]
        self.on_select: Any = lambda name: None
        self.on_select_bone: Any = lambda name: None
        self._visible = True
        self._colours: list[tuple[int, int, int]] = []
        self._spheres = self._residuals = self._joins = None
        self.gizmo = Gizmo(server, session, worker, self.selected)
        if len(self.names) > 0:
            count = len(self.names)
            seen = float(np.linalg.norm(np.ptp(measure_box(session.pose()).points, axis=0)))
            size = min(compute_reach(session.skeleton), SEEN_SHARE * seen)
            radii = np.full(count, HANDLE_RADIUS * size)
            origins = np.zeros((count, 3))
            self._spheres = add_instances(
                server, "/handles", SPHERE_MESH, origins, radii, opacity=ON_TOP_OPACITY
            )
            self._spheres.on_click(self._clicked)
            self._spheres.on_drag(self._sphere_dragged)
            self._residuals = server.scene.add_line_segments(
                "/residuals",
                np.zeros((count, 2, 3), dtype=np.float32),
                RESIDUAL_COLOUR,
                thickness=3.0,
                thickness_units="screen",
            )
        self.gizmo.show(self._has_gizmo)
        self.figure = figure
        figure.on_drag(self._bone_dragged)
        figure.on_click(self._bone_clicked)

    def show(self, visible: bool) -> None:
        """Show or hide all handles: they do not belong to a pose that is only looked at."""
        if visible != self._visible:
            self._visible = visible
            for part in (self._spheres, self._residuals, self._joins):
                if part is not None:
                    part.visible = visible
            self.gizmo.show(visible and self._has_gizmo)

    @property
    def _has_gizmo(self) -> bool:
        return self.gizmo.bone is not None or self.selected in self.session.handles

    def draw(self, pose: Pose) -> None:
        """Move spheres and gizmo; to be called inside `server.atomic()`."""
        self.show(True)
        if self._has_gizmo:
            self.gizmo.draw(pose)
        if self._spheres is None or self._residuals is None:
            return
        handles, dragged = self.session.handles, self.session.dragged
        shown = [handles[name] for name in self.names]
        places = np.array([pose.point(h.bone, h.point) for h in shown])
        colours = [_choose_colour(h, dragged) for h in shown]
        self._spheres.batched_positions = places.astype(np.float32)
        if colours != self._colours:  # seldom: most messages do not contain them
            self._spheres.batched_colors, self._colours = srgb_to_linear(colours), colours
        targets = [
            h.position if h.pinned or h.name in dragged else places[k] for k, h in enumerate(shown)
        ]
        lines = np.stack([places, np.array(targets)], axis=1)
        self._residuals.points = lines.astype(np.float32)
        self._draw_joins(dict(zip(self.names, places, strict=True)))

    def _draw_joins(self, places: dict[str, Array]) -> None:
        """Draw a line between handles that are held together; `places` by name [m, world]."""
        pairs = [(join.first, join.second) for join in self.session.state.joins]
        if self._joins is not None and len(self._joins.points) != len(pairs):
            self._joins.remove()
            self._joins = None
        ends = np.array([[places[name] for name in pair] for pair in pairs], dtype=np.float32)
        if self._joins is not None:
            self._joins.points = ends
        elif len(pairs) > 0:
            self._joins = self.server.scene.add_line_segments(
                "/joins", ends, PINNED_COLOUR, thickness=5.0, thickness_units="screen"
            )

    def select(self, name: str) -> None:
        """Put the gizmo at a handle."""
        if name in self.names:
            if name != self.selected:
                self.selected_before = self.selected
            self.selected = self.gizmo.handle = name
            self.gizmo.bone = None
            self.gizmo.show(self._visible)
            self.on_select(name)
            self.worker.post(lambda session: None)  # redraws

    def select_bone(self, name: str) -> None:
        """Put the gizmo at a bone, to turn it by its own joint."""
        moving = find_moving_bone(self.session.skeleton, name)
        if moving is not None:
            self.gizmo.bone = moving
            self.gizmo.show(self._visible)
            self.on_select_bone(moving)
            self.worker.post(lambda session: None)  # redraws

    def set_axes(self, axes: str) -> None:
        """Give the gizmo the axes of the bone or of the world, see `GIZMO_AXES`."""
        self.gizmo.axes = axes
        self.worker.post(lambda session: None)  # redraws

    def release_client(self, client: int, last: bool) -> None:
        """Release what a disconnected page was dragging: its release event may never come.

        Args:
            last: whether no other page is left.
        """
        if last:
            self.gizmo.let_go()
            self.worker.post(lambda session: session.release())
        else:
            self.worker.post(lambda session: session.release(f"pull {client}"))

    # --- events

    async def _clicked(self, event: Any) -> None:
        if event.instance_index is not None:
            self.select(self.names[event.instance_index])

    async def _sphere_dragged(self, event: Any) -> None:
        if event.instance_index is not None:
            name = self.names[event.instance_index]
            if event.phase == "start":
                self.select(name)
            self._drag(event.phase, name, event.end_position)

    async def _bone_dragged(self, bone: str, event: Any) -> None:
        name = f"pull {event.client_id}"
        if event.phase == "start":
            place = np.array(event.start_position)
            self.worker.post(lambda session: session.grab(bone, place, name=name))
        self._drag(event.phase, name, event.end_position)

    async def _bone_clicked(self, bone: str, event: Any) -> None:
        self.select_bone(bone)

    def _drag(self, phase: str, name: str, place: Any) -> None:
        self.worker.drag(name, np.array(place, dtype=float))
        if phase == "end":
            self.worker.post(lambda session: session.release(name))


def _choose_colour(handle: Handle, dragged: Collection[str]) -> tuple[int, int, int]:
    if handle.name in dragged:
        return DRAGGED_COLOUR
    return PINNED_COLOUR if handle.pinned else FREE_COLOUR


# --- the centre of mass and the support polygon in the scene


CENTER_RADIUS = 0.02  # of the figure's reach
LIFT_SHARE = 0.002  # of the reach, above the floor: lines in its plane would flicker


class BalanceScene:
    """A ball at the centre of mass, a plumb line, and the polygon: green in balance, else magenta.

    Attributes:
        visible: whether it is shown; nothing is computed where it is not.
    """

    def __init__(self, server: Any, floor: float):
        """Add nothing yet; the floor is at a height [m]."""
        self._server, self._floor, self.visible = server, floor, False
        self._nodes: list[Any] = []

    def draw(self, pose: Pose) -> Balance | None:
        """Show how a figure stands; return that, None if it is not shown or not known."""
        self.clear()
        balance = compute_balance(pose, self._floor) if self.visible else None
        if balance is None:
            return None
        reach = compute_reach(pose.skeleton)
        colour = MARKER_COLOUR if balance.margin >= 0.0 else RESIDUAL_COLOUR
        ball = add_instances(
            self._server,
            "/balance/center",
            SPHERE_MESH,
            balance.center[None],
            np.array([CENTER_RADIUS * reach]),
            batched_colors=srgb_to_linear([colour]),
            opacity=ON_TOP_OPACITY,
        )
        height = self._floor + LIFT_SHARE * reach
        foot = np.array([*balance.center[:2], height])
        lines = [np.array([balance.center, foot])]
        corners = np.column_stack([balance.support, np.full(len(balance.support), height)])
        lines += [
            np.array(pair) for pair in zip(corners, np.roll(corners, -1, axis=0), strict=True)
        ]
        polygon = self._server.scene.add_line_segments(
            "/balance/support",
            np.array(lines, dtype=np.float32),
            colour,
            thickness=4.0,
            thickness_units="screen",
        )
        self._nodes = [ball, polygon]
        return balance

    def clear(self) -> None:
        """Remove all of it."""
        for node in self._nodes:
            node.remove()
        self._nodes = []
