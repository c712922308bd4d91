"""The cost over any two dofs: where its Hessian is definite, and which start leads where."""

from exactik.landscape._basins import Basins, find_basins
from exactik.landscape._draw import (
    DEFINITENESS_NAMES,
    draw_basins,
    draw_definiteness,
    draw_surface,
    make_legend,
)
from exactik.landscape._landscape import Landscape, compute_landscape

__all__ = [
    "DEFINITENESS_NAMES",
    "Basins",
    "Landscape",
    "compute_landscape",
    "draw_basins",
    "draw_definiteness",
    "draw_surface",
    "find_basins",
    "make_legend",
]
