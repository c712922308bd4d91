"""Control loops: step by step, inside speeds and limits."""

from exactik.solvers.control._servo import Servo
