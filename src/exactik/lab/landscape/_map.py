"""A map of the cost for places that bones or markers are to reach; as a picture or a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from exactik.errors import UnknownNameError, UsageError
from exactik.goals import Goal, MarkerGoal, PositionGoal
from exactik.lab.landscape._basins import Basins, find_basins
from exactik.lab.landscape._draw import (
    DEFINITENESS_NAMES,
    draw_basins,
    draw_definiteness,
    make_legend,
)
from exactik.lab.landscape._landscape import compute_landscape
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.solvers import resolve_method

Place = tuple[float, float, float]


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
