"""Files: readers that turn them into models and recordings, in metres and radians; and writers."""

from exactik.io._load import (
    load_couplings,
    load_joint_names,
    load_markers,
    load_motion,
    load_skeleton,
)
from exactik.io._save import save_markers, save_motion, save_skeleton
from exactik.io.conversion._convert import Conversion, convert
from exactik.io.inspection._facts import (
    BoneFacts,
    DofFacts,
    Facts,
    MarkerFacts,
    SkeletonFacts,
)
from exactik.io.inspection._inspect import READABLE, inspect_file
from exactik.io.robots import Coupling, JointPlace, apply_couplings

__all__ = [
    "READABLE",
    "BoneFacts",
    "Conversion",
    "Coupling",
    "DofFacts",
    "Facts",
    "JointPlace",
    "MarkerFacts",
    "SkeletonFacts",
    "apply_couplings",
    "convert",
    "inspect_file",
    "load_couplings",
    "load_joint_names",
    "load_markers",
    "load_motion",
    "load_skeleton",
    "save_markers",
    "save_motion",
    "save_skeleton",
]
