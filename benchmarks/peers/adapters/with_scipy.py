"""SciPy, which has no robots: its optimisers on the forward kinematics of
`benchmarks/peers/tree.py`.

Arms: `least_squares` (trf) with bounds, and SLSQP on half the squared error, both with the
analytic Jacobian of the numpy tree. Markers: `least_squares` without bounds, tolerances 1e-8.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares, minimize

from benchmarks.peers.protocol import Arm, Array, Attempts, Figure, is_reached
from benchmarks.peers.tree import Tree, compute_pose_error

TITLE, PACKAGE = "SciPy", "scipy"
REQUIREMENTS = ("scipy==1.17.*", "numpy")
METRES_PER_RADIAN = 0.3  # [m] that a radian counts as


def arms(task: Arm) -> dict[str, Attempts]:
    return {"trf": _Trf(task), "SLSQP": _Slsqp(task)}


class _Trf(Attempts):
    def __init__(self, task: Arm) -> None:
        self.tree, self.task = Tree(task.urdf, task.joints, [task.tool]), task
        self.weights = np.array(
            [1.0, 1.0, 1.0, METRES_PER_RADIAN, METRES_PER_RADIAN, METRES_PER_RADIAN]
        )

    def error(self, q: Array, target: Array) -> Array:
        return -self.weights * compute_pose_error(self.tree.poses(q)[0], target)

    def jacobian(self, q: Array, target: Array) -> Array:
        # That of the rotation vector is taken as I, which it is at the target.
        _, shift, turn = self.tree.with_jacobian(q)
        return self.weights[:, None] * np.vstack([shift[0], turn[0]])

    def arrived(self, q: Array, target: Array) -> bool:
        return is_reached(self.tree.poses(q)[0], target, self.task.tolerance)

    def attempt(self, target: Array, start: Array) -> tuple[Array, bool]:
        lower, upper = self.task.limits.T
        inside = np.clip(start, lower + 1e-9, upper - 1e-9)
        result = least_squares(
            self.error, inside, self.jacobian, (lower, upper), args=(target,), max_nfev=100
        )
        return result.x, self.arrived(result.x, target)


class _Slsqp(_Trf):
    def attempt(self, target: Array, start: Array) -> tuple[Array, bool]:
        def cost(q: Array) -> tuple[float, Array]:
            error = self.error(q, target)
            return 0.5 * float(error @ error), self.jacobian(q, target).T @ error

        options = {"maxiter": 200, "ftol": 1e-12}
        bounds = list(map(tuple, self.task.limits))
        result = minimize(cost, start, jac=True, method="SLSQP", bounds=bounds, options=options)
        q = np.clip(result.x, *self.task.limits.T)
        return q, self.arrived(q, target)


def figure(task: Figure) -> _Markers:
    return _Markers(task)


class _Markers:
    def __init__(self, task: Figure) -> None:
        self.tree = Tree(task.urdf, task.joints, task.markers)

    def solve(self, places: Array, q: Array) -> Array:
        def error(x: Array) -> Array:
            return (self.tree.poses(x)[:, :3, 3] - places).ravel()

        def jacobian(x: Array) -> Array:
            return self.tree.with_jacobian(x)[1].reshape(-1, len(x))

        return least_squares(error, q, jacobian).x
