"""The scene: floor and lights, instances of meshes, a figure, translucent poses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik.model import Pose, Skeleton
from exactik.player import (
    LIMB_MESH,
    SPHERE_MESH,
    compute_reach,
    make_limbs,
    make_spheres,
    place_limbs,
    place_spheres,
)
from exactik.typing import Array, IntArray
from exactik.viewer._limits import LimitState
from exactik.viewer.page._camera import Framing
from exactik.viewer.page._colours import (
    BONE_COLOUR,
    JOINT_COLOUR,
    LIMIT_COLOURS,
    srgb_to_linear,
)
from exactik.viewer.page._skin import SkinScene
from exactik.visuals import Mesh

__all__ = [
    "BOTH",
    "LOOKS",
    "SKIN",
    "STICKS",
    "FigureBox",
    "FigureScene",
    "Surroundings",
    "add_instances",
    "add_look_widget",
    "add_shell",
    "add_translucent_poses",
    "find_floor",
    "measure_box",
    "set_up_scene",
]

SKIN, STICKS, BOTH = LOOKS = ("skin", "sticks", "both")

# Lines of the floor and of every fourth, of a light page and of a dark one.
FLOOR_COLOURS = (((226, 229, 234), (200, 205, 213)), ((62, 67, 74), (86, 93, 102)))
# Of the reach, from the camera, where lines of the floor fade to nothing: cameras stand three away,
# and somebody who walks off or zooms out shall not leave the floor.
FLOOR_FADE = 20.0
SUN_AZIMUTH = -0.4  # [rad] from the camera: over its left shoulder, wherever a walker goes
INNER_SHARE = 0.45  # width of sticks inside a skin over that of sticks alone: it shall be seen too
OVERLAY_OPACITY = 0.4
SUNK_SHARE = 0.1  # of the size: figures that reach so far below zero do not stand there
BOX_SHARE = 0.52  # of a box's diagonal: half of it, and some room
MAX_BOX_POINTS = 4000  # of a figure's vertices, for the camera: a scan would take 0.1 s a page
# Over what a box needs: robot arms are folded at first, and stretched out twice as large or more.
MAX_ROOM = 1.5
OVERLAY_WIDTH = 0.7  # over that of the figure itself, which must stay visible


class Surroundings:
    """What is around a figure: the floor, the camera, and whether the page is dark.

    Attributes:
        floor: its grid.
        framing: of the camera.
        dark: whether the page is.
    """

    def __init__(self, server: Any, floor: Any, framing: Framing):
        """Begin with a light page."""
        self.server, self.floor, self.framing = server, floor, framing
        self._listeners: list[Callable[[bool], None]] = []
        self._switch: Any = None
        self.set_dark(False)

    def set_dark(self, dark: bool) -> None:
        """Make the page dark, or light again."""
        self.dark = dark
        if self._switch is not None and self._switch.value != dark:
            self._switch.value = dark
        self.server.gui.configure_theme(show_share_button=False, show_logo=False, dark_mode=dark)
        self.floor.cell_color, self.floor.section_color = FLOOR_COLOURS[dark]
        for listener in self._listeners:
            listener(dark)

    def on_dark(self, listener: Callable[[bool], None]) -> None:
        """Call a function with whether the page is dark, now and whenever that changes."""
        self._listeners.append(listener)
        listener(self.dark)

    def add_widget(self, gui: Any) -> Any:
        """Add a switch to a panel."""
        self._switch = dark = gui.add_checkbox("dark", self.dark)

        @dark.on_update
        async def _(_: Any) -> None:
            self.set_dark(bool(dark.value))

        return dark


def set_up_scene(
    server: Any, reach: float, framing: Framing, floor_height: float, floor_name: str = "/floor"
) -> Surroundings:
    """Add floor, lights and camera for a figure.

    No environment map and no shadows: they wash the colours out, and cost most of the frames where
    there is no graphics processor. The panel is docked beside the scene, not above it.

    Args:
        server: viser's.
        reach: of the figure [m].
        framing: what the camera is to see.
        floor_height: of the floor [m].
        floor_name: in the scene.
    """
    server.gui.main_panel.dock_right()
    scene = server.scene
    scene.set_up_direction("+z")
    scene.configure_environment_map(hdri=None)
    scene.configure_default_lights(enabled=False, cast_shadow=False)
    scene.add_light_hemisphere("/sky", ground_color=(130, 125, 120), intensity=2.0)
    x, y = np.cos(framing.azimuth + SUN_AZIMUTH), np.sin(framing.azimuth + SUN_AZIMUTH)
    scene.add_light_directional("/sun", intensity=3.4, position=(1.8 * x, 1.8 * y, 2.5))
    reach = reach if reach > 0.0 else 1.0  # of a figure that is one point
    cell = 10.0 ** np.floor(np.log10(0.4 * reach)) * 2.5
    floor = scene.add_grid(
        floor_name,
        cell_size=cell,
        section_size=4.0 * cell,
        infinite_grid=True,
        fade_distance=FLOOR_FADE * reach,
        fade_strength=2.0,
        shadow_opacity=0.0,
        position=(0.0, 0.0, floor_height),
    )
    framing.set_initial(server)
    return Surroundings(server, floor, framing)


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
        server: viser's.
        name: in the scene.
        mesh: what is copied.
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
    server: Any, name: str, radius: float, colour: Sequence[int], opacity: float, *, visible: bool
) -> Any:
    """Add a translucent sphere, to be put around a marker: one instance, see `add_instances`.

    Args:
        server: viser's.
        name: in the scene.
        radius: of it [m].
        colour: sRGB from 0 to 255, (3,).
        opacity: from 0 to 1.
        visible: whether it is seen at first.
    """
    return add_instances(
        server,
        name,
        SPHERE_MESH,
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

    def on_drag(self, callback: Callable[[str, Any], Awaitable[None]]) -> None:
        """Register a function for drags; it gets the name of the bone and viser's event."""
        for mesh, bones in ((self.bones, self.limbs.bone), (self.joints, self.spheres.bone)):

            async def handle_drag(event: Any, bones: IntArray = bones) -> None:
                if event.instance_index is not None:
                    name = self.skeleton.bone_names[int(bones[event.instance_index])]
                    await callback(name, event)

            mesh.on_drag(handle_drag)
        if self.skin is not None:
            self.skin.on_drag(lambda: self._pose, callback)

    def on_click(self, callback: Callable[[str, Any], Awaitable[None]]) -> None:
        """Register a function for clicks; it gets the name of the bone and viser's event."""
        for mesh, bones in ((self.bones, self.limbs.bone), (self.joints, self.spheres.bone)):

            async def handle_click(event: Any, bones: IntArray = bones) -> None:
                if event.instance_index is not None:
                    name = self.skeleton.bone_names[int(bones[event.instance_index])]
                    await callback(name, event)

            mesh.on_click(handle_click)
        if self.skin is not None:
            self.skin.on_click(lambda: self._pose, callback)


def add_look_widget(gui: Any, figure: FigureScene, choose: Callable[[str], None]) -> Any:
    """Add a choice of `LOOKS` to a panel, for a figure that has a skin; None for one without."""
    if figure.skin is None:
        return None
    look = gui.add_dropdown("figure", list(LOOKS), initial_value=figure.look)

    @look.on_update
    async def _(_: Any) -> None:
        choose(look.value)

    return look


class FigureBox(NamedTuple):
    """Where a figure is in one pose.

    Attributes:
        points: of it [m, world], (n, 3): all joints, some of its vertices.
        middle: of the box around it [m, world], (3,).
        size: of what is around it [m].
        floor: height of the floor that it stands on [m]: zero, or its lowest point below that, as
            of robots whose origin is in their hips.
    """

    points: Array
    middle: Array
    size: float
    floor: float


def measure_box(pose: Pose) -> FigureBox:
    """Return the box around bones, meshes and skins of a figure in one pose.

    The size is the length of the longest chain, so that there is room to move, but not less than
    the box around bones, meshes and skins needs, nor more than `MAX_ROOM` times that.
    """
    skeleton = pose.skeleton
    places = [pose.positions]
    places += skeleton.visuals.compute_vertices(skeleton.bone_names, pose.positions, pose.rotations)
    low = np.min([part.min(axis=0) for part in places if len(part) > 0], axis=0)
    high = np.max([part.max(axis=0) for part in places if len(part) > 0], axis=0)
    share = BOX_SHARE * float(np.linalg.norm(high - low))
    size = min(max(compute_reach(skeleton), share), MAX_ROOM * share)
    floor = find_floor(float(low[2]), size)
    stride = 1 + sum(len(part) for part in places) // MAX_BOX_POINTS
    points = np.concatenate([pose.positions, *(part[::stride] for part in places[1:])])
    return FigureBox(points=points, middle=0.5 * (low + high), size=size, floor=floor)


def find_floor(lowest: float, size: float) -> float:
    """Return the height of the floor [m] under something of a size [m] with its lowest point [m].

    Zero, unless it reaches far below that.
    """
    return lowest if lowest < -SUNK_SHARE * size else 0.0


def add_translucent_poses(
    server: Any,
    skeleton: Skeleton,
    poses: Sequence[Array],
    colours: ArrayLike,
    name: str = "/compared",
) -> Any:
    """Add several poses of a figure, each (nq,), as one batched mesh.

    Args:
        server: viser's.
        skeleton: the figure.
        poses: any number.
        colours: at least one for each pose, (n, 3) from 0 to 255.
        name: in the scene.
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
