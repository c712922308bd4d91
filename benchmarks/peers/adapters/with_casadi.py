"""CasADi with IPOPT: forward kinematics as expressions, so that all derivatives are exact.

Arms: half the squared error of the pose (axes of the tool for its rotation), bounds on the joints.
Markers: half the squared distances, without bounds. IPOPT's defaults but for a tolerance of 1e-8,
at most 200 iterations, and no output.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Arm, Array, Attempts, Figure, is_reached
from benchmarks.peers.tree import Tree

TITLE, PACKAGE = "CasADi IPOPT", "casadi"
REQUIREMENTS = ("casadi==3.8.*", "numpy")
METRES_PER_RADIAN = 0.3  # [m] that a radian counts as
QUIET = {"ipopt.print_level": 0, "print_time": 0, "ipopt.sb": "yes", "error_on_fail": False}
OPTIONS = {**QUIET, "ipopt.tol": 1e-8, "ipopt.max_iter": 200}


def expressions(casadi: Any, tree: Tree, q: Any) -> list[Any]:
    """Poses of the links of a tree as expressions of q, 4 × 4 each."""
    frames: dict[int, Any] = {-1: casadi.SX.eye(4)}
    for k in tree.order:
        motion = casadi.SX.eye(4)
        if tree.slides[k]:
            motion[2, 3] = q[k]
        else:
            c, s = casadi.cos(q[k]), casadi.sin(q[k])
            motion[0, 0], motion[0, 1], motion[1, 0], motion[1, 1] = c, -s, s, c
        constant = casadi.SX(casadi.sparsify(casadi.DM(tree.constant[k].round(15))))
        frames[k] = frames[int(tree.parent[k])] @ constant @ motion
    return [frames[int(k)] @ casadi.DM(T) for k, T in zip(tree.carrier, tree.place, strict=True)]


class _Arm(Attempts):
    def __init__(self, task: Arm) -> None:
        casadi: Any = import_module("casadi")
        tree, self.task = Tree(task.urdf, task.joints, [task.tool]), task
        q, target = casadi.SX.sym("q", len(task.joints)), casadi.SX.sym("T", 4, 4)
        (T,) = expressions(casadi, tree, q)
        away = T[:3, 3] - target[:3, 3]
        turned = T[:3, :3] - target[:3, :3]
        cost = 0.5 * casadi.sumsqr(away) + 0.25 * METRES_PER_RADIAN**2 * casadi.sumsqr(turned)
        problem = {"x": q, "p": casadi.vec(target), "f": cost}
        self.solver = casadi.nlpsol("arm", "ipopt", problem, OPTIONS)
        self.tree = tree

    def attempt(self, target: Array, start: Array) -> tuple[Array, bool]:
        lower, upper = self.task.limits.T
        result = self.solver(x0=start, p=target.ravel(order="F"), lbx=lower, ubx=upper)
        q = np.clip(np.asarray(result["x"]).ravel(), lower, upper)
        return q, is_reached(self.tree.poses(q)[0], target, self.task.tolerance)


class _Markers:
    def __init__(self, task: Figure) -> None:
        casadi: Any = import_module("casadi")
        tree = Tree(task.urdf, task.joints, task.markers)
        q, p = casadi.SX.sym("q", len(task.joints)), casadi.SX.sym("p", 3, len(task.markers))
        there = casadi.horzcat(*(T[:3, 3] for T in expressions(casadi, tree, q)))
        problem = {"x": q, "p": casadi.vec(p), "f": 0.5 * casadi.sumsqr(there - p)}
        self.solver = casadi.nlpsol("markers", "ipopt", problem, OPTIONS)

    def solve(self, places: Array, q: Array) -> Array:
        return np.asarray(self.solver(x0=q, p=places.ravel())["x"]).ravel()


def arm(task: Arm) -> _Arm:
    return _Arm(task)


def figure(task: Figure) -> _Markers:
    return _Markers(task)
