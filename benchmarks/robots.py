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
from exactik.typing import Array

SHARED = Path(__file__).resolve().parents[2] / "shared"
URDF = SHARED / "data" / "robots" / "urdf"
ATTEMPTS = 30
PASSES = 5
HANDS_AND_FEET = (
    "left_rubber_hand",
    "right_rubber_hand",
    "left_ankle_roll_link",
    "right_ankle_roll_link",
)


class Bounded(Protocol):
    """Whatever knows the limits (joints, 2), and how many coordinates of a root come before."""

    limits: Array
    skip: int


def random_coordinates(judge: Bounded, count: int, rng: np.random.Generator) -> Array:
    """Uniform within the limits, half a turn where they allow more; a root near the origin."""
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


def panda() -> Case:
    """The poses of the protocol."""
    path, tools = SHARED / "peers" / "panda.urdf", ("panda_hand_tcp",)
    judge = Judge(path, tools, False)
    file = np.load(SHARED / "peers" / "panda_targets.npz")
    np.testing.assert_allclose(np.column_stack([file["lo"], file["hi"]]), judge.limits)
    for q, T in zip(file["q_goal"], file["T"], strict=True):
        np.testing.assert_allclose(judge.forward(q), T[None], atol=1e-9)
    starts = np.concatenate([file["q_start"][:, None], file["restarts"]], axis=1)[:, :ATTEMPTS]
    return Case("Panda", path, tools, False, judge, file["T"][:, None], starts)


def drawn(name: str, path: Path, tools: tuple[str, ...], count: int, floating: bool) -> Case:
    """Poses of the same kind for another robot; a floating one starts at rest, an arm anywhere."""
    judge, rng = Judge(path, tools, floating), np.random.default_rng(1)
    targets = np.array([judge.forward(q) for q in random_coordinates(judge, count, rng)])
    starts = random_coordinates(judge, count * ATTEMPTS, rng).reshape(count, ATTEMPTS, -1)
    if floating:
        starts[:, 0] = np.r_[0, 0, 0, 1, 0, 0, 0, np.clip(0.0, *judge.limits.T)]
    return Case(name, path, tools, floating, judge, targets, starts)


class Answers(NamedTuple):
    """What a solver said to all problems of a case.

    Attributes:
        q: (problems, nq).
        ms: (passes, problems) milliseconds.
    """

    q: Array
    ms: Array


class Ours:
    """Exactik, in the coordinates of the judge."""

    name = f"exactik {version('exactik')}"

    def __init__(self, case: Case) -> None:
        self.case = case
        self.skeleton = ik.load_skeleton(case.path, floating=case.floating)
        places = ik.load_joint_names(case.path, floating=case.floating)
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

    def own(self, q: Array) -> Array:
        """Coordinates of the judge as ours."""
        answer = np.empty_like(q)
        answer[..., self.columns] = q
        return answer

    def forward(self, q: Array) -> Array:
        pose = self.skeleton.forward(self.own(q))
        T = np.tile(np.eye(4), (len(self.bones), 1, 1))
        T[:, :3, :3], T[:, :3, 3] = pose.rotations[self.bones], pose.positions[self.bones]
        return T

    def batch(self, attempts: int, detour: bool = True) -> Answers:
        """All problems in one call, timed by itself."""
        solver = ik.Auto(detour=detour)
        targets = {tool: self.case.targets[:, k] for k, tool in enumerate(self.case.tools)}
        q0 = self.own(self.case.starts[:, 0])
        passes = [
            ik.solve_batch(self.problem, targets, q0=q0, solver=solver, starts=attempts, threads=1)
            for _ in range(1 + PASSES)  # the first also compiles
        ]
        # Unlike CPU time this counts when others had the processor: the middle of the passes for
        # each problem, since the same work is done in all.
        ms = 1e3 * np.median([batch.seconds for batch in passes[1:]], axis=0, keepdims=True)
        return Answers(passes[-1].q[:, self.columns], ms)

    def solve(self, targets: Array, starts: Array) -> Array:
        """One problem in one call from Python."""
        problem = self.problem.with_targets(dict(zip(self.case.tools, targets, strict=True)))
        result = ik.solve(problem, q0=self.own(starts[0]), starts=len(starts))
        return result.q[self.columns]

    def telling(self) -> float:
        """Milliseconds (median) that `solve` spends on `with_targets`."""
        ms = []
        for T in self.case.targets:
            targets = dict(zip(self.case.tools, T, strict=True))
            begin = time.process_time()
            self.problem.with_targets(targets)
            ms.append(1e3 * (time.process_time() - begin))
        return float(np.median(ms))


def ask(solver: Peer, case: Case, attempts: int) -> Answers:
    """Every problem of a case in a call of its own, in CPU time."""
    solver.solve(case.targets[0], case.starts[0])  # first calls import, compile and allocate
    # More than ATTEMPTS are asked only of those who draw their own.
    starts = case.starts[:, np.arange(attempts) % ATTEMPTS]
    ms = np.empty((PASSES, len(starts)))
    q = np.empty((len(starts), starts.shape[2]))
    for k in range(PASSES):
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


def score(case: Case, answers: Answers) -> Score:
    pairs = list(zip(answers.q, case.targets, strict=True))
    reached = np.array([case.judge.reached(q, targets) for q, targets in pairs])
    inside = np.array([case.judge.inside(q) for q in answers.q])
    shares = [100 * float(np.mean(x)) for x in (reached & inside, ~inside)]
    # Of each time the best pass, for everybody: the machine can only add to it.
    return Score(*shares, *np.percentile(answers.ms, [50, 99], axis=1).min(axis=1).tolist())


def some(case: Case) -> Array:
    """Coordinates at which all models must agree."""
    return random_coordinates(case.judge, 20, np.random.default_rng(0))


def row(name: str, attempts: int, s: Score) -> list[str]:
    shares = [f"{s.success:.1f}", f"{s.outside:.1f}"]
    return [name, str(attempts), *shares, f"{s.median:.4f}", f"{s.p99:.3f}"]


def peer_rows(case: Case) -> Iterator[list[str]]:
    """What the peers that are installed reach."""
    for name, build in PEERS.items():
        try:
            peer = build(case.path, case.tools, case.floating)
        except ImportError:
            yield [name, "not installed", "", "", "", ""]
            continue
        if peer is None:
            continue
        case.judge.check(peer, some(case))
        for attempts in (1, ATTEMPTS, 100) if name == "Robotics Toolbox" else (1, ATTEMPTS):
            yield row(peer.name, attempts, score(case, ask(peer, case, attempts)))


HEADERS = ["solver", "starts", "ok %", "outside %", "median ms", "p99 ms"]


def table(report: Report, case: Case) -> None:
    """Ours and the peers on one robot."""
    ours = Ours(case)
    case.judge.check(ours, some(case))
    once, often = (score(case, ours.batch(attempts)) for attempts in (1, ATTEMPTS))
    single = score(case, ask(ours, case, ATTEMPTS))
    rows = [
        # A start of ours has a second descent if limits stop the first; the peers have no such.
        row(f"{ours.name}, no detour", 1, score(case, ours.batch(1, detour=False))),
        row(f"{ours.name}, batch", 1, once),
        row(f"{ours.name}, batch", ATTEMPTS, often),
        row(f"{ours.name}, from Python", ATTEMPTS, single),
    ]
    tools = "" if len(case.tools) == 1 else f", {len(case.tools)} tools"
    dofs = f"{ours.skeleton.nv} dofs{tools}"
    report.title(f"robots: {case.name}, {dofs}, {len(case.targets)} poses, one thread")
    report.table(HEADERS, [*rows, *peer_rows(case)])
    told = ours.telling()
    report.console.print(
        f"from Python: {told:.4f} ms for with_targets, {single.median - told:.4f} ms for the rest"
    )
    # The bars are for the robot of the protocol.
    bars = [60.0, 100.0, 0.05, 0.5, 0.15] if case.name == "Panda" else [None] * 5
    name = case.name
    report.add(
        Metric(f"{name}: success, one start", once.success, "%", bars[0], at_least=True),
        Metric(f"{name}: success, {ATTEMPTS} starts", often.success, "%", bars[1], at_least=True),
        Metric(f"{name}: median, {ATTEMPTS} starts", often.median, "ms", bars[2]),
        Metric(f"{name}: p99, {ATTEMPTS} starts", often.p99, "ms", bars[3]),
        Metric(f"{name}: median of one solve() from Python", single.median - told, "ms", bars[4]),
        Metric(f"{name}: the same with with_targets()", single.median, "ms"),
    )


def cases() -> Iterator[Case]:
    yield panda()
    yield drawn("UR5", URDF / "ur5_robot.urdf", ("tool0",), 500, False)
    yield drawn("iiwa14", URDF / "iiwa14.urdf", ("ee_link",), 500, False)
    yield drawn("G1", URDF / "g1_29dof_rev_1_0.urdf", HANDS_AND_FEET, 200, True)


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
    for case in cases():
        table(report, case)
