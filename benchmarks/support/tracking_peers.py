"""Rivals of section tracking: frames one after the other, each from the answer before it.

All get the same figure, markers, weights and first pose. Times are of the processor; what a rival
needs to be set up is not in them. Both rivals loop in Python, which is part of their time.
"""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

import exactik as ik
from benchmarks.peers.adapters.with_mink import MinkMarkers
from exactik.recordings.tracking import TrackingProblem
from exactik.typing import Array

__all__ = ["FollowedFrames", "Mink", "Rival", "Scipy", "list_hinges_and_sliders"]


class FollowedFrames(NamedTuple):
    """Answers of a rival to some frames.

    Attributes:
        q: (n, nq).
        seconds: of the processor, for each frame, (n,).
        steps: taken for each frame, (n,).
    """

    q: Array
    seconds: Array
    steps: Array


class Rival(Protocol):
    """A tool that can follow markers."""

    name: str

    def follow(self, which: NDArray[np.int64], start: Array) -> FollowedFrames:
        """Solve frames in their order, the first from `start` (nq,)."""
        ...


class Scipy:
    """`least_squares` with our residuals and our analytic Jacobian, trust region reflective.

    Its defaults (1e-8, and with x_scale="jac") take up to 300 × as long for the same cost to four
    digits, so these are not used: the settings here are the fastest of ten that were tried on other
    frames than those reported and came within 1e-4 of our cost.
    """

    TOLERANCE = 1e-5
    SCALE = 1.0

    def __init__(self, problem: TrackingProblem) -> None:
        self.name = f"scipy {version('scipy')} least_squares"
        self.tracking = problem
        frames, skeleton = problem.targets, problem.skeleton
        goals: list[ik.Goal] = [
            ik.MarkerGoal(name, (0, 0, 0), weight=float(w), name=name)
            for name, w in zip(problem.names, frames.weight, strict=True)
        ]
        goals.append(ik.PostureGoal(frames.rest[0], weight=frames.rest_weight[0]))
        self.problem = ik.Problem(skeleton, goals)
        assert (skeleton.plain_q >= 0).all()
        self.free = np.flatnonzero(~problem.frame_problem.locked)
        self.bounds = (
            problem.frame_problem.lower[self.free],
            problem.frame_problem.upper[self.free],
        )

    def follow(self, which: NDArray[np.int64], start: Array) -> FollowedFrames:
        q, out, seconds, steps = start.copy(), [], [], []
        for t in which:
            targets = dict(zip(self.tracking.names, self.tracking.targets.position[t], strict=True))
            problem = self.problem.with_targets(targets)
            root = np.sqrt(np.diag(problem.packed.weight))

            def residual(x: Array, q: Array = q, root: Array = root, p: ik.Problem = problem):
                return -root * p.residual(self.insert_free_dofs(x, q))

            def jacobian(x: Array, q: Array = q, root: Array = root, p: ik.Problem = problem):
                return root[:, None] * p.jacobian(self.insert_free_dofs(x, q))[:, self.free]

            inside = np.clip(q[self.free], self.bounds[0] + 1e-9, self.bounds[1] - 1e-9)
            begin = time.process_time()
            result = least_squares(
                residual,
                inside,
                jacobian,
                bounds=self.bounds,
                x_scale=self.SCALE,
                ftol=self.TOLERANCE,
                xtol=self.TOLERANCE,
                gtol=self.TOLERANCE,
            )
            seconds.append(time.process_time() - begin)
            q = self.insert_free_dofs(result.x, q)
            out.append(q)
            steps.append(result.njev)
        return FollowedFrames(np.array(out), np.array(seconds), np.array(steps))

    def insert_free_dofs(self, x: Array, q: Array) -> Array:
        out = q.copy()
        out[self.free] = x
        return out


class Mink:
    """Steps of mink, one quadratic program each, until the cost falls no more."""

    def __init__(self, problem: TrackingProblem) -> None:
        self.name = f"mink {version('mink')}, daqp {version('daqp')}"
        self.tracking = problem
        limited = bool(np.isfinite(problem.frame_problem.lower).any())
        weights = np.array(problem.targets.weight)
        self.markers = MinkMarkers(
            make_mujoco_model(problem), problem.names, "site", weights, limited
        )
        names = list(problem.skeleton.dof_names)
        # Our dof of each of its coordinates, which are in depth-first order.
        self.free = np.array([names.index(name) for name in self.markers.joints])

    def places(self, q: Array) -> Array:
        """Return where MuJoCo has the markers, (M, 3)."""
        self.markers.configuration.update(q[self.free])
        return self.markers.places()

    def follow(self, which: NDArray[np.int64], start: Array) -> FollowedFrames:
        q, out, seconds, steps = start.copy(), [], [], []
        for t in which:
            begin = time.process_time()
            free_q = self.markers.solve(self.tracking.targets.position[t], q[self.free])
            seconds.append(time.process_time() - begin)
            steps.append(self.markers.steps)
            q = q.copy()
            q[self.free] = free_q
            out.append(q)
        return FollowedFrames(np.array(out), np.array(seconds), np.array(steps))


def make_mujoco_model(problem: TrackingProblem) -> Any:
    """Return the figure for MuJoCo: hinges and sliders in the order of our dofs, markers as sites.

    Two bodies a bone: one that the joint moves, and one turned by the constant rotation after it.
    """
    import mujoco

    from exactik.spatial import wxyz_from_matrix

    skeleton, frame_problem = problem.skeleton, problem.frame_problem
    spec: Any = mujoco.MjSpec()
    ends: dict[str | None, Any] = {None: spec.worldbody}
    dof = 0
    for bone in skeleton.bones:
        turn = np.eye(3) if bone.pre is None else np.array(bone.pre)
        back = np.eye(3) if bone.post is None else np.array(bone.post)
        moved = ends[bone.parent].add_body(
            name=f"{bone.name}.moved", pos=list(bone.offset), quat=wxyz_from_matrix(turn).tolist()
        )
        for kind, axis in list_hinges_and_sliders(bone.joint):
            if not frame_problem.locked[dof]:
                limits = frame_problem.lower[dof], frame_problem.upper[dof]
                bounded = bool(np.isfinite(limits).all())
                moved.add_joint(
                    name=skeleton.dof_names[dof],
                    type=getattr(mujoco.mjtJoint, f"mjJNT_{kind}"),
                    axis=list(axis),
                    limited=bounded,
                    range=list(limits) if bounded else [0.0, 0.0],
                )
            dof += 1
        moved.mass, moved.inertia, moved.ipos = 1.0, [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]
        moved.explicitinertial = True
        ends[bone.name] = moved.add_body(name=bone.name, quat=wxyz_from_matrix(back).tolist())
    for name in problem.names:
        bone_name, point = skeleton.marker(name)
        ends[bone_name].add_site(name=name, pos=list(point))
    spec.compiler.degree = False
    return spec.compile()


def list_hinges_and_sliders(joint: ik.Joint) -> list[tuple[str, tuple[float, ...]]]:
    """Return the sliders and hinges that a joint is made of."""
    axes = {axis: tuple(map(float, row)) for axis, row in zip("XYZ", np.eye(3), strict=True)}
    if joint.kind == "free":
        assert joint.rotation is not None
        return [("SLIDE", axes[a]) for a in "XYZ"] + list_hinges_and_sliders(joint.rotation)
    if joint.kind == "euler":
        return [("HINGE", axes[a]) for a in joint.order]
    if joint.kind == "revolute":
        assert joint.axis is not None
        return [("HINGE", tuple(map(float, joint.axis)))]
    assert joint.nv == 0, joint.kind
    return []
