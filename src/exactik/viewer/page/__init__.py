"""The page in the browser: server, scene, shapes, colours; what posing and playback share."""

from exactik.player import SPHERE_MESH
from exactik.viewer.page._channel import PageChannel
from exactik.viewer.page._client import add_driver
from exactik.viewer.page._colours import (
    DRAGGED_COLOUR,
    FREE_COLOUR,
    GHOST_COLOUR,
    MARKER_COLOUR,
    PINNED_COLOUR,
    RESIDUAL_COLOUR,
    TARGET_COLOUR,
    format_hex,
    srgb_to_linear,
)
from exactik.viewer.page._scene import (
    BOTH,
    LOOKS,
    SKIN,
    STICKS,
    FigureBox,
    FigureScene,
    Surroundings,
    add_instances,
    add_look_widget,
    add_translucent_poses,
    measure_box,
    set_up_scene,
)
from exactik.viewer.page._server import is_request_allowed, start_guarded_server, stop_server
from exactik.viewer.page._skin import ON_TOP_OPACITY
from exactik.viewer.page._viewer import Viewer

__all__ = [
    "BOTH",
    "DRAGGED_COLOUR",
    "FREE_COLOUR",
    "GHOST_COLOUR",
    "LOOKS",
    "MARKER_COLOUR",
    "ON_TOP_OPACITY",
    "PINNED_COLOUR",
    "RESIDUAL_COLOUR",
    "SKIN",
    "SPHERE_MESH",
    "STICKS",
    "TARGET_COLOUR",
    "FigureBox",
    "FigureScene",
    "PageChannel",
    "Surroundings",
    "Viewer",
    "add_driver",
    "add_instances",
    "add_look_widget",
    "add_translucent_poses",
    "format_hex",
    "is_request_allowed",
    "measure_box",
    "set_up_scene",
    "srgb_to_linear",
    "start_guarded_server",
    "stop_server",
]
