"""Files: readers that turn them into models and recordings, in metres and radians; and writers."""

from exactik.io._couplings import Coupling, apply_couplings
from exactik.io._load import (
    load_couplings,
    load_joint_names,
    load_markers,
    load_motion,
    load_skeleton,
)
from exactik.io._robot import JointPlace
from exactik.io._save import save_markers, save_motion, save_skeleton

__all__ = [
    "Coupling",
    "JointPlace",
    "apply_couplings",
    "load_couplings",
    "load_joint_names",
    "load_markers",
    "load_motion",
    "load_skeleton",
    "save_markers",
    "save_motion",
    "save_skeleton",
]
