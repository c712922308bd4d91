"""The page in the browser: server, scene, shapes, colours; what posing and playback share."""

from exactik.player import DIAMOND_MESH, SPHERE_MESH
from exactik.viewer.page._box import FigureBox, find_floor, measure_box
from exactik.viewer.page._camera import (
    LOW_WINDOW_PIXELS,
    Framing,
    WindowSize,
    fit_camera,
    keep_in_view,
)
from exactik.viewer.page._channel import SEEK_AREA, PageChannel
from exactik.viewer.page._client import add_driver
from exactik.viewer.page._colours import (
    CHOSEN_COLOUR,
    DRAGGED_COLOUR,
    FORCE_COLOUR,
    FREE_COLOUR,
    GHOST_COLOUR,
    GHOST_OPACITIES,
    MARKER_COLOUR,
    NAMED_COLOUR,
    PINNED_COLOUR,
    RESIDUAL_COLOUR,
    SUSPECT_COLOUR,
    TARGET_COLOUR,
    UNNAMED_COLOUR,
    format_hex,
    srgb_to_linear,
)
from exactik.viewer.page._plots import (
    AROUND_PIXELS,
    TimeCurve,
    add_curve_plot,
    draw_time_line,
    draw_time_plot,
    find_round_ticks,
)
from exactik.viewer.page._scene import (
    BOTH,
    LOOKS,
    SKIN,
    STICKS,
    FigureScene,
    add_instances,
    add_look_widget,
    add_shell,
    add_translucent_poses,
)
from exactik.viewer.page._server import is_request_allowed, start_guarded_server, stop_server
from exactik.viewer.page._skin import ON_TOP_OPACITY
from exactik.viewer.page._surroundings import Surroundings, set_up_scene
from exactik.viewer.page._text import escape_markdown
from exactik.viewer.page._upload import (
    MAX_UPLOAD_BYTES,
    Uploads,
    add_open_button,
    describe_error,
    make_safe_name,
)
from exactik.viewer.page._viewer import Viewer

__all__ = [
    "AROUND_PIXELS",
    "BOTH",
    "CHOSEN_COLOUR",
    "DIAMOND_MESH",
    "DRAGGED_COLOUR",
    "FORCE_COLOUR",
    "FREE_COLOUR",
    "GHOST_COLOUR",
    "GHOST_OPACITIES",
    "LOOKS",
    "LOW_WINDOW_PIXELS",
    "MARKER_COLOUR",
    "MAX_UPLOAD_BYTES",
    "NAMED_COLOUR",
    "ON_TOP_OPACITY",
    "PINNED_COLOUR",
    "RESIDUAL_COLOUR",
    "SEEK_AREA",
    "SKIN",
    "SPHERE_MESH",
    "STICKS",
    "SUSPECT_COLOUR",
    "TARGET_COLOUR",
    "UNNAMED_COLOUR",
    "FigureBox",
    "FigureScene",
    "Framing",
    "PageChannel",
    "Surroundings",
    "TimeCurve",
    "Uploads",
    "Viewer",
    "WindowSize",
    "add_curve_plot",
    "add_driver",
    "add_instances",
    "add_look_widget",
    "add_open_button",
    "add_shell",
    "add_translucent_poses",
    "describe_error",
    "draw_time_line",
    "draw_time_plot",
    "escape_markdown",
    "find_floor",
    "find_round_ticks",
    "fit_camera",
    "format_hex",
    "is_request_allowed",
    "keep_in_view",
    "make_safe_name",
    "measure_box",
    "set_up_scene",
    "srgb_to_linear",
    "start_guarded_server",
    "stop_server",
]
