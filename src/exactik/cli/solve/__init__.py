"""`exactik solve`, `exactik calibrate`, `exactik match` and `exactik archive`."""

from exactik.cli.solve._archive import archives
from exactik.cli.solve._calibrate import calibrate
from exactik.cli.solve._command import solve
from exactik.cli.solve._match import match
