"""`exactik map`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from exactik.cli._app import UNDERSTAND, AsJson, command, print_json, say
from exactik.cli._options import argument, output_option, value_option
from exactik.cli._pose import load_figure
from exactik.errors import GoalError, UsageError
from exactik.io import open_atomic


@command(UNDERSTAND, "map")
def map_command(
    model: Annotated[
        str, argument("FIGURE", "A skeleton file, or human, quadruped, hand or octopus.")
    ],
    goal: Annotated[
        list[str],
        value_option(
            "NAME=X,Y,Z", "Bone or marker and its place in metres; may be given repeatedly."
        ),
    ],
    dofs: Annotated[
        tuple[str, str], value_option("DOF DOF", "Two dofs, such as l_shin.ry r_shin.ry.")
    ],
    target: Annotated[
        Path, output_option("FILE", "Picture to write; .csv for the numbers.")
    ] = Path("map.png"),
    size: Annotated[int, value_option("N", "Values of each dof.", min=2)] = 181,
    solver: Annotated[str, value_option("NAME", "Solver whose basins are shown.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Map the cost over two dofs: where its Hessian is definite, and where starts lead.

    Examples:
        exactik map human --goal r_hand=0.4,-0.2,1.1 --dofs r_upper_arm.ry r_forearm.ry
        exactik map panda.urdf --goal panda_hand=0.5,0,0.4 --dofs panda_joint2.rz panda_joint4.rz
    """
    from exactik.lab.landscape import DEFINITENESS_NAMES, make_table, map_basins, save_picture

    if target.suffix.lower() not in (".png", ".svg", ".pdf", ".csv"):
        raise UsageError(f"{target}: expected a name that ends with .png, .svg, .pdf or .csv")
    figure = load_figure(model)[0]
    places = dict(_parse_goal(text) for text in goal)
    basins = map_basins(figure, places, dofs, size, solver)
    if target.suffix.lower() == ".csv":
        with open_atomic(target) as file:
            file.write(make_table(basins))
    else:
        save_picture(basins, target)
    shares = dict(zip(DEFINITENESS_NAMES, (100.0 * basins.landscape.shares).tolist(), strict=True))
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


def _parse_goal(text: str) -> tuple[str, tuple[float, float, float]]:
    """Return the bone or marker, and the place [m], of a text such as r_hand=0.4,-0.2,1.0."""
    name, _, place = text.partition("=")
    try:
        x, y, z = (float(number) for number in place.split(","))
    except ValueError:
        wrong = f"--goal {text}: expected a bone or marker and a place, such as hand=1,0,0"
        raise GoalError(wrong) from None
    return name, (x, y, z)
