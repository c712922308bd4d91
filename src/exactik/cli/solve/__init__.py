"""`exactik solve` and `exactik calibrate`."""

from exactik.cli.solve._calibrate import calibrate
from exactik.cli.solve._command import solve

__all__ = ["calibrate", "solve"]
