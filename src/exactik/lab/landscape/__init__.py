"""The cost over any two dofs: where its Hessian is definite, and which start leads where."""

from exactik.lab.landscape._landscape import Basins, Landscape, compute_landscape, find_basins
from exactik.lab.landscape._map import (
    DEFINITENESS_NAMES,
    draw_basins,
    draw_definiteness,
    draw_surface,
    make_legend,
    make_table,
    map_basins,
    save_picture,
)

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
    "make_table",
    "map_basins",
    "save_picture",
]
