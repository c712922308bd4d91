"""Section servo: control loops beside mink, which solves a quadratic program for every step.

Both get the same model (the kinematics of a URDF, a mass of 1 kg on every link), the same start,
targets, speeds and limits; ours judges the poses of both, where targets can be reached. mink has
the weights of ours, 1 m⁻² and 0.1 rad⁻², and its damping of section robots. A loop is frozen while
no joint moves faster than a hundredth of its bound although a tool is more than 1 cm off. Times are
the processor's.
"""

from __future__ import annotations

import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import exactik as ik
from benchmarks.robots import SHARED, URDF
from benchmarks.support.report import Metric, Report
from benchmarks.support.urdf import strip_urdf
from exactik.io import load_joint_names
from exactik.solvers.control import DAMPING
from exactik.spatial import exp_rotation
from exactik.typing import Array, BoolArray

TOOL = "panda_hand_tcp"
STEP_COUNT = 100_000
REACHED_M, REACHED_RAD = 1e-3, 1e-2
ROUNDING = 1e-6  # rad past a limit, and share over a speed, that are no violation
MOVES, AWAY = 0.01, 0.01  # share of a bound; m
LM_DAMPING = 1e-2
DAMPINGS = (10 * DAMPING, DAMPING / 10)  # beside the one that `Servo` has


@dataclass
class Loop:
    """Goals of a robot over time.

    Attributes:
        name: of the row.
        path: of the URDF, as both read it.
        floating: whether the root moves freely.
        start: joint name → value [rad]; others are at the middle of their limits.
        dt: [s].
        hands: bone → its pose in each step, (T, 4, 4).
        feet: bone → its pose, (4, 4).
        tied: bones of which the second is to keep its pose in the first.
        balance: whether the centre of mass is to be over the feet.
    """

    name: str
    path: Path
    start: dict[str, float]
    dt: float
    hands: dict[str, Array]
    floating: bool = False
    feet: dict[str, Array] | None = None
    tied: tuple[str, str] | None = None
    balance: bool = False

    def __post_init__(self) -> None:
        self.skeleton = ik.load_skeleton(self.path, floating=self.floating)
        self.joints = load_joint_names(self.path, floating=self.floating)
        self.q0 = self.skeleton.neutral()
        for name, value in self.start.items():
            self.q0[self.joints[name].q] = value
        self.targets = self.hands | (self.feet or {})

        self.count = len(next(iter(self.hands.values())))

    def relative_pose(self) -> Array:
        """Return the pose of the second tied hand in the first, (4, 4)."""
        assert self.tied is not None
        one, other = (self.hands[bone][0] for bone in self.tied)
        return np.linalg.inv(one) @ other


class Ours:
    """`ik.Servo`."""

    def __init__(self, loop: Loop, damping: float = DAMPING):
        self.name = "exactik"
        if damping != DAMPING:
            self.name += f", damping {damping:g}"
        goals: list[ik.Goal] = [
            ik.PoseGoal(bone, poses[0] if poses.ndim == 3 else poses, name=bone, weight=(1, 0.1))
            for bone, poses in loop.targets.items()
        ]
        if loop.tied is not None:
            one, other = loop.tied
            goals.append(ik.PoseGoal(other, loop.relative_pose(), relative_to=one, name="tied"))
        if loop.balance:
            goals.append(ik.CenterOfMassGoal(over=tuple(loop.feet or {}), name="balance"))
        speeds = loop.skeleton.max_speed.copy()
        speeds[~np.isfinite(speeds)] = 1e3  # of a floating root
        problem = ik.Problem(loop.skeleton, goals)
        self.servo = ik.Servo(problem, loop.dt, q0=loop.q0, max_speed=speeds, damping=damping)

    def step(self, targets: dict[str, Array]) -> Array:
        return self.servo.step(targets)


class Mink:
    """One step of `mink.solve_ik`, with limits of places and speeds."""

    def __init__(self, loop: Loop):
        import mink  # pyright: ignore[reportMissingImports]
        import mujoco

        self.mink, self.loop = mink, loop
        self.name = "mink"
        text = loop.path.read_text("utf-8").replace(
            "</robot>", '<mujoco><compiler fusestatic="false"/></mujoco></robot>'
        )
        spec = mujoco.MjSpec.from_string(text)
        if loop.floating:
            spec.worldbody.first_body().add_freejoint()
        model: Any = spec.compile()
        self.configuration = mink.Configuration(model)
        # q_ours[columns] = q_mujoco
        own = range(1 if loop.floating else 0, model.njnt)
        names = [model.joint(k).name for k in own]
        self.columns = np.r_[: 7 if loop.floating else 0, [loop.joints[n].q for n in names]]
        dofs = {name: loop.joints[name].v for name in names}
        speeds = {name: float(loop.skeleton.max_speed[v]) for name, v in dofs.items()}
        self.limits = [mink.ConfigurationLimit(model), mink.VelocityLimit(model, speeds)]
        self.tasks = {
            bone: mink.FrameTask(bone, "body", 1.0, 0.1**0.5, lm_damping=LM_DAMPING)
            for bone in loop.targets
        }
        self.all: list[Any] = list(self.tasks.values())
        for bone, poses in (loop.feet or {}).items():
            self.tasks[bone].set_target(mink.SE3.from_matrix(poses))
        self.configuration.update(loop.q0[self.columns])
        if loop.tied is not None:
            one, other = loop.tied
            tied = mink.RelativeFrameTask(
                other, "body", one, "body", 1.0, 1.0, lm_damping=LM_DAMPING
            )
            tied.set_target(mink.SE3.from_matrix(loop.relative_pose()))
            self.all.append(tied)
        if loop.balance:
            middle = np.mean([T[:3, 3] for T in (loop.feet or {}).values()], axis=0)
            task = mink.ComTask([1.0, 1.0, 0.0], lm_damping=LM_DAMPING)
            task.set_target(middle)
            self.all.append(task)

    def step(self, targets: dict[str, Array]) -> Array:
        for bone, T in targets.items():
            self.tasks[bone].set_target(self.mink.SE3.from_matrix(T))
        dt = self.loop.dt
        v = self.mink.solve_ik(self.configuration, self.all, dt, "daqp", limits=self.limits)
        self.configuration.integrate_inplace(v, dt)
        q = np.empty(len(self.columns))
        q[self.columns] = self.configuration.q
        return q


def measure(loop: Loop, make: Callable[[Loop], Ours | Mink]) -> list[str]:
    """Return a row: what came of a loop, and the time of its steps."""
    peer, count = make(loop), loop.count
    figure, q, seconds = loop.skeleton, np.empty((count + 1, loop.skeleton.nq)), np.empty(count)
    q[0], failed = loop.q0, ""
    for t in range(count):
        targets = {bone: poses[t] for bone, poses in loop.hands.items()}
        begin = time.thread_time()
        try:
            q[t + 1] = peer.step(targets)
        except Exception as error:  # a program without a solution ends a loop
            failed, q[t + 1 :] = f" ({type(error).__name__} in step {t})", q[t]
        seconds[t] = time.thread_time() - begin
        if failed != "":
            break
    pose = figure.forward(q[1:])
    off, turned = np.zeros(count), np.zeros(count)
    for bone, poses in loop.targets.items():
        k = figure.bone_index(bone)
        T = np.broadcast_to(poses, (count, 4, 4))
        off = np.maximum(off, np.linalg.norm(pose.positions[:, k] - T[:, :3, 3], axis=1))
        cosine = np.einsum("tij,tij->t", pose.rotations[:, k], T[:, :3, :3]) / 2.0 - 0.5
        turned = np.maximum(turned, np.arccos(np.clip(cosine, -1.0, 1.0)))
    can = find_reachable(loop) if not loop.floating else np.ones(count, bool)
    ok = (off < REACHED_M) & (turned < REACHED_RAD)
    ranged = figure.plain_q >= 0
    value = q[1:][:, figure.plain_q[ranged]]
    beyond = np.maximum(figure.lower[ranged] - value, value - figure.upper[ranged]).max(axis=1)
    rates = np.abs(figure.difference(q[1:], q[:-1])) / loop.dt
    share = np.where(np.isfinite(figure.max_speed), rates / figure.max_speed, 0.0).max(axis=1)
    frozen = can & (off > AWAY) & (share < MOVES)
    cells = [
        f"{100 * ok[can].mean():.1f}",
        f"{1e3 * np.sqrt(np.mean(off[can] ** 2)):.2f}",
        f"{1e3 * off[can].max():.0f}",
        f"{100 * np.mean(frozen):.1f}",
        f"{100 * np.mean(beyond > ROUNDING):.1f}",
        f"{share.max():.3f}",
        f"{100 * np.mean(share > 1.0 + ROUNDING):.1f}",
    ]
    if loop.balance:
        com, feet = pose.center_of_mass, loop.feet or {}
        places = np.array([T[:2, 3] for T in feet.values()])
        cells.append(f"{1e3 * np.linalg.norm(com[:, :2] - places.mean(axis=0), axis=1).max():.0f}")
    times = [f"{1e3 * x:.3f}" for x in np.percentile(seconds, [50, 99.9])]
    return [f"{peer.name}{failed}", *cells, *times]


HEADERS = ["", "ok %", "rms mm", "most", "frozen %", "out %", "speed", "fast %"]
TIMES = ["median ms", "99.9 %"]


def make_single_arm(path: Path) -> list[Loop]:
    """Return a Panda's loops: through its singular poses and out of reach, and along its limits."""
    figure, dt = ik.load_skeleton(path), 0.002
    start = [0.3, -0.2, 0.1, -1.8, 0.1, 1.7, 0.8]
    q0 = np.array(start + [0.0] * (figure.nq - 7))
    home = figure.forward(q0)
    k = figure.bone_index(TOOL)
    R, p = home.rotations[k], home.positions[k]
    t = np.linspace(0.0, 1.0, 5000)
    far = np.array([0.95, 0.1, 0.45])  # 0.93 m from the shoulder at (0, 0, 0.333): full stretch
    above = np.array([0.0, 0.0, 0.95])  # over the shoulder, where the first joint turns nothing
    stations = np.array([p, far, p, above, p])
    s = 4.0 * (t - np.sin(8.0 * np.pi * t) / (8.0 * np.pi))
    leg = np.minimum(s.astype(int), 3)
    u = (s - leg)[:, None]
    line = np.tile(np.eye(4), (len(t), 1, 1))
    line[:, :3, :3], line[:, :3, 3] = R, (1 - u) * stations[leg] + u * stations[leg + 1]
    names = [f"panda_joint{i}" for i in range(1, 8)]
    lower, upper = figure.lower[:7], figure.upper[:7]
    swing = np.sin(2 * np.pi * (t[:, None] * [1, 2, 1, 2, 1, 3, 2] + 0.1 * np.arange(7)))
    wide = np.clip(0.5 * (lower + upper) + 0.65 * (upper - lower) * swing, lower, upper)
    rate = np.abs(np.diff(wide, axis=0)).max() / dt
    stretch = max(rate / (0.5 * float(figure.max_speed[:7].min())), 1.0)
    times = np.arange(0.0, 1.0, 1.0 / (len(t) * stretch))
    wide = np.column_stack([np.interp(times, t, column) for column in wide.T])
    poses = figure.forward(np.hstack([wide, np.zeros((len(wide), figure.nq - 7))]))
    along = np.tile(np.eye(4), (len(wide), 1, 1))
    along[:, :3, :3], along[:, :3, 3] = poses.rotations[:, k], poses.positions[:, k]
    return [
        Loop(
            "one arm, through singular poses and to full stretch",
            path,
            dict(zip(names, start, strict=True)),
            dt,
            {TOOL: line},
        ),
        Loop(
            "one arm, along its limits",
            path,
            dict(zip(names, wide[0].tolist(), strict=True)),
            dt,
            {TOOL: along},
        ),
    ]


def find_reachable(loop: Loop) -> BoolArray:
    """Return in which steps all targets can be reached, (T,), by every tenth."""
    goals = [ik.PoseGoal(bone, np.eye(4), name=bone) for bone in loop.hands]
    problem = ik.Problem(loop.skeleton, goals)
    tenth = {bone: poses[::10] for bone, poses in loop.hands.items()}
    return np.repeat(ik.solve_batch(problem, tenth, starts=30).reached, 10)[: loop.count]


def make_two_arms(path: Path, folder: Path) -> Loop:
    """Return two Pandas face to face with an object between their hands that moves and turns."""
    robot = ET.Element("robot", name="two")
    ET.SubElement(robot, "link", name="floor")
    inertial = ET.SubElement(robot[0], "inertial")
    ET.SubElement(inertial, "mass", value="1")
    ET.SubElement(inertial, "inertia", ixx="1", iyy="1", izz="1", ixy="0", ixz="0", iyz="0")
    for side, place, yaw in (("l", "0 0.4 0", "0"), ("r", "0 -0.4 0", "0")):
        text = strip_urdf(path, mujoco=False)
        part = ET.fromstring(text.replace('"panda_', f'"{side}_panda_'))
        joint = ET.SubElement(robot, "joint", name=f"{side}_base", type="fixed")
        ET.SubElement(joint, "parent", link="floor")
        ET.SubElement(joint, "child", link=f"{side}_panda_link0")
        ET.SubElement(joint, "origin", xyz=place, rpy=f"0 0 {yaw}")
        robot.extend(part)
    file = folder / "two.urdf"
    file.write_text(ET.tostring(robot, encoding="unicode"), "utf-8")
    tools = (f"l_{TOOL}", f"r_{TOOL}")
    t = np.linspace(0.0, 1.0, 1000)
    place = np.column_stack(
        [
            0.45 + 0.12 * np.sin(2 * np.pi * t),
            0.15 * np.sin(4 * np.pi * t),
            0.45 + 0.1 * np.cos(2 * np.pi * t),
        ]
    )
    turn = np.array(
        [exp_rotation(np.array([0.0, 0.3 * x, 0.4 * x])) for x in np.sin(2 * np.pi * t)]
    )
    hands = {}
    for tool, side in zip(tools, (1.0, -1.0), strict=True):
        grip = np.eye(4)
        grip[:3, :3] = exp_rotation(np.array([np.pi, 0.0, 0.0]))
        grip[:3, 3] = 0.0, 0.12 * side, 0.0
        T = np.tile(np.eye(4), (len(t), 1, 1))
        T[:, :3, :3], T[:, :3, 3] = turn, place
        hands[tool] = T @ grip
    start = dict(zip(range(1, 8), [0.0, 0.0, 0.0, -2.0, 0.0, 2.0, 0.8], strict=True))
    joints = {f"{side}_panda_joint{i}": x for side in "lr" for i, x in start.items()}
    name = "two arms, hands tied to an object that moves"
    loop = Loop(name, file, joints, 0.01, hands, tied=tools)
    goals = [ik.PoseGoal(tool, hands[tool][0]) for tool in tools]
    loop.q0 = ik.solve(loop.skeleton, goals, q0=loop.q0, starts=30).q.copy()
    return loop


def make_humanoid(folder: Path) -> Loop:
    """Return a G1 that stands, hands tied to an object that moves."""
    file = folder / "g1.urdf"
    file.write_text(strip_urdf(URDF / "g1_29dof_rev_1_0.urdf", mujoco=False), "utf-8")
    figure = ik.load_skeleton(file, floating=True)
    joints = load_joint_names(file, floating=True)
    bent = {
        "hip_pitch": -0.3,
        "knee": 0.6,
        "ankle_pitch": -0.3,
        "elbow": 0.6,
        "shoulder_pitch": -0.3,
    }
    start = {f"{s}_{name}_joint": x for s in ("left", "right") for name, x in bent.items()}
    q0 = figure.neutral()
    for name, value in start.items():
        q0[joints[name].q] = value
    pose, t = figure.forward(q0), np.linspace(0.0, 1.0, 1000)

    def frame(bone: str) -> Array:
        k, T = figure.bone_index(bone), np.eye(4)
        T[:3, :3], T[:3, 3] = pose.rotations[k], pose.positions[k]
        return T

    feet = {f"{s}_ankle_roll_link": frame(f"{s}_ankle_roll_link") for s in ("left", "right")}
    shift = np.column_stack(
        [
            0.06 * np.sin(2 * np.pi * t),
            0.08 * np.sin(4 * np.pi * t),
            0.08 * (np.cos(2 * np.pi * t) - 1),
        ]
    )
    tools = ("left_rubber_hand", "right_rubber_hand")
    hands = {}
    for tool in tools:
        hands[tool] = np.tile(frame(tool), (len(t), 1, 1))
        hands[tool][:, :3, 3] += shift
    return Loop(
        "G1, hands tied to an object that moves, standing",
        file,
        start,
        0.01,
        hands,
        floating=True,
        feet=feet,
        tied=tools,
        balance=True,
    )


def measure_steps(report: Report, loop: Loop) -> None:
    """Measure 10⁵ steps of ours along a loop, there and back."""
    servo = Ours(loop).servo
    ((tool, poses),) = loop.hands.items()
    there_and_back = np.concatenate([np.arange(len(poses)), np.arange(len(poses))[::-1]])
    seconds = np.empty(STEP_COUNT)
    for n in range(STEP_COUNT):
        target = {tool: poses[there_and_back[n % len(there_and_back)]]}
        begin = time.thread_time()
        servo.step(target)
        seconds[n] = time.thread_time() - begin
    median, most = (1e3 * np.percentile(seconds, [50, 99.9])).tolist()
    report.add(
        Metric("servo: median of 1e5 steps, Panda", median, "ms", 0.1),
        Metric("servo: 99.9 % of 1e5 steps, Panda", most, "ms"),
    )


def run(report: Report) -> None:
    """Measure and print the section."""
    path = SHARED / "peers" / "panda.urdf"
    if not path.exists():
        report.title("servo")
        report.console.print("skipped: no ../shared")
        return
    makers: list[Callable[[Loop], Ours | Mink]] = [Ours]
    try:
        version("mink")
        makers.append(Mink)
    except PackageNotFoundError:
        report.console.print("no mink (pip install mink)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = folder / "panda.urdf"
        plain.write_text(strip_urdf(path, mujoco=False), "utf-8")
        single = make_single_arm(plain)
        for loop in [*single, make_two_arms(path, folder), make_humanoid(folder)]:
            hertz = 1.0 / loop.dt
            report.title(f"servo: {loop.name}; {loop.count} steps at {hertz:.0f} Hz")
            headers = [*HEADERS, *(["com mm"] if loop.balance else []), *TIMES]
            others = [partial(Ours, damping=d) for d in DAMPINGS] if loop is single[0] else []
            report.table(headers, [measure(loop, make) for make in (*makers, *others)])
        measure_steps(report, single[0])
