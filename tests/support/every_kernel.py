"""What every kernel computes, with all joints and goals; as a program it prints that as JSON.

With NUMBA_DISABLE_JIT=1 the program runs the kernels as plain Python.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from exactik.kernels.descent.state import COST, new_descent_state, start_descent
from exactik.typing import Array

if __name__ == "__main__":  # pytest has these on its path
    sys.path.insert(0, str(Path(__file__).parents[2]))

from exactik import Problem
from exactik.kernels.calculus.workspace import new_workspace
from exactik.kernels.descent.descend import run_descent
from exactik.solvers import CCD, Auto, GaussNewton, LevenbergMarquardt, Newton, ProjectedGradient
from tests.support.problems import make_pose_and_goals, menagerie, quantities


def answers() -> dict[str, dict[str, Array]]:
    figure = menagerie()
    q, goals = make_pose_and_goals(figure, 6)
    sums = Problem(figure, goals, limits="soft", lock=("slide", "ball.ey"))
    coupled = Problem(figure, goals, weight_matrix=Problem(figure, goals).packed.weight)
    actual = {}
    for name, problem in (("sums", sums), ("dense", coupled)):
        actual[name] = {"residual": problem.residual(q), "jacobian": problem.jacobian(q)}
        actual[name] |= quantities(problem, q)
    pose, moved = figure.forward(q), figure.integrate(q, np.full(figure.nv, 0.3))
    actual["figure"] = {
        "positions": pose.positions,
        "rotations": pose.rotations,
        "moved": moved,
        "difference": figure.difference(moved, q),
        "reparameterised": figure.reparameterise(1.5 * moved),
        "jacobian rate": figure.jacobian_dot(q, np.ones(figure.nv), "pair", rows="both"),
    }
    for route in ("cross", "poe", "adjusted"):
        actual["figure"][route] = figure.jacobian(q, "ball", (0.1, 0.2, 0.3), route=route)
    built_in = Problem(figure, goals[:-1])
    box, work = built_in.box, new_workspace(figure.tree)
    descent = new_descent_state(figure.tree, work.H.shape[1])
    for method in (Auto, Newton, LevenbergMarquardt, GaussNewton, ProjectedGradient, CCD):
        options, place = method().options(built_in), moved.copy()
        start_descent(box, options, True, place, descent)
        run_descent(figure.tree, built_in.packed.arrays, box, options, place, 6, descent, work)
        actual[method.name] = {"q": place, "cost": descent.state[COST : COST + 1].copy()}
    return actual


if __name__ == "__main__":
    plain = {
        name: {key: np.asarray(value).tolist() for key, value in values.items()}
        for name, values in answers().items()
    }
    print(json.dumps(plain))
