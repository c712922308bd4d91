"""What is drawn of figures: instances of meshes, a figure, translucent poses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik.model import Pose, Skeleton
from exactik.model.visuals import Mesh
from exactik.studio.player.shapes import (
    LIMB_MESH,
    SPHERE_MESH,
    make_limbs,
    make_spheres,
    place_limbs,
    place_spheres,
)
from exactik.studio.viewer._limits import LimitState
from exactik.studio.viewer.page.colours import (
    BONE_COLOUR,
    JOINT_COLOUR,
    LIMIT_COLOURS,
    srgb_to_linear,
)
from exactik.studio.viewer.page.skin import SkinScene
from exactik.studio.viewer.page.widgets import on_value
from exactik.typing import Array, IntArray

BoneCallback = Callable[[str, Any], Awaitable[None]]
EventCallback = Callable[[Any], Awaitable[None]]

SKIN, STICKS, BOTH = LOOKS = ("skin", "sticks", "both")

INNER_SHARE = 0.45  # width of sticks inside a skin over that of sticks alone: it shall be seen too
OVERLAY_OPACITY = 0.4
OVERLAY_WIDTH = 0.7  # over that of the figure itself, which must stay visible


def add_instances(
    server: Any,
    name: str,
    mesh: Mesh,
    positions: Array,
    scales: Array,
    wxyzs: Array | None = None,
    **look: Any,
) -> Any:
    """Add copies of a mesh to the scene of a viser server, to be moved in one message.

    Args:
        positions: of the copies [m], (n, 3).
        scales: (n,), or of each axis (n, 3).
        wxyzs: rotations as quaternions, (n, 4); none if None.
        look: colours and opacity, as viser takes them.
    """
    if wxyzs is None:
        wxyzs = np.tile((1.0, 0.0, 0.0, 0.0), (len(positions), 1))
    return server.scene.add_batched_meshes_simple(
        name,
        mesh.vertices,
        mesh.faces,
        wxyzs,
        positions,
        batched_scales=scales.astype(np.float32),
        cast_shadow=False,
        receive_shadow=False,
        lod="off",
        **look,
    )


def add_shell(
    server: Any,
    name: str,
    radius: float,
    colour: Sequence[int],
    opacity: float,
    *,
    visible: bool,
    mesh: Mesh = SPHERE_MESH,
) -> Any:
    """Add a translucent sphere, to be put around a marker: one instance, see `add_instances`.

    Args:
        radius: of it [m].
        colour: sRGB from 0 to 255, (3,).
    """
    return add_instances(
        server,
        name,
        mesh,
        np.zeros((1, 3)),
        np.array([radius]),
        batched_colors=srgb_to_linear(colour),
        opacity=opacity,
        visible=visible,
    )


class FigureScene:
    """A figure, as its skin, where it has one, or as sticks, each drawn in two messages.

    Attributes:
        node: parent of all parts, to move or hide the figure as a whole.
        skin: its meshes; None if it has none.
        look: what is shown: `SKIN`, `STICKS`, or `BOTH`, the sticks inside a translucent skin.
    """

    def __init__(
        self, server: Any, skeleton: Skeleton, name: str = "/figure", opacity: float | None = None
    ):
        """Add the figure to the scene of a viser server, in its neutral pose."""
        self.server, self.skeleton = server, skeleton
        self.node = server.scene.add_frame(name, show_axes=False)
        self.limbs = make_limbs(skeleton)
        self.spheres = make_spheres(skeleton, self.limbs)
        pose = skeleton.forward(skeleton.neutral())
        positions, wxyzs = place_limbs(self.limbs, pose)
        self.bones = add_instances(
            server,
            f"{name}/bones",
            LIMB_MESH,
            positions,
            self.limbs.scale,
            wxyzs,
            opacity=opacity,
        )
        self.joints = add_instances(
            server,
            f"{name}/joints",
            SPHERE_MESH,
            place_spheres(self.spheres, pose),
            self.spheres.radius,
            opacity=opacity,
        )
        self._painted_levels: NDArray[np.uint8] | None = None
        self._pose = pose
        self.skin = SkinScene(server, skeleton, name, opacity) if skeleton.visuals else None
        self.look = STICKS
        self.paint()
        self.show_as(SKIN)

    def show_as(self, look: str) -> None:
        """Choose what is shown; a figure without a skin is always shown as sticks."""
        self.look = look if self.skin is not None else STICKS
        if self.skin is not None:
            self.skin.show(self.look != STICKS, self.look == BOTH)
        for part in (self.bones, self.joints):
            part.visible = self.look != SKIN
        share = INNER_SHARE if self.look == BOTH else 1.0
        self.bones.batched_scales = (self.limbs.scale * (share, share, 1.0)).astype(np.float32)
        self.joints.batched_scales = (self.spheres.radius * share).astype(np.float32)
        self._place(self._pose)

    def _place(self, pose: Pose) -> None:
        """Move what is shown."""
        self._pose = pose
        if self.skin is not None and self.look != STICKS:
            self.skin.draw(pose)
        if self.look != SKIN:
            positions, wxyzs = place_limbs(self.limbs, pose)
            self.bones.batched_positions = positions.astype(np.float32)
            self.bones.batched_wxyzs = wxyzs.astype(np.float32)
            self.joints.batched_positions = place_spheres(self.spheres, pose).astype(np.float32)

    def draw(self, pose: Pose, limits: LimitState | None = None) -> None:
        """Move the figure; to be called inside `server.atomic()`."""
        self._place(pose)
        if limits is not None and (
            self._painted_levels is None or not np.array_equal(limits.bones, self._painted_levels)
        ):
            self.paint(np.array(LIMIT_COLOURS)[limits.bones])
            self._painted_levels = limits.bones

    def paint(self, colours: NDArray[Any] | None = None) -> None:
        """Set the colour of every bone, (n_bones, 3); the default if None. Limits paint over it."""
        if colours is None:
            colours = np.tile(BONE_COLOUR, (len(self.skeleton.bones), 1))
        self.bones.batched_colors = srgb_to_linear(colours[self.limbs.bone])
        heads = srgb_to_linear(colours[self.spheres.bone])
        joints = srgb_to_linear(JOINT_COLOUR)
        self.joints.batched_colors = np.where(self.spheres.is_head[:, None], heads, joints)
        if self.skin is not None:  # a bone of the usual colour leaves the skin as it is
            usual = (colours == np.array(BONE_COLOUR)).all(axis=1, keepdims=True)
            self.skin.paint(np.where(usual, 255, srgb_to_linear(colours)).astype(np.uint8))
        self._painted_levels = None

    def set_opacity(self, opacity: float) -> None:
        """Make it more or less translucent."""
        self.bones.opacity = self.joints.opacity = opacity
        if self.skin is not None:
            self.skin.set_opacity(opacity)

    def on_drag(self, callback: BoneCallback) -> None:
        """Register a function for drags; it gets the name of the bone and viser's event."""
        self.bones.on_drag(self._name_bone(self.limbs.bone, callback))
        self.joints.on_drag(self._name_bone(self.spheres.bone, callback))
        if self.skin is not None:
            self.skin.on_drag(lambda: self._pose, callback)

    def on_click(self, callback: BoneCallback) -> None:
        """Register a function for clicks; it gets the name of the bone and viser's event."""
        self.bones.on_click(self._name_bone(self.limbs.bone, callback))
        self.joints.on_click(self._name_bone(self.spheres.bone, callback))
        if self.skin is not None:
            self.skin.on_click(lambda: self._pose, callback)

    def _name_bone(self, bones: IntArray, callback: BoneCallback) -> EventCallback:
        """Return a function of viser's events on instances that belong to these bones."""

        async def handle(event: Any) -> None:
            if event.instance_index is not None:
                name = self.skeleton.bone_names[int(bones[event.instance_index])]
                await callback(name, event)

        return handle


def add_look_widget(gui: Any, figure: FigureScene, choose: Callable[[str], None]) -> Any:
    """Add a choice of `LOOKS` to a panel, for a figure that has a skin; None for one without."""
    if figure.skin is None:
        return None
    return on_value(gui.add_dropdown("figure", list(LOOKS), initial_value=figure.look), choose)


def add_translucent_poses(
    server: Any,
    skeleton: Skeleton,
    poses: Sequence[Array],
    colours: ArrayLike,
    name: str = "/compared",
) -> Any:
    """Add several poses of a figure, each (nq,), as one batched mesh.

    Args:
        colours: at least one for each pose, (n, 3) from 0 to 255.
    """
    limbs = make_limbs(skeleton)
    placed = [place_limbs(limbs, skeleton.forward(q)) for q in poses]
    return add_instances(
        server,
        name,
        LIMB_MESH,
        np.concatenate([positions for positions, _ in placed]),
        np.tile(limbs.scale * (OVERLAY_WIDTH, OVERLAY_WIDTH, 1.0), (len(poses), 1)),
        np.concatenate([wxyzs for _, wxyzs in placed]),
        batched_colors=np.repeat(srgb_to_linear(colours)[: len(poses)], len(limbs.bone), axis=0),
        opacity=OVERLAY_OPACITY,
    )
