"""The built-in figures."""

from exactik.model.figures._human import human
from exactik.model.figures._more_figures import dress, hand, octopus, quadruped
