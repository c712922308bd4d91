"""A figure in motion in any web page: shapes, a small WebGL player of our own, still pictures."""

from exactik.player._cards import (
    NOTEBOOK_BYTES,
    AskedPlace,
    render_card,
    render_markers_card,
    render_motion_card,
    render_pose_card,
    render_skeleton_card,
)
from exactik.player._data import LookLimits, encode_scene
from exactik.player._page import (
    CONTENT_SECURITY_POLICY,
    dump_json,
    read_player_script,
    read_player_style,
    render_player_frame,
    render_player_page,
)
from exactik.player._plates import METRES_PER_NEWTON, ShownPlate, show_plates
from exactik.player._proportions import Point, compute_reach, find_tip, fit_head_sphere
from exactik.player._scene import (
    MAX_MOTION_BYTES,
    MAX_PLACE,
    Ghost,
    PlayerScene,
    compose_scene,
    pose_figure,
)
from exactik.player._shapes import (
    DIAMOND_MESH,
    LIMB_MESH,
    SPHERE_MESH,
    Limbs,
    Spheres,
    make_limbs,
    make_spheres,
    place_limbs,
    place_spheres,
)
from exactik.player._still import render_still

__all__ = [
    "CONTENT_SECURITY_POLICY",
    "DIAMOND_MESH",
    "LIMB_MESH",
    "MAX_MOTION_BYTES",
    "MAX_PLACE",
    "METRES_PER_NEWTON",
    "NOTEBOOK_BYTES",
    "SPHERE_MESH",
    "AskedPlace",
    "Ghost",
    "Limbs",
    "LookLimits",
    "PlayerScene",
    "Point",
    "ShownPlate",
    "Spheres",
    "compose_scene",
    "compute_reach",
    "dump_json",
    "encode_scene",
    "find_tip",
    "fit_head_sphere",
    "make_limbs",
    "make_spheres",
    "place_limbs",
    "place_spheres",
    "pose_figure",
    "read_player_script",
    "read_player_style",
    "render_card",
    "render_markers_card",
    "render_motion_card",
    "render_player_frame",
    "render_player_page",
    "render_pose_card",
    "render_skeleton_card",
    "render_still",
    "show_plates",
]
