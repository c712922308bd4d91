"""Figure 6 of the Recipe: passes over the tree, in the frame of the world and of the body."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from exactik.model import Bone, Joint, Skeleton, finite_difference_jacobian, human
from exactik.typing import Array
from exactik_papers.experiment import (
    Experiment,
    Findings,
    Picture,
    Progress,
    ResultTable,
    make_claims_table,
)
from exactik_papers.recipe.jacobian_passes import (
    ADJUSTED,
    BODY,
    DIFFERENCES,
    VELOCITIES,
    WAYS,
    WORLD,
    compute_jacobian,
    operations,
    seconds,
)
from exactik_papers.recording import Recording

__all__ = ["EXPERIMENT", "POINT", "chain", "run", "somewhere"]


LENGTHS = (2, 4, 8, 16, 32)  # joints of the chains
POINT = np.array([0.03, -0.02, 0.05])  # on the bone [m]
STEPS = 10.0 ** np.arange(-11.0, -0.9)  # of differences [rad]
COLORS = {
    WORLD: "tab:red",
    BODY: "tab:green",
    ADJUSTED: "yellowgreen",
    VELOCITIES: "tab:purple",
    DIFFERENCES: "tab:gray",
}


def chain(count: int) -> Skeleton:
    """Return a chain of ball joints with three Euler angles each: the on-path part of a tree."""
    bones, parent = [], None
    for k in range(count):
        joint = Joint.euler("XYZ")
        bones.append(Bone(f"b{k}", parent=parent, offset=(0.0, 0.0, 0.1), joint=joint))
        parent = f"b{k}"
    return Skeleton.build(f"chain of {count}", bones)


def somewhere(skeleton: Skeleton) -> Array:
    """Return a pose away from zero, (nq,), inside the limits."""
    return skeleton.clip(np.random.default_rng(6).uniform(-0.5, 0.5, skeleton.nq))


def run(
    recording: Recording,
    out: Path,
    progress: Progress,
    *,
    lengths: Sequence[int] = LENGTHS,
    least: float = 0.02,
) -> Findings:
    """Count and time five ways on chains, on one hand of a human, and on all its bones."""
    figure = human()
    last = {n: chain(n) for n in lengths}
    everything = [bone.name for bone in figure.bones]
    cases: list[tuple[str, Skeleton, list[str]]] = [
        *((skeleton.name, skeleton, [f"b{n - 1}"]) for n, skeleton in last.items()),
        ("human, left hand", figure, ["l_hand"]),
        (f"human, all {len(everything)} bones", figure, everything),
    ]
    rows, cost, apart = [], {}, 0.0
    for k, (name, skeleton, bones) in enumerate(cases):
        q = somewhere(skeleton)
        for way in WAYS:
            count, _ = operations(way, skeleton, q, bones, POINT)
            took = 1e6 * seconds(way, skeleton, q, bones, POINT, least)
            cost[name, way] = count.flops, took
            rows.append((name, skeleton.nv, way, count.flops, count.turns, took))
        exact = [compute_jacobian(way, skeleton, q, bones[-1], POINT) for way in WAYS]
        apart = max(apart, *(float(np.abs(J - exact[0]).max()) for J in exact[1:4]))
        progress(k + 1, len(cases) + 1)
    errors = _errors(figure)
    one, every = cases[-2][0], cases[-1][0]
    longest = cases[len(lengths) - 1][0]

    def said(name: str, a: str, b: str) -> str:
        (fa, ta), (fb, tb) = cost[name, a], cost[name, b]
        return f"{name}: {fb / fa:.2f} times the flops, {tb / ta:.2f} times the time"

    slow = min(cost[one, VELOCITIES][1], cost[one, DIFFERENCES][1]) / cost[one, WORLD][1]
    best = min(error for *_, error in errors)
    verdicts = make_claims_table(
        "recipe-fig6",
        [
            (
                "one pass in the body frame is cheaper than two in the world, for one end",
                "argued by a drawing",
                f"{said(one, WORLD, BODY)}; {said(longest, WORLD, BODY)}",
                cost[one, BODY][1] < cost[one, WORLD][1]
                and cost[longest, BODY][1] < cost[longest, WORLD][1],
            ),
            (
                "and for many ends",
                "not asked",
                said(every, WORLD, BODY),
                cost[every, BODY][1] < cost[every, WORLD][1],
            ),
            (
                "the adjustment for Euler angles (section 2.3) costs nothing worth mention",
                "'add a few lines'",
                said(one, BODY, ADJUSTED),
                cost[one, ADJUSTED][1] < 1.1 * cost[one, BODY][1],
            ),
            (
                "finite differences and unit velocities are not efficient",
                "said",
                f"on {one} at least {slow:.0f} times the time of two passes; "
                f"{said(one, WORLD, VELOCITIES)}; differences: {said(one, WORLD, DIFFERENCES)}",
                slow > 2.0,
            ),
            (
                "the choice of the frame does not change the Jacobian, but for rounding",
                "said",
                f"at most {apart:.1e} apart, in the axes of the world",
                apart < 1e-12,
            ),
            (
                "differences are sensitive to the step",
                "said",
                f"central: largest error {best:.1e} at best, {errors[-1][2]:.1e} with a step of "
                f"{errors[-1][0]:g}, {errors[0][2]:.1e} with {errors[0][0]:g}",
                max(errors[0][2], errors[-1][2]) > 100.0 * best,
            ),
        ],
    )
    progress(len(cases) + 1, len(cases) + 1)
    return Findings(
        [
            ResultTable(
                "recipe-fig6",
                "The Jacobian of a point, by five ways",
                ("figure", "dofs", "way", "flops", "sines and cosines", "µs"),
                rows,
            ),
            verdicts,
            ResultTable(
                "recipe-fig6-steps",
                "error of differences against their step",
                ("step [rad or m]", "forward [m]", "central [m]"),
                errors,
                shown=False,
            ),
        ],
        [
            Picture(
                "recipe-fig6",
                "Left: flops, and middle: time on chains of ball joints, whose joints are all on "
                "the path. Right: error of differences.",
                _drawn(lengths, [case[0] for case in cases], cost, errors),
            )
        ],
        [
            "The Recipe draws passes and gives no numbers; all of these are ours. Flops are "
            "counted by running the kernels with numbers that count; times are of compiled loops.",
            "Two passes in the world compute the frames of the whole figure, as nearly every "
            "program has them anyway; on a chain all of them are on the path. One set of frames "
            "then serves any number of ends, while each end needs a pass of its own in its body.",
            "Each way leaves its Jacobian in its own frame. To compare, those of the body are "
            "turned by R only: the full adjoint of equation (13) leads to the velocity at the "
            "world's origin instead.",
        ],
    )


def _errors(figure: Skeleton) -> list[tuple[float, float, float]]:
    """Return step, and the largest error of forward and of central differences."""
    q = somewhere(figure)
    exact = compute_jacobian(WORLD, figure, q, "l_hand", POINT)

    def error(scheme: str, h: float) -> float:
        J = finite_difference_jacobian(figure, q, "l_hand", POINT, scheme=scheme, step=h)  # type: ignore[arg-type]
        return float(np.abs(J - exact).max())

    return [(h, error("forward", h), error("central", h)) for h in STEPS.tolist()]


def _drawn(
    lengths: Sequence[int],
    names: Sequence[str],
    cost: dict[tuple[str, str], tuple[int, float]],
    errors: Sequence[tuple[float, float, float]],
) -> object:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for axes, which, label in ((left, 0, "flops"), (middle, 1, "time [µs]")):
        for way in WAYS:
            values = [cost[name, way][which] for name in names[: len(lengths)]]
            axes.loglog(lengths, values, "o-", color=COLORS[way], label=way, ms=4)
        axes.set_xlabel("ball joints of a chain")
        axes.set_ylabel(label)
        axes.set_xticks(list(lengths), [str(n) for n in lengths])
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        axes.grid(alpha=0.3)
    left.legend(fontsize=8)
    h, forward, central = np.array(errors).T
    right.loglog(h, forward, "o-", color="silver", label="forward", ms=4)
    right.loglog(h, central, "o-", color="tab:gray", label="central", ms=4)
    right.set_xlabel("step of the differences [rad or m]")
    right.set_ylabel("largest error [m]")
    right.grid(alpha=0.3)
    right.legend(fontsize=8)
    return figure


EXPERIMENT = Experiment(
    "recipe-fig6",
    "Figure 6: passes for the two algorithms",
    "recipe",
    "A drawing: the cross-product method needs 'multiple passes (at least two)' to the frame of "
    "the world, the generic Jacobian one, 'often shorter', to that of the body. Finite "
    "differences and unit velocities are said not to be efficient.",
    run,
)
