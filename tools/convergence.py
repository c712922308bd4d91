"""Draw the pictures of docs/choosing-a-solver.md, and print the numbers that it quotes.

    OPENBLAS_NUM_THREADS=1 python tools/convergence.py

Three problems, all solvers with default options, one start: the cost against iterations and against
time; and on many problems, how often each solver succeeds. Times of compiled methods are of runs
cut off after so many iterations, without the call from Python; others are timed by their histories.
`auto` goes without detour, except where it says so.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import exactik as ik
from exactik.solvers import CompiledMethod, Method, View, resolve_method
from exactik.typing import Array

Task = tuple[ik.Problem, Array]  # and where to start
DOCS = Path(__file__).parent.parent / "docs"
GROUPS = {
    "exact Hessian": ("auto", "newton", "newton-pcg", "newton-higham"),
    "Gauss–Newton’s matrix": (
        "levenberg-marquardt",
        "gauss-newton",
        "pseudo-inverse",
        "damped-least-squares",
    ),
    "learnt from gradients": ("bfgs", "l-bfgs", "projected-cg"),
    "no matrix": ("projected-gradient", "jacobian-transpose", "ccd"),
}
BLUE, GREY, OTHER_COLOURS = "#1f5fa8", "#d4d4d4", ("#c2410c", "#2f855a", "#7b3fa0", "#8a6d00")
COLOURS = {
    n: c for group in GROUPS.values() for n, c in zip(group[::-1], OTHER_COLOURS, strict=False)
}
COLOURS["auto"] = BLUE
MIN_GAP, SMALL_GAP = (
    1e-15,
    1e-8,
)  # of the first gap to the best cost: rounding; where the table counts it as closed
CURVE_POINTS, TIMED_RUNS = 40, 5
TURN_LIMITS, FLANGE_POINT = (-2.8973, 2.8973), (0, 0, 0.107)
LINKS = (  # of an arm with the measures of a Panda: offset, quarter turn about x, limits
    ((0, 0, 0.333), 0, TURN_LIMITS),
    ((0, 0, 0), -1, (-1.7628, 1.7628)),
    ((0, -0.316, 0), 1, TURN_LIMITS),
    ((0.0825, 0, 0), 1, (-3.0718, -0.0698)),
    ((-0.0825, 0.384, 0), -1, TURN_LIMITS),
    ((0, 0, 0), 1, (-0.0175, 3.7525)),
    ((0.088, 0, 0), 1, TURN_LIMITS),
)


def make_method(name: str) -> Method:
    """Return a method with default options, but without detour."""
    return ik.Auto(detour=False) if name == "auto" else resolve_method(name)


def compute_bone_transform(
    skeleton: ik.Skeleton, q: Array, bone: str, point: tuple = (0, 0, 0)
) -> Array:
    """Return the transform of a frame at a point of a bone, (4, 4)."""
    pose, T = skeleton.forward(q), np.eye(4)
    T[:3, :3], T[:3, 3] = pose.rotations[skeleton.bone_index(bone)], pose.point(bone, point)
    return T


def draw_pose(figure: ik.Skeleton, spread: float, rng: np.random.Generator) -> Array:
    """Return a pose inside the limits, about so far from neutral [rad or m]."""
    q = figure.integrate(figure.neutral(), spread * rng.normal(size=figure.nv))
    return View(ik.Problem(figure, [ik.PostureGoal(q)])).project(q)


def make_reach_task(seed: int, spread: float = 0.3) -> Task:
    """Return hands and feet to be where a pose has them: 58 dofs, 24 numbers, no residual."""
    figure, tips = ik.human(), ("l_hand", "r_hand", "l_foot", "r_foot")
    q = draw_pose(figure, spread, np.random.default_rng(seed))
    goals = [
        ik.PoseGoal(tip, compute_bone_transform(figure, q, tip), weight=(1, 0.1)) for tip in tips
    ]
    return ik.Problem(figure, goals), figure.neutral()


def make_marker_task(seed: int) -> Task:
    """Return a task of 41 markers with 10 mm of noise."""
    figure, rng = ik.human(), np.random.default_rng(seed)
    seen = figure.forward(draw_pose(figure, 0.3, rng)).markers
    seen = dict(zip(figure.markers, seen + 0.01 * rng.normal(size=seen.shape), strict=True))
    goals = [ik.MarkerGoal(name, place) for name, place in seen.items()]
    return ik.Problem(figure, goals), figure.neutral()


def make_arm() -> ik.Skeleton:
    """Return an arm of seven hinges, all with limits."""
    quarter = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    bones, turns, parent = [], {0: np.eye(3), 1: quarter, -1: quarter.T}, None
    for k, (offset, turn, limits) in enumerate(LINKS, 1):
        joint = ik.Joint.revolute("z", limits=limits)
        bones.append(
            ik.Bone(f"link{k}", parent=parent, offset=offset, pre=turns[turn], joint=joint)
        )
        parent = f"link{k}"
    return ik.Skeleton.build("arm", bones)


def make_arm_task(seed: int, beyond: float = 0.0) -> Task:
    """Return a pose of the flange to reach, from anywhere; its joints may be beyond limits."""
    figure, rng = make_arm(), np.random.default_rng(seed)
    middle, half = 0.5 * (figure.lower + figure.upper), 0.5 * (figure.upper - figure.lower)
    q, q0 = middle + half * rng.uniform(-1, 1, (2, figure.nq)) * [[1 + beyond], [1]]
    goal = ik.PoseGoal(
        "link7",
        compute_bone_transform(figure, q, "link7", FLANGE_POINT),
        FLANGE_POINT,
        weight=(1, 0.1),
    )
    return ik.Problem(figure, [goal]), q0


PICTURES = {
    "reach": ("Human, hands and feet: no residual", lambda: make_reach_task(3)),
    "markers": ("Human, 41 markers with 10 mm of noise", lambda: make_marker_task(2)),
    "arm": ("Arm of seven joints: three end on limits", lambda: make_arm_task(26, 0.2)),
}


class CostCurve(NamedTuple):
    """The cost of one solver at some of its iterations, each (n,), and its result."""

    iterations: Array
    seconds: Array
    cost: Array
    result: ik.Result


def measure_curve(task: Task, name: str) -> CostCurve:
    """Run a solver; the time of a compiled one is that of compiled runs."""
    problem, q0, solver = *task, make_method(name)
    results = [ik.solve(problem, q0=q0, solver=solver, history=True) for _ in range(6)]
    histories = [result.history for result in results if result.history is not None]
    cost, n = histories[0].cost, len(histories[0].cost) - 1
    entries = np.unique(
        np.r_[: min(n, 20) + 1, np.geomspace(1, max(n, 1), CURVE_POINTS).astype(int)]
    )
    if not isinstance(solver, CompiledMethod):
        steps = np.min([np.diff(history.seconds, prepend=0.0) for history in histories], axis=0)
        return CostCurve(
            iterations=entries,
            seconds=np.cumsum(steps)[entries],
            cost=cost[entries],
            result=results[0],
        )
    # An entry of CCD is one dof; an iteration is all of them.
    count = entries / (problem.skeleton.nv if name == "ccd" else 1)
    whole = np.unique(np.ceil(count)).astype(int)
    known = [time_compiled(task, replace(solver, max_iterations=int(k))) for k in whole]
    known = np.minimum.accumulate(known[::-1])[::-1]
    return CostCurve(
        iterations=count,
        seconds=np.interp(count, whole, known),
        cost=cost[entries],
        result=results[0],
    )


def time_compiled(task: Task, solver: Method) -> float:
    """Return the time of the fastest run [s], without the call from Python."""
    (problem, q0), begin = task, time.process_time()
    ik.solve(problem, q0=q0, solver=solver)
    processor = time.process_time() - begin
    goals = [g for g in problem.goals if isinstance(g, ik.PoseGoal | ik.MarkerGoal)]
    targets = {goal.label: np.array([goal.target] * TIMED_RUNS) for goal in goals}
    batch = ik.solve_batch(problem, targets, q0=q0, solver=solver, threads=1)
    return min(processor, float(batch.seconds.min()))


def compute_gaps(curves: dict[str, CostCurve]) -> dict[str, Array]:
    """Return the gap of each solver to the best cost, as a share of the first gap."""
    best, first = min(curve.cost[-1] for curve in curves.values()), curves["auto"].cost[0]
    best = 0.0 if best < MIN_GAP * first else best
    return {
        name: np.maximum((c.cost - best) / (first - best), MIN_GAP) for name, c in curves.items()
    }


def print_table(title: str, curves: dict[str, CostCurve]) -> None:
    """Print iterations and time until hardly anything is left to gain, and of the whole run."""
    print(f"\n{title}\n{'':22}{'iterations':>10} {'ms':>9}   {'in all':>7} {'µs each':>9}  ended")
    for name, gap in compute_gaps(curves).items():
        count, seconds, _, result = curves[name]
        k = int(np.argmax(gap <= SMALL_GAP))
        first = f"{count[k]:10.0f} {1e3 * seconds[k]:9.3f}" if k > 0 else f"{'never':>10} {'':9}"
        rest = f"{result.iterations:7d} {1e6 * seconds[-1] / count[-1]:9.1f}  {result.ended}"
        print(f"{name:22}{first}   {rest}")


PROBLEM_SETS: dict[str, tuple[int, Callable[[int], Task]]] = {
    "hands and feet reached": (40, lambda seed: make_reach_task(seed, 1.0)),
    "markers fitted as well as by any": (20, make_marker_task),
    "pose of the arm reached": (100, lambda seed: make_arm_task(1000 + seed)),
}


def find_successes(kind: str, results: list[ik.Result]) -> list[bool]:
    """Return which results reached their goals.

    For markers: at rest (1e-6) in the lowest minimum that any solver found (0.1 %).
    """
    if not kind.startswith("markers"):
        return [result.reached for result in results]
    lowest = min(result.cost for result in results)
    places = [View(result.problem).at(result.q) for result in results]
    return [place.projected_gradient <= 1e-6 and place.cost <= 1.001 * lowest for place in places]


def measure_success() -> dict[str, dict[str, float]]:
    """Return the share of success [%] of each solver, by kind of problem, and print it."""
    solvers = {"auto": ik.Auto(), "auto, no detour": make_method("auto")}
    solvers |= {name: make_method(name) for name in ik.list_solvers() if name != "auto"}
    shares: dict[str, dict[str, float]] = {}
    for kind, (count, build) in PROBLEM_SETS.items():
        successes = []
        for problem, q0 in map(build, range(count)):
            results = [ik.solve(problem, q0=q0, solver=solver) for solver in solvers.values()]
            successes.append(find_successes(kind, results))
        shares[kind] = dict(zip(solvers, 100 * np.mean(successes, axis=0), strict=True))
        lines = [f"{name:22}{share:5.0f}" for name, share in shares[kind].items()]
        print("\n".join([f"\n{kind}, % of {count}", *lines]))
    return shares


def place_labels(axes: Any, lines: dict[str, Array]) -> None:
    """Write each name beside its line, given in pixels (n, 2), where it covers least."""
    whole, drawn = axes.get_window_extent(), []
    every = np.vstack([resample_line(dots) for dots in lines.values()])
    for name, dots in lines.items():
        words = re.sub(r"(.{8,}-)", r"\1\n", name)  # long ones on two lines
        text = axes.text(0, 0, words, color=COLOURS[name], fontsize=7.5, va="bottom", linespacing=1)
        size = np.array(text.get_window_extent().size)
        best, place = np.inf, np.zeros(2)
        for gap, end, across, up in product(
            (6, 18, 30), resample_line(dots)[::-1], (1, -1), (0, 1, -1)
        ):
            centre = end + (0.5 * size + gap) * (across, up)
            low, high = centre - 0.5 * size, centre + 0.5 * size
            covered = ((every > low - 4) & (every < high + 4)).all(axis=1).sum() + 0.2 * gap
            covered += 1000 * sum(((low < b + 4) & (a - 4 < high)).all() for a, b in drawn)
            inside = (low > whole.min + 5).all() and (high < whole.max - 5).all()
            if inside and covered < best:
                best, place = covered, low
        text.set_position(axes.transData.inverted().transform(place))
        drawn.append((place, place + size))


def resample_line(dots: Array) -> Array:
    """Return points every three pixels along a line."""
    length = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(dots, axis=0), axis=1))]
    lengths = np.arange(0.0, length[-1], 3.0)
    return np.stack([np.interp(lengths, length, dots[:, k]) for k in (0, 1)], axis=1)


def make_figure(height: float, rows: int, columns: int) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, height), layout="constrained")
    FigureCanvasAgg(figure)  # measures text
    return figure, figure.subplots(rows, columns, sharey=True, sharex="row", squeeze=False)


def draw_curves(name: str, title: str, curves: dict[str, CostCurve]) -> None:
    """A column for each group of solvers; iterations above, time below."""
    figure, panels = make_figure(6.2, 2, len(GROUPS))
    figure.suptitle(title, fontsize=11, x=0.01, ha="left", weight="bold")
    gap = compute_gaps(curves)
    for row, unit in enumerate(("iterations", "milliseconds")):
        xs = {n: c.iterations if row == 0 else 1e3 * c.seconds for n, c in curves.items()}
        least = 0.8 if row == 0 else 0.5 * min(x[x > 0].min() for x in xs.values())
        for axes, (group, members) in zip(panels[row], GROUPS.items(), strict=True):
            for n, x in xs.items():
                mine = n in members or n == "auto"
                colour, width = (COLOURS[n], 1.7) if mine else (GREY, 0.7)
                axes.plot(np.maximum(x, least), gap[n], color=colour, lw=width, zorder=width)
            axes.set(xscale="log", yscale="log", ylim=(MIN_GAP / 3, 5), xlim=(least, None))
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(labelsize=7.5)
            axes.set_xlabel(unit, fontsize=8)
            axes.set_title(group if row == 0 else "", fontsize=9)
        panels[row][0].set_ylabel("left to gain, share of all", fontsize=8)
    figure.canvas.draw()
    for axes, members in zip(panels.flat, 2 * list(GROUPS.values()), strict=True):
        shown = dict(zip(curves, axes.lines, strict=True))
        lines = {n: shown[n].get_xydata() for n in dict.fromkeys(("auto", *members))}
        place_labels(axes, {n: axes.transData.transform(xy) for n, xy in lines.items()})
    save(figure, f"convergence-{name}")


def draw_success(success: dict[str, dict[str, float]]) -> None:
    """Bars; one column for each kind of problem."""
    figure, panels = make_figure(4.4, 1, len(success))
    for axes, (kind, shares) in zip(panels[0], success.items(), strict=True):
        exact = [name.split(",")[0] in GROUPS["exact Hessian"] for name in shares]
        axes.barh(
            list(shares), list(shares.values()), color=np.where(exact, BLUE, "#a9a9a9"), height=0.7
        )
        for k, share in enumerate(shares.values()):
            axes.text(share + 1.5, k, f"{share:.0f}", va="center", fontsize=8, color="#444444")
        axes.set(xlim=(0, 112), xticks=[])
        axes.set_title(f"{kind}, % of {PROBLEM_SETS[kind][0]}", fontsize=8.5, loc="left")
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        axes.tick_params(axis="y", labelsize=8.5, length=0)
    panels[0][0].invert_yaxis()
    save(figure, "success")


def save(figure: Any, name: str) -> None:
    path, text = DOCS / f"{name}.svg", io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    lines = re.sub(r' d="[^"]*"', lambda d: re.sub(r"(\.\d)\d+", r"\1", d[0]), text.getvalue())
    path.write_text(re.sub(r" +$", "", lines, flags=re.M), encoding="utf-8")
    print(f"wrote {path.name}, {path.stat().st_size / 1e3:.0f} kB")


def main() -> None:
    for name, (title, build) in PICTURES.items():
        task = build()
        curves = {n: measure_curve(task, n) for group in GROUPS.values() for n in group}
        print_table(title, curves)
        draw_curves(name, title, curves)
    draw_success(measure_success())


if __name__ == "__main__":
    main()
