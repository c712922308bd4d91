"""The page in the browser: server, scene, shapes, colours; what posing and playback share."""

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
    FigureScene,
    add_instances,
    add_translucent_poses,
    set_up_scene,
)
from exactik.viewer.page._server import is_request_allowed, start_guarded_server, stop_server
from exactik.viewer.page._shapes import SPHERE_MESH
from exactik.viewer.page._viewer import Viewer

__all__ = [
    "DRAGGED_COLOUR",
    "FREE_COLOUR",
    "GHOST_COLOUR",
    "MARKER_COLOUR",
    "PINNED_COLOUR",
    "RESIDUAL_COLOUR",
    "SPHERE_MESH",
    "TARGET_COLOUR",
    "FigureScene",
    "Viewer",
    "add_instances",
    "add_translucent_poses",
    "format_hex",
    "is_request_allowed",
    "set_up_scene",
    "srgb_to_linear",
    "start_guarded_server",
    "stop_server",
]
