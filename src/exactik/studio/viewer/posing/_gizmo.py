"""The gizmo: arrows and rings at the selected handle (IK) or at a clicked bone (FK).

A handle has arrows, and rings if its rotation is a goal. A bone has the rings of its joint, and
arrows if that shifts. Axes are those of the bone or of the world.

What a pointer asks for is kept in proportion to how far it moved. An arrow that points at the
camera is short on the screen: a pixel of it is metres of the world, and past its vanishing point
the place behind the camera. So the target moves at most `MAX_GAIN` times as far as the pointer
does, measured in the plane through the start that faces the camera.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from exactik.model import Bone, Pose
from exactik.spatial import matrix_from_wxyz, wxyz_from_matrix
from exactik.studio.viewer.posing._session import PosingSession
from exactik.studio.viewer.posing._worker import PosingWorker
from exactik.typing import Array

GIZMO_PIXELS = 80.0
LOCAL, WORLD = GIZMO_AXES = ("local", "world")
ALL_AXES = (True, True, True)
# An arrow at 20° from the line of sight has a gain of 3 when it is grabbed; nearer ones are slowed.
MAX_GAIN = 3.0


class CameraView(NamedTuple):
    """Where a camera is."""

    position: Array  # [m, world], (3,)
    forward: Array  # unit vector of the line of sight, world, (3,)

    @classmethod
    def of(cls, camera: object) -> CameraView:
        """Return the view of viser's camera, which looks along its z axis."""
        position = np.array(getattr(camera, "position"), dtype=float)  # noqa: B009
        R_world_camera = matrix_from_wxyz(np.array(getattr(camera, "wxyz"), dtype=float))  # noqa: B009
        return cls(position=position, forward=R_world_camera[:, 2].copy())


def limit_target_move(view: CameraView, start: Array, target: Array) -> Array | None:
    """Return a target [m, world], (3,), at a distance from the start that the pointer justifies.

    Args:
        start: where the drag began [m, world], (3,).
        target: what the gizmo asks for [m, world], (3,).

    Returns:
        The target, nearer to the start where it is too far; None where it is not before the camera.
    """
    depth, target_depth = ((place - view.position) @ view.forward for place in (start, target))
    if depth <= 0.0 or target_depth <= 0.0 or not np.isfinite(target).all():
        return None
    # Both as the screen shows them, at the depth of the start.
    on_screen = view.position + (target - view.position) * (depth / target_depth)
    pointer, move = float(np.linalg.norm(on_screen - start)), target - start
    length = float(np.linalg.norm(move))
    return start + move * min(1.0, MAX_GAIN * pointer / max(length, 1e-12))


def find_active_axes(bone: Bone) -> tuple[bool, bool, bool]:
    """Return the axes between which the ring of a hinge lies; all for other joints.

    A ring is drawn where both axes of its plane are active.
    """
    joint = bone.joint
    if joint.kind != "revolute" or joint.axis is None:
        return ALL_AXES
    post = np.eye(3) if bone.post is None else np.array(bone.post)
    across = np.abs(post.T @ np.array(joint.axis)) < 1.0 - 1e-6
    x, y, z = across.tolist()
    return (x, y, z)


class Gizmo:
    """Arrows and rings at one handle or one bone; dragged, they post to the worker.

    Attributes:
        handle: name of the handle that it is at, if `bone` is None.
        bone: name of the bone that it turns; None for a handle.
        axes: `LOCAL` or `WORLD`.
    """

    def __init__(self, server: Any, session: PosingSession, worker: PosingWorker, handle: str):
        """Add a gizmo to the scene of a viser server, at a handle."""
        self.session, self.worker = session, worker
        self.handle, self.bone, self.axes = handle, None, LOCAL
        self.bone: str | None
        self._node = server.scene.add_transform_controls(
            "/gizmo", fixed=True, scale=GIZMO_PIXELS, depth_test=False
        )
        self._node.on_update(self._moved)
        self._dragged = False
        self._start = np.zeros(3)  # where the drag began
        self._R_start_bone, self._R_start_gizmo = np.eye(3), np.eye(3)

    def show(self, visible: bool) -> None:
        """Show or hide it."""
        self._node.visible = visible

    def let_go(self) -> None:
        """End a drag whose page is gone."""
        self._dragged = False

    def draw(self, pose: Pose) -> None:
        """Move it to its handle or bone; while it is dragged the pointer moves it."""
        if self._dragged:
            return
        skeleton = self.session.skeleton
        if self.bone is not None:
            bone, point, turns = self.bone, (0.0, 0.0, 0.0), True
            shifts = skeleton.bones[skeleton.bone_index(bone)].joint.translates
            active = find_active_axes(skeleton.bones[skeleton.bone_index(bone)])
        else:
            handle = self.session.handles[self.handle]
            bone, point, turns, shifts = handle.bone, handle.point, handle.oriented, True
            active = ALL_AXES
        R_world_bone = pose.rotations[skeleton.bone_index(bone)]
        R_world_gizmo = R_world_bone if self.axes == LOCAL else np.eye(3)
        self._start, self._R_start_bone = pose.point(bone, point), R_world_bone
        self._R_start_gizmo = R_world_gizmo
        self._node.position = self._start
        self._node.wxyz = wxyz_from_matrix(R_world_gizmo)
        self._node.active_axes = active if self.axes == LOCAL else ALL_AXES
        self._node.disable_rotations = not turns
        self._node.disable_axes = self._node.disable_sliders = not shifts

    async def _moved(self, event: Any) -> None:
        if event.phase == "start":
            self._dragged = True
        R_world_gizmo = matrix_from_wxyz(np.array(event.target.wxyz, dtype=float))
        R_world_bone = R_world_gizmo @ self._R_start_gizmo.T @ self._R_start_bone
        place: Array | None = np.array(event.target.position, dtype=float)
        if event.client is not None:
            place = limit_target_move(CameraView.of(event.client.camera), self._start, place)
        bone, handle = self.bone, self.handle
        if bone is not None:
            self.worker.post(lambda session: session.turn_bone(bone, R_world_bone, place))
        else:
            self.worker.drag(handle, place, R_world_bone)
        if event.phase == "end":
            self._dragged = False
            name = None if bone is not None else handle
            self.worker.post(lambda session: session.release(name))
