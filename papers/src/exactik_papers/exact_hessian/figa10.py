"""Figure A.10: where the Hessian of two links in the plane is definite."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exactik.goals import PositionGoal
from exactik.lab.landscape import (
    DEFINITENESS_NAMES,
    Basins,
    compute_landscape,
    draw_basins,
    draw_definiteness,
    draw_surface,
    find_basins,
    make_legend,
)
from exactik.model import Bone, Joint, Skeleton
from exactik.problem import Problem
from exactik_papers.exact_hessian.plain_newton import ENDS, count_newton_ends
from exactik_papers.experiment import (
    Experiment,
    Findings,
    Picture,
    Progress,
    ResultTable,
    make_claims_table,
)
from exactik_papers.recording import Recording

__all__ = ["EXPERIMENT", "GOALS", "SIZE", "make_two_link_problem"]

GOALS = (1.0, 2.0, 3.0)  # how far the goal is from the root, along x
SIZE = 361  # places along each angle, both ends included: every degree
CLOSE, MANY = 5.0, 0.25  # [degrees] of a solution; share of places that are many
COARSE = 121  # places for the basins
SOME = 0.01  # share of starts at which a fear is real
PUBLISHED = "inside the workspace", "on its edge", "outside"


def make_two_link_problem(goal: float) -> Problem:
    """Return the chain of Figure A.9: two links of length 1, and a goal on the x axis."""
    first = Bone("first", joint=Joint.revolute("z"))
    second = Bone("second", parent="first", offset=(1, 0, 0), joint=Joint.revolute("z"))
    chain = Skeleton.build("two links", [first, second])
    return Problem(chain, [PositionGoal("second", (goal, 0, 0), point=(1, 0, 0), name="tip")])


def run(recording: Recording, out: Path, progress: Progress) -> Findings:
    """Map the three goals; the recording has no part in it."""
    from matplotlib.figure import Figure

    dofs = ("first.rz", "second.rz")
    lands, all_basins, newton_ends = [], [], []
    for k, goal in enumerate(GOALS):
        lands.append(compute_landscape(make_two_link_problem(goal), dofs, size=SIZE))
        all_basins.append(
            find_basins(compute_landscape(make_two_link_problem(goal), dofs, size=COARSE), "auto")
        )
        newton_ends.append(count_newton_ends(goal, COARSE))
        progress(k + 1, len(GOALS) + 1)
    rows, ends, worst = [], [], 0.0
    for goal, place, land, basin in zip(GOALS, PUBLISHED, lands, all_basins, strict=True):
        kind, cost = land.kind, land.cost
        span = [
            (float(cost[kind == definiteness].min()), float(cost[kind == definiteness].max()))
            for definiteness in (0, 2)
        ]
        shares = (100.0 * land.shares).tolist()
        rows.append((f"[{goal:g} 0]", place, *(round(s, 2) for s in shares), *span[0], *span[1]))
        # Hessians on the edge of the workspace: the nearest indefinite place to the solution.
        worst = max(worst, float(cost[kind == 0].max() / cost[kind == 2].min()))
        for end, low, share in zip(basin.ends, basin.costs, basin.shares, strict=True):
            degrees = np.degrees(end).round(1) + 0.0
            ends.append(
                (
                    f"[{goal:g} 0]",
                    *degrees.tolist(),
                    float(low) if low > 1e-15 else 0.0,
                    100.0 * float(share),
                )
            )
    picture = Figure(figsize=(11.5, 7.6), layout="constrained")
    for k, (goal, land) in enumerate(zip(GOALS, lands, strict=True)):
        top = picture.add_subplot(2, 3, k + 1)
        draw_definiteness(top, land, contours=False)
        top.set_title(f"goal [{goal:g} 0]", fontsize=11)
        top.set_aspect("equal")
        draw_surface(picture.add_subplot(2, 3, k + 4, projection="3d"), land)
    picture.legend(handles=make_legend(), loc="outside lower center", ncols=4)
    second = Figure(figsize=(11.5, 5.2), layout="constrained")
    for k, (goal, basin) in enumerate(zip(GOALS, all_basins, strict=True)):
        axes = second.add_subplot(1, 3, k + 1)
        draw_basins(axes, basin)
        axes.set_title(f"goal [{goal:g} 0]", fontsize=11)
        axes.set_aspect("equal")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=8)
    progress(len(GOALS) + 1, len(GOALS) + 1)
    share = [land.shares for land in lands]
    near = _distance_to_indefinite(lands[1].first, lands[1].second, lands[1].kind)
    table = ResultTable(
        "figA10",
        f"Shares of {SIZE} × {SIZE} places, and the cost where the Hessian is definite",
        (
            "goal",
            "where",
            *(f"{kind} %" for kind in DEFINITENESS_NAMES),
            "least f, PD",
            "most f, PD",
            "least f, ND",
            "most f, ND",
        ),
        rows,
    )
    verdicts = make_claims_table(
        "figA10",
        [
            (
                "positive definite only where the residual is small, negative where it is large",
                "said of the pictures",
                f"most f where PD over least f where ND: {worst:.2f} at worst over the goals",
                worst < 1.0,
            ),
            (
                "close to a solution the Hessian is positive definite",
                "implied",
                f"goal [2 0]: an indefinite place {near:.1f}° from the solution, the next on the "
                "grid; there the Hessian is singular",
                near > CLOSE,
            ),
            (
                "even simple skeletons have many indefinite configurations",
                "said of the pictures",
                " / ".join(f"{100 * shares[1]:.1f} %" for shares in share) + " of all places",
                min(shares[1] for shares in share) > MANY,
            ),
            (
                "Newton's method may be attracted to a saddle",
                "feared, not measured",
                "Newton's own step ends at a saddle from "
                + " / ".join(f"{100 * ends['saddle']:.1f} %" for ends in newton_ends)
                + " of the starts, at the highest point from "
                + " / ".join(f"{100 * ends['maximum']:.1f} %" for ends in newton_ends)
                + "; auto, which looks at the sign of the curvature, in the lowest minimum from "
                + " / ".join(
                    f"{100 * _share_in_lowest_minimum(basin):.2f} %" for basin in all_basins
                ),
                min(ends["saddle"] for ends in newton_ends) > SOME,
            ),
            (
                "and converge to a local minimum",
                "feared, not measured",
                "two links have no minimum but the lowest; Figure 5 tells of larger figures",
                None,
            ),
        ],
    )
    lowest = ResultTable(
        "figA10-basins",
        f"Where auto ends, from {COARSE} × {COARSE} starts",
        ("goal", "first angle °", "second angle °", "cost", "share of starts %"),
        ends,
    )
    plain = ResultTable(
        "figA10-newton",
        f"Where Newton's own step ends, without any safeguard, from {COARSE} × {COARSE} starts",
        ("goal", *(f"{name} %" for name in ENDS)),
        [
            (f"[{goal:g} 0]", *(round(100.0 * share, 2) for share in ends.values()))
            for goal, ends in zip(GOALS, newton_ends, strict=True)
        ],
    )
    return Findings(
        [table, lowest, plain, verdicts],
        [
            Picture(
                "figA10",
                "Definiteness of the Hessian over both angles (above), and the cost in the same "
                "colours (below).",
                picture,
            ),
            Picture("figA10-basins", "Which start leads auto to which minimum.", second),
        ],
        [
            "The paper shows pictures and gives no shares; these are ours. The two are the same "
            "up to the eye.",
            "Basins are not in the paper. exactik map draws such a map for any two dofs of any "
            "figure.",
        ],
    )


def _share_in_lowest_minimum(basin: Basins) -> float:
    """Return the share of starts that end in the lowest minimum."""
    return float(basin.shares[basin.costs <= basin.costs.min() + 1e-9].sum())


def _distance_to_indefinite(first: np.ndarray, second: np.ndarray, kind: np.ndarray) -> float:
    """Return how far from θ = 0 the next indefinite place of the grid is [°]."""
    x, y = np.degrees(np.meshgrid(first, second, indexing="ij"))
    return float(np.hypot(x, y)[kind == 1].min())


EXPERIMENT = Experiment(
    "figA10",
    "Figure A.10: definiteness of the Hessian of two links",
    "hessian",
    "Appendix A sweeps both angles of a chain of two links of length 1 over ±180° for the goals "
    "[1 0], [2 0] and [3 0], and colours the Hessian positive definite, indefinite, negative "
    "definite or semi-definite, flat and over the cost as height.",
    run,
)
