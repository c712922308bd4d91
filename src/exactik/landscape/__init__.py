"""The cost over any two dofs: where its Hessian is definite, and which start leads where."""

from exactik.landscape._basins import Basins, basins
from exactik.landscape._draw import (
    KINDS,
    draw_basins,
    draw_definiteness,
    draw_surface,
    legend_of_kinds,
)
from exactik.landscape._landscape import Landscape, landscape

__all__ = [
    "KINDS",
    "Basins",
    "Landscape",
    "basins",
    "draw_basins",
    "draw_definiteness",
    "draw_surface",
    "landscape",
    "legend_of_kinds",
]
