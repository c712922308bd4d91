"""The compiled methods, and their kernels run directly with scratch arrays that hold NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import ArrayLike

import exactik as ik
from exactik import Problem
from exactik.kernels.calculus.workspace import new_workspace
from exactik.kernels.descent.descend import run_descent
from exactik.kernels.descent.state import RUNNING, STATUS, new_descent_state, start_descent
from exactik.solvers import CCD, CompiledMethod, GaussNewton
from exactik.typing import Array
from tests.support.quadratics import spoil
from tests.support.solver_problems import planar_chain

__all__ = ["EVERY_METHOD", "FIGURE", "PROBLEM", "SECOND_ORDER", "Descent", "descend", "plain"]

METHODS: tuple[CompiledMethod, ...] = (
    ik.Auto(),
    ik.Newton(),
    ik.LevenbergMarquardt(),
    GaussNewton(),
    ik.ProjectedGradient(),
    CCD(),
)
EVERY_METHOD = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
SECOND_ORDER = pytest.mark.parametrize("solver", ["auto", "newton"])

FIGURE = planar_chain(2, [(0, 2), (0, 2)])
PROBLEM = ik.Problem(FIGURE, ik.MarkerGoal("HAND", (0.25, 0, 0)))
"""Two links and a goal, for states of a descent that are made up."""


class Descent(NamedTuple):
    """What a descent left behind."""

    passes: int
    q: Array
    state: Array
    step: Array


def descend(
    problem: Problem,
    q: ArrayLike,
    method: CompiledMethod,
    *,
    passes: int = 10**6,
    at_once: int | None = None,
    scratch: float = np.nan,
) -> Descent:
    """Run the kernels, `at_once` passes per call, with `scratch` in all scratch arrays."""
    figure, options = problem.skeleton, method.options(problem)
    q, work = np.array(q, dtype=float), new_workspace(figure.tree)
    descent = new_descent_state(figure.tree, work.H.shape[1])
    spoil((*work, *descent), scratch)
    start_descent(problem.box, options, True, q, descent)
    made = 0
    with np.errstate(all="ignore"):  # in plain Python numpy would warn of singular matrices
        while made < passes and descent.state[STATUS] == RUNNING:
            count = min(passes - made, at_once or passes)
            arrays = problem.packed.arrays
            made += run_descent(figure.tree, arrays, problem.box, options, q, count, descent, work)
    return Descent(made, q, descent.state, descent.step)


def plain(function: Any) -> Callable[..., Any]:
    """The Python function behind a compiled one."""
    return getattr(function, "py_func", function)
