"""Control loops: step by step, inside speeds and limits; paths inside speeds."""

from exactik.solvers.control._path import Speeds, find_speeds, limit_changes, limit_speeds
from exactik.solvers.control._servo import DAMPING, Servo

__all__ = ["DAMPING", "Servo", "Speeds", "find_speeds", "limit_changes", "limit_speeds"]
