"""The judge and the peers of section robots, each behind the same small interface.

The settings of the peers are the best of a few that were tried on other poses than those reported,
so that no peer loses by a default that nobody would keep. All stop as soon as they are well inside
the tolerance of the judge: going further would only cost them time.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.support.arrays import Array
from benchmarks.support.urdf import (
    find_chain,
    make_axis_frame,
    read_limits,
    read_origin,
    strip_urdf,
)

POSITION_TOLERANCE, ROTATION_TOLERANCE = 1e-3, 1e-2  # [m], [rad] that count as reached
LIMIT_ROUNDING = 1e-9  # [rad] past a limit that are no violation
TOLERANCE_SHARE = (
    0.9  # peers stop at this fraction of it, since their measures of error are not the judge's
)


class Model(Protocol):
    """A model of a robot, the judge's or a peer's.

    Coordinates are, for everybody, those of the root if it floats (x y z, then a quaternion wxyz)
    and then one for each joint in `joints`.
    """

    joints: list[str]
    limits: Array  # (joints, 2)

    def forward(self, q: Array) -> Array:
        """Poses (tools, 4, 4) of the tools."""
        ...


class Peer(Model, Protocol):
    """A solver with its own model of the robot."""

    name: str

    def solve(self, targets: Array, starts: Array) -> Array:
        """One answer to one problem, with as many attempts as there are rows in `starts`."""
        ...


class Judge:
    """Pinocchio's forward kinematics and limits, in the coordinates that `Model` describes."""

    def __init__(self, path: Path, tools: tuple[str, ...], floating: bool) -> None:
        self.pinocchio: Any = import_module("pinocchio")
        root = (self.pinocchio.JointModelFreeFlyer(),) if floating else ()
        self.model = self.pinocchio.buildModelFromUrdf(str(path), *root)
        self.data = self.model.createData()
        self.frames = [self.model.getFrameId(tool) for tool in tools]
        self.skip = 7 if floating else 0
        self.joints: list[str] = list(self.model.names)[2 if floating else 1 :]
        lower, upper = self.model.lowerPositionLimit, self.model.upperPositionLimit
        self.limits = np.column_stack([lower, upper])[self.skip :]
        assert self.model.nq == self.skip + len(self.joints)

    def forward(self, q: Array) -> Array:
        theirs = q.copy()
        if self.skip:
            theirs[3:7] = np.roll(q[3:7], -1)  # wxyz to xyzw
        self.pinocchio.framesForwardKinematics(self.model, self.data, theirs)
        return np.array([self.data.oMf[frame].homogeneous for frame in self.frames])

    def is_reached(self, q: Array, targets: Array) -> bool:
        T = self.forward(q)
        position = np.linalg.norm(T[:, :3, 3] - targets[:, :3, 3], axis=1)
        turn = np.swapaxes(T[:, :3, :3], 1, 2) @ targets[:, :3, :3]
        rotation = [np.linalg.norm(self.pinocchio.log3(R)) for R in turn]
        return bool(position.max() < POSITION_TOLERANCE and max(rotation) < ROTATION_TOLERANCE)

    def is_inside(self, q: Array) -> bool:
        lower, upper = self.limits.T
        q = q[self.skip :]
        return bool((q >= lower - LIMIT_ROUNDING).all() and (q <= upper + LIMIT_ROUNDING).all())

    def check(self, other: Model, poses: Array) -> None:
        """Assert that it is the same robot for others: joints, limits, and tools at some poses."""
        assert other.joints == self.joints, (other.joints, self.joints)
        np.testing.assert_allclose(other.limits, self.limits, rtol=0, atol=1e-9)
        for q in poses:
            np.testing.assert_allclose(other.forward(q), self.forward(q), rtol=0, atol=1e-9)


def make_toolbox(path: Path, tools: tuple[str, ...], floating: bool) -> Peer | None:
    """The Robotics Toolbox, which knows one tool at the end of one chain."""
    return Toolbox(path, tools[0]) if len(tools) == 1 and not floating else None


def make_mink(path: Path, tools: tuple[str, ...], floating: bool) -> Peer | None:
    """Differential inverse kinematics with a quadratic program for every step."""
    return Mink(path, tools, floating)


PEERS = {"Robotics Toolbox": make_toolbox, "mink": make_mink}


class Toolbox:
    """Levenberg–Marquardt in the C++ of the Robotics Toolbox, with damping as Chan proposed."""

    DAMPING = 0.1  # its default 1.0 takes 1.5 × as long
    TOLERANCE = (
        0.5 * (TOLERANCE_SHARE * POSITION_TOLERANCE) ** 2
    )  # on half the square; its default lets misses pass

    def __init__(self, path: Path, tool: str) -> None:
        from roboticstoolbox import ET as Element  # pyright: ignore[reportMissingImports]
        from roboticstoolbox import ETS  # pyright: ignore[reportMissingImports]

        self.name = f"Robotics Toolbox {version('roboticstoolbox-python')}"
        self.joints: list[str] = []
        limits: list[tuple[float, float]] = []
        elements: list[Any] = []
        constant = np.eye(4)
        for joint in find_chain(path, tool):
            constant = constant @ read_origin(joint)
            if joint.get("type") == "fixed":
                continue
            turn = make_axis_frame(
                joint
            )  # the toolbox turns about x, y or z; this makes z of any axis
            limits.append(read_limits(joint))
            elements += [Element.SE3(constant @ turn), Element.Rz(qlim=np.array(limits[-1]))]
            self.joints.append(joint.attrib["name"])
            constant = turn.T
        self.limits = np.array(limits)
        self.ets = ETS([*elements, Element.SE3(constant)])

    def forward(self, q: Array) -> Array:
        return np.asarray(self.ets.fkine(q).A)[None]

    def solve(self, targets: Array, starts: Array) -> Array:
        # It draws its own restarts; a first attempt is all that it takes from us.
        answer = self.ets.ik_LM(
            targets[0],
            starts[0],
            slimit=len(starts),
            tol=self.TOLERANCE,
            k=self.DAMPING,
            method="chan",
        )
        return np.asarray(answer.q)


class Mink:
    """The steps of mink, each from a quadratic program that daqp solves, until they arrive."""

    ITERATIONS = 50
    DAMPING = 1e-2  # without it 40 instead of 54 % of single attempts succeed on the Panda

    def __init__(self, path: Path, tools: tuple[str, ...], floating: bool) -> None:
        import mink  # pyright: ignore[reportMissingImports]
        import mujoco

        self.name = f"mink {version('mink')}, daqp {version('daqp')}"
        spec = mujoco.MjSpec.from_string(strip_urdf(path))
        if floating:
            spec.worldbody.first_body().add_freejoint()
        model: Any = spec.compile()
        hinges = range(1 if floating else 0, model.njnt)
        assert all(model.jnt_limited[k] for k in hinges)
        self.joints = [model.joint(k).name for k in hinges]
        self.limits = model.jnt_range[list(hinges)].copy()
        self.configuration = mink.Configuration(model)
        self.tools = tools
        self.bounds = [mink.ConfigurationLimit(model)]
        self.tasks = [
            mink.FrameTask(tool, "body", 1.0, 1.0, lm_damping=self.DAMPING) for tool in tools
        ]

    def forward(self, q: Array) -> Array:
        self.configuration.update(q)
        return np.array(
            [
                self.configuration.get_transform_frame_to_world(tool, "body").as_matrix()
                for tool in self.tools
            ]
        )

    def has_arrived(self) -> bool:
        for task in self.tasks:
            e = task.compute_error(self.configuration)
            if (
                e[:3] @ e[:3] > (TOLERANCE_SHARE * POSITION_TOLERANCE) ** 2
                or e[3:] @ e[3:] > (TOLERANCE_SHARE * ROTATION_TOLERANCE) ** 2
            ):
                return False
        return True

    def attempt(self, start: Array) -> bool:
        from mink import solve_ik  # pyright: ignore[reportMissingImports]
        from mink.exceptions import NoSolutionFound  # pyright: ignore[reportMissingImports]

        self.configuration.update(start)
        for _ in range(self.ITERATIONS):
            if self.has_arrived():
                return True
            try:
                velocity = solve_ik(self.configuration, self.tasks, 1.0, "daqp", limits=self.bounds)
            except NoSolutionFound:
                return False
            self.configuration.integrate_inplace(velocity, 1.0)
        return self.has_arrived()

    def solve(self, targets: Array, starts: Array) -> Array:
        from mink import SE3  # pyright: ignore[reportMissingImports]

        for task, target in zip(self.tasks, targets, strict=True):
            task.set_target(SE3.from_matrix(target))
        any(self.attempt(start) for start in starts)
        return self.configuration.q.copy()
