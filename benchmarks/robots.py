"""Section robots: poses of arms and of a humanoid, from anywhere, inside the limits.

Every solver gets the same targets and the same first start; pinocchio, which none of them uses,
judges all answers. Success is an answer that reaches every tool within 1 mm and 0.01 rad with all
joints inside their limits. "Outside" are answers beyond a limit, whether they reach or not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from scipy.spatial.transform import Rotation

import exactik as ik
from benchmarks.support.report import Metric, Report
from benchmarks.support.robot_peers import PEERS, Judge, Peer
from exactik.io import load_joint_names
from exactik.typing import Array

SHARED = Path(__file__).resolve().parents[2] / "shared"
URDF = SHARED / "data" / "robots" / "urdf"
START_COUNT = 30
PASS_COUNT = 5
HANDS_AND_FEET = (
    "left_rubber_hand",
    "right_rubber_hand",
    "left_ankle_roll_link",
    "right_ankle_roll_link",
)


class HasLimits(Protocol):
    """Whatever knows the limits (joints, 2), and how many coordinates of a root come before."""

    limits: Array
    skip: int


def draw_coordinates(judge: HasLimits, count: int, rng: np.random.Generator) -> Array:
    """Return random coordinates, uniform within the limits.

    Half a turn where limits allow more; a root near the origin.
    """
    lower, upper = judge.limits.T
    wide = upper - lower > 2 * np.pi
    q = rng.uniform(np.where(wide, -np.pi, lower), np.where(wide, np.pi, upper), (count, len(wide)))
    if not judge.skip:
        return q
    place = rng.uniform(-0.5, 0.5, (count, 3))
    turn = Rotation.from_rotvec(rng.normal(size=(count, 3), scale=0.5)).as_quat()  # xyzw
    return np.hstack([place, np.roll(turn, 1, axis=1), q])


@dataclass(frozen=True)
class Case:
    """A robot with what it is asked to do.

    Attributes:
        targets: (problems, tools, 4, 4), each within reach.
        starts: (problems, ATTEMPTS, nq), where each attempt begins; ours and the Robotics Toolbox
            take the first and draw the others themselves.
    """

    name: str
    path: Path
    tools: tuple[str, ...]
    floating: bool
    judge: Judge
    targets: Array
    starts: Array


def load_panda_case() -> Case:
    """Return the poses of the protocol."""
    path, tools = SHARED / "peers" / "panda.urdf", ("panda_hand_tcp",)
    judge = Judge(path, tools, False)
    file = np.load(SHARED / "peers" / "panda_targets.npz")
    np.testing.assert_allclose(np.column_stack([file["lo"], file["hi"]]), judge.limits)
    for q, T in zip(file["q_goal"], file["T"], strict=True):
        np.testing.assert_allclose(judge.forward(q), T[None], atol=1e-9)
    starts = np.concatenate([file["q_start"][:, None], file["restarts"]], axis=1)[:, :START_COUNT]
    return Case(
        name="Panda",
        path=path,
        tools=tools,
        floating=False,
        judge=judge,
        targets=file["T"][:, None],
        starts=starts,
    )


def make_random_case(
    name: str, path: Path, tools: tuple[str, ...], count: int, floating: bool
) -> Case:
    """Return poses of the same kind for another robot; a floating one starts at rest."""
    judge, rng = Judge(path, tools, floating), np.random.default_rng(1)
    targets = np.array([judge.forward(q) for q in draw_coordinates(judge, count, rng)])
    starts = draw_coordinates(judge, count * START_COUNT, rng).reshape(count, START_COUNT, -1)
    if floating:
        starts[:, 0] = np.r_[0, 0, 0, 1, 0, 0, 0, np.clip(0.0, *judge.limits.T)]
    return Case(
        name=name,
        path=path,
        tools=tools,
        floating=floating,
        judge=judge,
        targets=targets,
        starts=starts,
    )


class Answers(NamedTuple):
    """Answers of a solver to all problems of a case.

    Attributes:
        q: (problems, nq).
        ms: (passes, problems) milliseconds.
    """

    q: Array
    ms: Array


class Exactik:
    """Exactik, in the coordinates of the judge."""

    name = f"exactik {version('exactik')}"

    def __init__(self, case: Case) -> None:
        self.case = case
        self.skeleton = ik.load_skeleton(case.path, floating=case.floating)
        places = load_joint_names(case.path, floating=case.floating)
        self.joints = case.judge.joints
        dofs = [places[name].v for name in self.joints]
        self.limits = np.column_stack([self.skeleton.lower, self.skeleton.upper])[dofs]
        # q_ours[columns] = q_judge
        self.columns = np.r_[: case.judge.skip, [places[name].q for name in self.joints]]
        goals = [
            ik.PoseGoal(tool, T, weight=(1, 0.1), name=tool)
            for tool, T in zip(case.tools, case.targets[0], strict=True)
        ]
        self.problem = ik.Problem(self.skeleton, goals)
        self.bones = [self.skeleton.bone_index(tool) for tool in case.tools]

    def from_judge(self, q: Array) -> Array:
        """Return coordinates of the judge in the order of the skeleton."""
        answer = np.empty_like(q)
        answer[..., self.columns] = q
        return answer

    def forward(self, q: Array) -> Array:
        pose = self.skeleton.forward(self.from_judge(q))
        T = np.tile(np.eye(4), (len(self.bones), 1, 1))
        T[:, :3, :3], T[:, :3, 3] = pose.rotations[self.bones], pose.positions[self.bones]
        return T

    def solve_batch(self, attempts: int, detour: bool = True) -> Answers:
        """Solve all problems in one call, which times each by itself."""
        solver = ik.Auto(detour=detour)
        targets = {tool: self.case.targets[:, k] for k, tool in enumerate(self.case.tools)}
        q0 = self.from_judge(self.case.starts[:, 0])
        passes = [
            ik.solve_batch(self.problem, targets, q0=q0, solver=solver, starts=attempts, threads=1)
            for _ in range(1 + PASS_COUNT)  # the first also compiles
        ]
        # Unlike CPU time this counts when others had the processor: the middle of the passes for
        # each problem, since the same work is done in all.
        ms = 1e3 * np.median([batch.seconds for batch in passes[1:]], axis=0, keepdims=True)
        return Answers(passes[-1].q[:, self.columns], ms)

    def solve(self, targets: Array, starts: Array) -> Array:
        """Solve one problem in one call from Python."""
        problem = self.problem.with_targets(dict(zip(self.case.tools, targets, strict=True)))
        result = ik.solve(problem, q0=self.from_judge(starts[0]), starts=len(starts))
        return result.q[self.columns]

    def measure_with_targets(self) -> float:
        """Return the median time that `solve` spends on `with_targets` [ms]."""
        ms = []
        for T in self.case.targets:
            targets = dict(zip(self.case.tools, T, strict=True))
            begin = time.process_time()
            self.problem.with_targets(targets)
            ms.append(1e3 * (time.process_time() - begin))
        return float(np.median(ms))


def solve_one_by_one(solver: Peer, case: Case, attempts: int) -> Answers:
    """Solve every problem of a case in a call of its own, in CPU time."""
    solver.solve(case.targets[0], case.starts[0])  # first calls import, compile and allocate
    # Only solvers that draw their own starts are asked for more than START_COUNT.
    starts = case.starts[:, np.arange(attempts) % START_COUNT]
    ms = np.empty((PASS_COUNT, len(starts)))
    q = np.empty((len(starts), starts.shape[2]))
    for k in range(PASS_COUNT):
        for i, targets in enumerate(case.targets):
            begin = time.process_time()
            q[i] = solver.solve(targets, starts[i])
            ms[k, i] = 1e3 * (time.process_time() - begin)
    return Answers(q, ms)


class Score(NamedTuple):
    """Shares of the answers in percent; times in milliseconds."""

    success: float
    outside: float
    median: float
    p99: float


def compute_score(case: Case, answers: Answers) -> Score:
    pairs = list(zip(answers.q, case.targets, strict=True))
    reached = np.array([case.judge.is_reached(q, targets) for q, targets in pairs])
    inside = np.array([case.judge.is_inside(q) for q in answers.q])
    # Of each time the best pass, for everybody: the machine can only add to it.
    median, p99 = np.percentile(answers.ms, [50, 99], axis=1).min(axis=1).tolist()
    return Score(
        success=100 * float(np.mean(reached & inside)),
        outside=100 * float(np.mean(~inside)),
        median=median,
        p99=p99,
    )


def draw_check_coordinates(case: Case) -> Array:
    """Return coordinates at which all models must agree."""
    return draw_coordinates(case.judge, 20, np.random.default_rng(0))


def format_row(name: str, attempts: int, s: Score) -> list[str]:
    shares = [f"{s.success:.1f}", f"{s.outside:.1f}"]
    return [name, str(attempts), *shares, f"{s.median:.4f}", f"{s.p99:.3f}"]


def measure_peers(case: Case) -> Iterator[list[str]]:
    """Yield the rows of the peers that are installed."""
    for name, build in PEERS.items():
        try:
            peer = build(case.path, case.tools, case.floating)
        except ImportError:
            yield [name, "not installed", "", "", "", ""]
            continue
        if peer is None:
            continue
        case.judge.check(peer, draw_check_coordinates(case))
        for attempts in (1, START_COUNT, 100) if name == "Robotics Toolbox" else (1, START_COUNT):
            yield format_row(
                peer.name, attempts, compute_score(case, solve_one_by_one(peer, case, attempts))
            )


HEADERS = ["solver", "starts", "ok %", "outside %", "median ms", "p99 ms"]


def measure_case(report: Report, case: Case) -> None:
    """Measure and print exactik and the peers on one robot."""
    ours = Exactik(case)
    case.judge.check(ours, draw_check_coordinates(case))
    once, often = (compute_score(case, ours.solve_batch(attempts)) for attempts in (1, START_COUNT))
    single = compute_score(case, solve_one_by_one(ours, case, START_COUNT))
    rows = [
        # A start of ours has a second descent if limits stop the first; the peers have no such.
        format_row(
            f"{ours.name}, no detour", 1, compute_score(case, ours.solve_batch(1, detour=False))
        ),
        format_row(f"{ours.name}, batch", 1, once),
        format_row(f"{ours.name}, batch", START_COUNT, often),
        format_row(f"{ours.name}, from Python", START_COUNT, single),
    ]
    tools = "" if len(case.tools) == 1 else f", {len(case.tools)} tools"
    dofs = f"{ours.skeleton.nv} dofs{tools}"
    report.title(f"robots: {case.name}, {dofs}, {len(case.targets)} poses, one thread")
    report.table(HEADERS, [*rows, *measure_peers(case)])
    with_targets_ms = ours.measure_with_targets()
    report.console.print(
        f"from Python: {with_targets_ms:.4f} ms for with_targets, "
        f"{single.median - with_targets_ms:.4f} ms for the rest"
    )
    # The bars are for the robot of the protocol.
    bars = [60.0, 100.0, 0.05, 0.5, 0.06] if case.name == "Panda" else [None] * 5
    name = case.name
    report.add(
        Metric(f"{name}: success, one start", once.success, "%", bars[0], at_least=True),
        Metric(
            f"{name}: success, {START_COUNT} starts", often.success, "%", bars[1], at_least=True
        ),
        Metric(f"{name}: median, {START_COUNT} starts", often.median, "ms", bars[2]),
        Metric(f"{name}: p99, {START_COUNT} starts", often.p99, "ms", bars[3]),
        Metric(
            f"{name}: median of one solve() from Python",
            single.median - with_targets_ms,
            "ms",
            bars[4],
        ),
        Metric(f"{name}: the same with with_targets()", single.median, "ms"),
    )


def make_cases() -> Iterator[Case]:
    yield load_panda_case()
    yield make_random_case("UR5", URDF / "ur5_robot.urdf", ("tool0",), 500, False)
    yield make_random_case("iiwa14", URDF / "iiwa14.urdf", ("ee_link",), 500, False)
    yield make_random_case("G1", URDF / "g1_29dof_rev_1_0.urdf", HANDS_AND_FEET, 200, True)


def run(report: Report) -> None:
    """Measure and print the section."""
    if not (SHARED / "peers" / "panda_targets.npz").exists():
        report.title("robots")
        report.console.print("skipped: no ../shared")
        return
    try:
        report.title(f"robots: judged by pinocchio {version('pin')}")
    except PackageNotFoundError:
        report.title("robots")
        report.console.print("skipped: no judge (pip install pin)")
        return
    for case in make_cases():
        measure_case(report, case)
