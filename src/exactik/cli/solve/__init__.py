"""`exactik solve`, `exactik calibrate` and `exactik match`."""

from exactik.cli.solve._calibrate import calibrate
from exactik.cli.solve._command import solve
from exactik.cli.solve._match import match

__all__ = ["calibrate", "match", "solve"]
