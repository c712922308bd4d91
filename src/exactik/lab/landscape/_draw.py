"""Landscapes and basins as pictures, on axes of matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.lab.landscape._basins import MAX_BASINS, Basins
from exactik.lab.landscape._landscape import Landscape
from exactik.typing import Array

DEFINITENESS_NAMES = ("positive definite", "indefinite", "negative definite", "semi-definite")
DEFINITENESS_COLOURS = ("#ffffff", "#c9ced2", "#5c6870", "#d0021b")  # those of the paper
BASIN_COLOURS = (
    "#0072b2",
    "#c8500a",
    "#00805d",
    "#b0588a",
    "#8a6d00",
    "#56b4e9",
    "#e69f00",
    "#44aa99",
    "#aa4499",
    "#bbbbbb",  # further ones
)
NOT_CONVERGED_COLOUR = "#000000"
SURFACE_LINES = 120  # of a surface along each axis
CONTOUR_LEVELS = 14


def _label_axis(land: Landscape, which: int) -> tuple[Array, str]:
    """Return values and label of a dof: degrees where it turns."""
    values, dof = (land.first, land.second)[which], land.dofs[which]
    skeleton = land.problem.skeleton
    if skeleton.turns[skeleton.dof_names.index(dof)]:
        return np.degrees(values), f"{dof} [°]"
    return values, f"{dof} [m]"


def _set_up_axes(axes: Any, land: Landscape) -> tuple[Array, Array]:
    (x, x_label), (y, y_label) = _label_axis(land, 0), _label_axis(land, 1)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    for values, axis in ((x, axes.xaxis), (y, axes.yaxis)):
        if values[0] == -180.0 and values[-1] == 180.0:
            axis.set_ticks([-180, -90, 0, 90, 180])
    return x, y


def draw_definiteness(axes: Any, land: Landscape, *, contours: bool = True) -> None:
    """Colour the grid points by the definiteness of the Hessian, with lines of equal cost."""
    from matplotlib.colors import ListedColormap

    x, y = _set_up_axes(axes, land)
    colours = ListedColormap(list(DEFINITENESS_COLOURS))
    axes.pcolormesh(x, y, land.kind.T, cmap=colours, vmin=-0.5, vmax=3.5, rasterized=True)
    if contours:
        axes.contour(x, y, land.cost.T, CONTOUR_LEVELS, colors="#0b6a88", linewidths=0.6, alpha=0.7)


def draw_surface(axes: Any, land: Landscape) -> None:
    """Draw the cost as a surface over the two dofs, coloured by definiteness; axes are 3-D."""
    from matplotlib.colors import to_rgba_array

    x, y = _set_up_axes(axes, land)
    step = max(1, len(x) // SURFACE_LINES)
    drawn = np.ix_(np.arange(0, len(x), step), np.arange(0, len(y), step))
    X, Y = np.meshgrid(x[::step], y[::step], indexing="ij")
    axes.plot_surface(
        X,
        Y,
        land.cost[drawn],
        facecolors=to_rgba_array(DEFINITENESS_COLOURS)[land.kind[drawn]],
        rcount=SURFACE_LINES,
        ccount=SURFACE_LINES,
        shade=False,
        edgecolor="#8b979f",
        linewidth=0.12,
    )
    axes.set_zlabel("cost")
    axes.view_init(elev=42, azim=-125)


def draw_basins(axes: Any, basins: Basins) -> None:
    """Colour the grid points by the minimum that they lead to, with a dot at each."""
    from matplotlib.colors import ListedColormap

    land = basins.landscape
    x, y = _set_up_axes(axes, land)
    colours = ListedColormap([NOT_CONVERGED_COLOUR, *BASIN_COLOURS])
    axes.pcolormesh(
        x, y, basins.label.T, cmap=colours, vmin=-1.5, vmax=MAX_BASINS + 0.5, rasterized=True
    )
    axes.contour(x, y, land.cost.T, CONTOUR_LEVELS, colors="#ffffff", linewidths=0.5, alpha=0.6)
    for k, (end, cost) in enumerate(zip(basins.ends, basins.costs, strict=True)):
        point = [
            np.degrees(value) if label.endswith("[°]") else value
            for value, (_, label) in zip(
                end, (_label_axis(land, 0), _label_axis(land, 1)), strict=True
            )
        ]
        share = 100.0 * float(basins.shares[k])
        label = f"cost {cost if cost > 1e-15 else 0:.3g}: {share:.3g} % of starts"
        axes.plot(
            *point, "o", color=BASIN_COLOURS[k], mec="black", ms=7, label=label, clip_on=False
        )


def make_legend(land: Landscape | None = None) -> list[Any]:
    """Return patches for a legend of the kinds, with the shares of a landscape."""
    from matplotlib.patches import Patch

    shares = [""] * 4 if land is None else [f": {100.0 * share:.1f} %" for share in land.shares]
    return [
        Patch(facecolor=colour, edgecolor="#888888", label=f"{kind}{share}")
        for kind, colour, share in zip(
            DEFINITENESS_NAMES, DEFINITENESS_COLOURS, shares, strict=True
        )
    ]
