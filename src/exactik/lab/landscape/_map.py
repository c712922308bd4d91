"""A map of the cost for places that bones or markers are to reach; as a picture or a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exactik.errors import UnknownNameError, UsageError
from exactik.goals import Goal, MarkerGoal, PositionGoal
from exactik.lab.landscape._landscape import (
    MAX_BASINS,
    Basins,
    Landscape,
    compute_landscape,
    find_basins,
)
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.solvers import resolve_method
from exactik.typing import Array

Place = tuple[float, float, float]
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


def map_basins(
    figure: Skeleton, places: Mapping[str, Place], dofs: tuple[str, str], size: int, solver: str
) -> Basins:
    """Return the landscape over two dofs, and where a solver leads from each of its points.

    Args:
        figure: who is to reach the places.
        places: bone or marker → where it is to be [m, world].
        dofs: names of two.
        size: number of values of each.
    """
    resolve_method(solver)  # a misspelt one, before minutes go into the landscape
    problem = Problem(figure, [_make_goal(figure, name, p) for name, p in places.items()])
    return find_basins(compute_landscape(problem, dofs, size=size), solver)


def _make_goal(figure: Skeleton, name: str, place: Place) -> Goal:
    if name in figure.markers:
        return MarkerGoal(name, place)
    if name not in figure.bone_names:
        raise UnknownNameError("bone or marker", name, (*figure.bone_names, *figure.markers))
    return PositionGoal(name, place)


def save_picture(basins: Basins, path: Path) -> None:
    """Draw definiteness and basins side by side; needs matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(
            f"pictures need matplotlib ({error}); in a clone of exactik: pip install '.[plot]'"
        ) from None
    picture = Figure(figsize=(11.5, 5.6), layout="constrained")
    left, right = picture.subplots(1, 2)
    draw_definiteness(left, basins.landscape)
    left.set_title("Hessian of the two dofs; lines of equal cost", fontsize=11)
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.12), "fontsize": 9, "ncols": 2}
    left.legend(handles=make_legend(basins.landscape), **below)
    draw_basins(right, basins)
    right.set_title(f"where {basins.solver} ends, from every start", fontsize=11)
    right.legend(**below)
    picture.savefig(path, dpi=130)


def make_table(basins: Basins) -> str:
    """Return comma-separated rows, one a point: cost, eigenvalues, kind, basin."""
    land = basins.landscape
    lines = [f"{land.dofs[0]},{land.dofs[1]},cost,eigenvalue_1,eigenvalue_2,kind,basin,iterations"]
    kind = land.kind
    for i, j in np.ndindex(*land.cost.shape):
        numbers = (land.first[i], land.second[j], land.cost[i, j], *land.eigenvalues[i, j])
        text = ",".join(f"{value:.9g}" for value in numbers)
        name = DEFINITENESS_NAMES[kind[i, j]]
        lines.append(f"{text},{name},{basins.label[i, j]},{basins.iterations[i, j]}")
    return "\n".join([*lines, ""])


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
