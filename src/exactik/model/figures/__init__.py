"""The built-in figures."""

from exactik.model.figures._dress import dress
from exactik.model.figures._hand import hand
from exactik.model.figures._human import human
from exactik.model.figures._octopus import octopus
from exactik.model.figures._quadruped import quadruped
