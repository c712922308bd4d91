"""Files: readers that turn them into models, in metres and radians."""

from exactik.io._couplings import Coupling, apply_couplings
from exactik.io._load import load_couplings, load_joint_names, load_skeleton
from exactik.io._robot import JointPlace

__all__ = [
    "Coupling",
    "JointPlace",
    "apply_couplings",
    "load_couplings",
    "load_joint_names",
    "load_skeleton",
]
