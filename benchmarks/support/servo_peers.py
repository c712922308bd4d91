"""Control loops of ours, of mink and of Pink, step by step on the same targets, and their judge.

All get the same model (the kinematics of a URDF, a mass of 1 kg on every link, capsules where
bodies are kept apart), the same start, targets, speeds and limits; poses of all are judged by ours,
gaps between bodies by coal. Weights are ours, 1 m⁻² and 0.1 rad⁻², the damping of mink and Pink
is that of section robots. Where a quadratic program has no solution the robot stays as it is.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import exactik as ik
from benchmarks.support.report import Report
from exactik.io import load_joint_names
from exactik.model.shapes import Capsule, Shapes
from exactik.solvers.control import DAMPING
from exactik.typing import Array, BoolArray

REACHED_M, REACHED_RAD = 1e-3, 1e-2
ROUNDING = 1e-6  # rad past a limit, and share over a speed, that are no violation
MOVES, AWAY = 0.01, 0.01  # share of a bound; m
LM_DAMPING = 1e-2
ORIENTATION_COST = 0.1**0.5
MARGIN = 0.005  # m between bodies
NEAR = 0.1  # m at which mink begins to look at a pair
# Pink does best with these: more pairs take longer, and with a cost of its safe displacement, 1 by
# default, it hardly moves.
PAIR_COUNT = 8  # nearest pairs that it looks at
BARRIER = 0.85  # share of a gap that may be used up in a step, as mink's default has it
SAFE_GAIN = 0.0


@dataclass
class Loop:
    """Goals of a robot over time.

    Attributes:
        name: of the row.
        path: of the URDF, as all read it.
        floating: whether the root moves freely.
        start: joint name → value [rad]; others are at the middle of their limits.
        dt: [s].
        hands: bone → its pose in each step, (T, 4, 4).
        feet: bone → its pose, (4, 4).
        tied: bones of which the second is to keep its pose in the first.
        balance: whether the centre of mass is to be over the feet.
        shapes: capsules on bones that are kept apart; none for bodies that pass through each other.
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
    shapes: Sequence[Capsule] = ()

    def __post_init__(self) -> None:
        self.skeleton = ik.load_skeleton(self.path, floating=self.floating)
        if len(self.shapes) > 0:
            self.skeleton = self.skeleton.with_shapes(Shapes(tuple(self.shapes), source="file"))
        self.joints = load_joint_names(self.path, floating=self.floating)
        self.q0 = self.skeleton.neutral()
        for name, value in self.start.items():
            self.q0[self.joints[name].q] = value
        self.targets = self.hands | (self.feet or {})
        self.count = len(next(iter(self.hands.values())))
        self.feet_middle = np.zeros(3)
        if self.feet is not None:
            self.feet_middle = np.mean([T[:3, 3] for T in self.feet.values()], axis=0)

    def relative_pose(self) -> Array:
        """Return the pose of the second tied hand in the first, (4, 4)."""
        assert self.tied is not None
        one, other = (self.hands[bone][0] for bone in self.tied)
        return np.linalg.inv(one) @ other

    def make_problem(self, apart: bool = True) -> ik.Problem:
        """Return the goals of the first step; with bodies apart, if they are to be."""
        goals: list[ik.Goal] = [
            ik.PoseGoal(bone, poses[0] if poses.ndim == 3 else poses, name=bone, weight=(1, 0.1))
            for bone, poses in self.targets.items()
        ]
        if self.tied is not None:
            one, other = self.tied
            goals.append(ik.PoseGoal(other, self.relative_pose(), relative_to=one, name="tied"))
        if self.balance:
            goals.append(ik.CenterOfMassGoal(over=tuple(self.feet or {}), name="balance"))
        if apart and len(self.shapes) > 0:
            goals.append(ik.Collisions(self.skeleton, margin=MARGIN))
        return ik.Problem(self.skeleton, goals)

    def list_pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of capsules that are kept apart, by their numbers."""
        if len(self.shapes) == 0:
            return []
        number = {id(shape): k for k, shape in enumerate(self.skeleton.shapes.shapes)}
        contacts = ik.Collisions(self.skeleton, margin=MARGIN).contacts
        return [(number[id(a)], number[id(b)]) for a, b in contacts]


class Ours:
    """`ik.Servo`."""

    def __init__(self, loop: Loop, damping: float = DAMPING, apart: bool = True):
        self.name = "exactik" + ("" if apart or len(loop.shapes) == 0 else ", bodies pass")
        if damping != DAMPING:
            self.name += f", damping {damping:g}"
        speeds = loop.skeleton.max_speed.copy()
        speeds[~np.isfinite(speeds)] = 1e3  # of a floating root
        problem = loop.make_problem(apart)
        self.servo = ik.Servo(problem, loop.dt, q0=loop.q0, max_speed=speeds, damping=damping)

    def step(self, targets: dict[str, Array]) -> Array:
        return self.servo.step(targets)


class Mink:
    """One step of `mink.solve_ik`, with limits of places, speeds and gaps."""

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
        for k, shape in enumerate(loop.shapes):
            is_ball = np.allclose(*shape.ends)
            kind = mujoco.mjtGeom.mjGEOM_SPHERE if is_ball else mujoco.mjtGeom.mjGEOM_CAPSULE
            geom = spec.body(shape.bone).add_geom(name=f"shape{k}", type=kind, mass=0.0)
            geom.size[0] = shape.radius
            if is_ball:
                geom.pos = shape.ends[0]
            else:
                geom.fromto = shape.ends.ravel()
        model: Any = spec.compile()
        self.configuration = mink.Configuration(model)
        # q_ours[columns] = q_mujoco
        own = range(1 if loop.floating else 0, model.njnt)
        names = [model.joint(k).name for k in own]
        self.columns = np.r_[: 7 if loop.floating else 0, [loop.joints[n].q for n in names]]
        dofs = {name: loop.joints[name].v for name in names}
        speeds = {name: float(loop.skeleton.max_speed[v]) for name, v in dofs.items()}
        self.limits = [mink.ConfigurationLimit(model), mink.VelocityLimit(model, speeds)]
        pairs = [([f"shape{a}"], [f"shape{b}"]) for a, b in loop.list_pairs()]
        if len(pairs) > 0:
            apart = mink.CollisionAvoidanceLimit(
                model,
                pairs,
                minimum_distance_from_collisions=MARGIN,
                collision_detection_distance=NEAR,
            )
            assert len(apart.geom_id_pairs) == len(pairs)
            self.limits.append(apart)
        self.tasks = {
            bone: mink.FrameTask(bone, "body", 1.0, ORIENTATION_COST, lm_damping=LM_DAMPING)
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
            task = mink.ComTask([1.0, 1.0, 0.0], lm_damping=LM_DAMPING)
            task.set_target(loop.feet_middle)
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


class PinocchioModel:
    """The robot as Pinocchio has it, with the same capsules; coal measures the gaps of pairs."""

    def __init__(self, loop: Loop):
        import coal  # pyright: ignore[reportMissingImports]
        import pinocchio as pin  # pyright: ignore[reportMissingImports]

        self.pin: Any = pin
        root = [pin.JointModelFreeFlyer()] if loop.floating else []
        self.model = pin.buildModelFromUrdf(str(loop.path), *root)
        first = 2 if loop.floating else 1
        names = list(self.model.names)[first:]
        # Ours has a quaternion wxyz; Pinocchio, as most in C++, xyzw.
        base = [0, 1, 2, 4, 5, 6, 3] if loop.floating else []
        self.columns = np.array([*base, *(loop.joints[name].q for name in names)])
        self.shapes: Any = pin.GeometryModel()
        for k, shape in enumerate(loop.shapes):
            frame = self.model.frames[self.model.getBodyId(shape.bone)]
            along = shape.ends[1] - shape.ends[0]
            length = float(np.linalg.norm(along))
            made = coal.Capsule(shape.radius, length) if length > 0.0 else coal.Sphere(shape.radius)
            turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), along).matrix()
            turn = turn if length > 0.0 else np.eye(3)
            place = frame.placement * pin.SE3(turn, shape.ends.mean(axis=0))
            self.shapes.addGeometryObject(
                pin.GeometryObject(f"shape{k}", frame.parentJoint, place, made)
            )
        for a, b in loop.list_pairs():
            self.shapes.addCollisionPair(pin.CollisionPair(a, b))

    def measure_gaps(self, q: Array) -> Array:
        """Return the least gap of all pairs in each of some poses of ours (T, nq) [m], (T,)."""
        data, gaps = self.model.createData(), self.pin.GeometryData(self.shapes)
        least = np.empty(len(q))
        for t, row in enumerate(q[:, self.columns]):
            self.pin.computeDistances(self.model, data, self.shapes, gaps, row)
            least[t] = min(result.min_distance for result in gaps.distanceResults)
        return least


class Pink(PinocchioModel):
    """One step of `pink.solve_ik`, with limits of places and speeds, and a barrier of gaps."""

    def __init__(self, loop: Loop):
        super().__init__(loop)
        import pink  # pyright: ignore[reportMissingImports]
        from pink.barriers import SelfCollisionBarrier  # pyright: ignore[reportMissingImports]

        logging.getLogger().setLevel(logging.ERROR)  # it says what 1e-6 rad past a limit is
        self.pink: Any = pink
        self.name, self.dt = "Pink", loop.dt
        data, q = self.model.createData(), loop.q0[self.columns]
        shapes = self.shapes if len(loop.shapes) > 0 else None
        self.configuration = pink.Configuration(self.model, data, q, collision_model=shapes)
        self.tasks = {
            bone: pink.FrameTask(bone, 1.0, ORIENTATION_COST, lm_damping=LM_DAMPING)
            for bone in loop.targets
        }
        self.all: list[Any] = list(self.tasks.values())
        for bone, poses in (loop.feet or {}).items():
            self.tasks[bone].set_target(self.pin.SE3(poses))
        if loop.tied is not None:
            one, other = loop.tied
            tied = pink.tasks.RelativeFrameTask(other, one, 1.0, 1.0, lm_damping=LM_DAMPING)
            tied.set_target(self.pin.SE3(loop.relative_pose()))
            self.all.append(tied)
        if loop.balance:
            task = pink.tasks.ComTask([1.0, 1.0, 0.0], lm_damping=LM_DAMPING)
            task.set_target(loop.feet_middle)
            self.all.append(task)
        self.barriers: list[Any] = []
        if shapes is not None:
            count = min(PAIR_COUNT, len(self.shapes.collisionPairs))
            rate = BARRIER / loop.dt
            self.barriers.append(SelfCollisionBarrier(count, rate, SAFE_GAIN, d_min=MARGIN))

    def step(self, targets: dict[str, Array]) -> Array:
        for bone, T in targets.items():
            self.tasks[bone].set_target(self.pin.SE3(T))
        v = self.pink.solve_ik(
            self.configuration,
            self.all,
            self.dt,
            "daqp",
            barriers=self.barriers,
            safety_break=False,
        )
        self.configuration.integrate_inplace(v, self.dt)
        q = np.empty(len(self.columns))
        q[self.columns] = self.configuration.q
        return q


Peer = Ours | Mink | Pink
HEADERS = ["", "ok %", "rms mm", "most", "frozen %", "out %", "speed", "fast %"]
TIMES = ["median ms", "99.9 %"]


def find_peers(report: Report) -> list[Callable[[Loop], Peer]]:
    """Return ours and those that are installed."""
    makers: list[Callable[[Loop], Peer]] = [Ours]
    for package, make in (("mink", Mink), ("pin-pink", Pink)):
        try:
            version(package)
            makers.append(make)
        except PackageNotFoundError:
            report.console.print(f"no {package} (pip install {package})")
    return makers


def list_headers(loop: Loop) -> list[str]:
    """Return the heads of the columns of `measure`."""
    com = ["com mm"] if loop.balance else []
    apart = ["overlap %", "deepest mm"] if len(loop.shapes) > 0 else []
    return [*HEADERS, *com, *apart, "no answer %", *TIMES]


def measure(loop: Loop, peers: Sequence[Peer]) -> list[list[str]]:
    """Return a row for each: what came of a loop, and the time of its steps, taken in turns."""
    count = loop.count
    q = np.empty((len(peers), count + 1, loop.skeleton.nq))
    q[:, 0], seconds, failed = loop.q0, np.empty((len(peers), count)), np.zeros(len(peers))
    for t in range(count):
        targets = {bone: poses[t] for bone, poses in loop.hands.items()}
        for k, peer in enumerate(peers):
            begin = time.thread_time()
            try:
                q[k, t + 1] = peer.step(targets)
            except Exception:  # a program without a solution: it stays
                q[k, t + 1] = q[k, t]
                failed[k] += 1
            seconds[k, t] = time.thread_time() - begin
    can = find_reachable(loop) if not loop.floating else np.ones(count, bool)
    return [
        [peer.name, *judge(loop, q[k], can), f"{100 * failed[k] / count:.1f}", *tell(seconds[k])]
        for k, peer in enumerate(peers)
    ]


def tell(seconds: Array) -> list[str]:
    """Return the median and the 99.9 % of times in milliseconds."""
    return [f"{1e3 * x:.3f}" for x in np.percentile(seconds, [50, 99.9])]


def judge(loop: Loop, q: Array, can: BoolArray) -> list[str]:
    """Return what came of a loop, whose poses are (T + 1, nq), where its targets can be reached."""
    figure, count = loop.skeleton, loop.count
    pose = figure.forward(q[1:])
    off, turned = np.zeros(count), np.zeros(count)
    for bone, poses in loop.targets.items():
        k = figure.bone_index(bone)
        T = np.broadcast_to(poses, (count, 4, 4))
        off = np.maximum(off, np.linalg.norm(pose.positions[:, k] - T[:, :3, 3], axis=1))
        cosine = np.einsum("tij,tij->t", pose.rotations[:, k], T[:, :3, :3]) / 2.0 - 0.5
        turned = np.maximum(turned, np.arccos(np.clip(cosine, -1.0, 1.0)))
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
        off_middle = pose.center_of_mass[:, :2] - loop.feet_middle[:2]
        cells.append(f"{1e3 * np.linalg.norm(off_middle, axis=1).max():.1f}")
    if len(loop.shapes) > 0:
        gaps = PinocchioModel(loop).measure_gaps(q[1:])
        cells += [f"{100 * np.mean(gaps < 0.0):.1f}", f"{1e3 * max(-gaps.min(), 0.0):.1f}"]
    return cells


def find_reachable(loop: Loop) -> BoolArray:
    """Return in which steps all targets can be reached, (T,), by every tenth."""
    problem = loop.make_problem()
    tenth = {bone: poses[::10] for bone, poses in loop.hands.items()}
    batch = ik.solve_batch(problem, tenth, q0=loop.q0, starts=30)
    return np.repeat(batch.reached, 10)[: loop.count]
