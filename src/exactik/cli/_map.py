"""`exactik map`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from exactik.cli._app import UNDERSTAND, AsJson, command, print_json, say
from exactik.cli._kernels import compiling
from exactik.errors import GoalError, UnknownNameError, UsageError
from exactik.goals import Goal, MarkerGoal, PositionGoal
from exactik.model import Skeleton

if TYPE_CHECKING:
    from exactik.landscape import Basins

__all__ = ["map_command"]


@command(UNDERSTAND, "map")
def map_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE", help="A skeleton file, or human, quadruped, hand or octopus."
        ),
    ],
    goal: Annotated[
        list[str],
        typer.Option(metavar="NAME=X,Y,Z", help="Bone or marker, its place in metres; repeatable."),
    ],
    dofs: Annotated[
        tuple[str, str],
        typer.Option(metavar="DOF DOF", help="Two dofs, such as l_shin.ry r_shin.ry."),
    ],
    target: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Picture to write; .csv for the numbers."
        ),
    ] = Path("map.png"),
    size: Annotated[int, typer.Option(metavar="N", help="Values of each dof.", min=2)] = 181,
    solver: Annotated[str, typer.Option(metavar="NAME", help="Whose basins are shown.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Map the cost over two dofs: where its Hessian is definite, and where starts lead.

    Examples:
        exactik map human --goal r_hand=0.4,-0.2,1.1 --dofs r_upper_arm.ry r_forearm.ry
        exactik map panda.urdf --goal panda_hand=0.5,0,0.4 --dofs panda_joint2.rz panda_joint4.rz
    """
    from exactik.cli._pose import load_figure
    from exactik.landscape import DEFINITENESS_NAMES, compute_landscape, find_basins
    from exactik.problem import Problem
    from exactik.solvers import resolve_method

    resolve_method(solver)
    if target.suffix.lower() not in (".png", ".svg", ".pdf", ".csv"):
        raise UsageError(f"{target}: expected a name that ends with .png, .svg, .pdf or .csv")
    figure = load_figure(model)[0]
    problem = Problem(figure, [_parse_goal(figure, text) for text in goal])
    with compiling():
        land = compute_landscape(problem, dofs, size=size)
        basins = find_basins(land, solver)
    if target.suffix.lower() == ".csv":
        _write_csv(target, basins)
    else:
        _write_picture(target, basins)
    shares = dict(zip(DEFINITENESS_NAMES, (100.0 * land.shares).tolist(), strict=True))
    ends = [
        {**dict(zip(dofs, end, strict=True)), "cost": cost, "share_percent": 100.0 * share}
        for end, cost, share in zip(
            basins.ends.tolist(), basins.costs.tolist(), basins.shares.tolist(), strict=True
        )
    ]
    if as_json:
        print_json({"written": str(target), "shares_percent": shares, "ends": ends})
        return
    say("Hessian: " + ", ".join(f"{share:.1f} % {kind}" for kind, share in shares.items()))
    for end in ends:
        place = ", ".join(f"{dof} {end[dof]:.3f}" for dof in dofs)
        say(f"{end['share_percent']:5.1f} % of starts end at {place} (cost {end['cost']:.3g})")
    say(f"Written: {target}")


def _parse_goal(figure: Skeleton, text: str) -> Goal:
    """Return the goal of a text such as r_hand=0.4,-0.2,1.0."""
    name, _, place = text.partition("=")
    try:
        x, y, z = (float(number) for number in place.split(","))
    except ValueError:
        wrong = f"--goal {text}: expected a bone or marker and a place, such as hand=1,0,0"
        raise GoalError(wrong) from None
    if name in figure.markers:
        return MarkerGoal(name, (x, y, z))
    if name not in figure.bone_names:
        raise UnknownNameError("bone or marker", name, (*figure.bone_names, *figure.markers))
    return PositionGoal(name, (x, y, z))


def _write_picture(target: Path, basins: Basins) -> None:
    from exactik.landscape import draw_basins, draw_definiteness, make_legend

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
    picture.savefig(target, dpi=130)


def _write_csv(target: Path, basins: Basins) -> None:
    from exactik.io import open_atomic
    from exactik.landscape import DEFINITENESS_NAMES

    land = basins.landscape
    lines = [f"{land.dofs[0]},{land.dofs[1]},cost,eigenvalue_1,eigenvalue_2,kind,basin,iterations"]
    kind = land.kind
    for i, j in np.ndindex(*land.cost.shape):
        numbers = (land.first[i], land.second[j], land.cost[i, j], *land.eigenvalues[i, j])
        text = ",".join(f"{value:.9g}" for value in numbers)
        name = DEFINITENESS_NAMES[kind[i, j]]
        lines.append(f"{text},{name},{basins.label[i, j]},{basins.iterations[i, j]}")
    with open_atomic(target) as file:
        file.write("\n".join([*lines, ""]))
