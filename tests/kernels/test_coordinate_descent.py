"""Cyclic coordinate descent: order of the dofs, their steps against a fine grid, and its end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.descent.coordinate_descent import propose_coordinate_step
from exactik.kernels.descent.state import (
    COST,
    CURRENT_DOF,
    IDLE_TRIALS,
    PREDICTED_REDUCTION,
    RUNNING,
    STALLED,
    STATUS,
    STEP_LARGEST_ENTRY,
    STEP_LENGTH,
    DescentState,
)
from exactik.solvers import CCD
from exactik.typing import Array
from tests.support.quadratics import ancestor_pattern, blank_descent_state, to_ancestor_rows

SLOTS = (PREDICTED_REDUCTION, STEP_LARGEST_ENTRY, STEP_LENGTH)


# The Python function behind the compiled one, which is only compiled as a part of others.
propose: Any = getattr(propose_coordinate_step, "py_func", propose_coordinate_step)


def figure_of(room: float = np.inf) -> ik.Skeleton:
    """A hinge, a slide and a hinge, each of which may go `room` either way."""
    limits = (-room, room)
    bones = [
        ik.Bone("a", joint=ik.Joint.revolute("z", limits=limits)),
        ik.Bone("b", parent="a", joint=ik.Joint.prismatic("x", limits=limits)),
        ik.Bone("c", parent="b", offset=(0.3, 0, 0), joint=ik.Joint.revolute("z", limits=limits)),
    ]
    return ik.Skeleton.build("mixed", bones, {"TIP": ("c", (0.4, 0, 0))})


def step_of(
    g: Array,
    curvature: Array,
    dof: float = 0.0,
    room: float = np.inf,
    active: tuple[int, ...] = (),
    cost: float = 1.0,
) -> DescentState:
    figure = figure_of(room)
    problem = ik.Problem(figure, ik.MarkerGoal("TIP", (0.5, 0.2, 0)))
    descent = blank_descent_state(figure)
    descent.lower[:], descent.upper[:] = -room, room
    descent.state[:] = 0.0
    descent.state[CURRENT_DOF], descent.state[COST] = dof, cost
    descent.active_set[list(active)] = 1.0
    rows = to_ancestor_rows(figure, np.diag(curvature))
    propose(ancestor_pattern(figure), problem.box, np.zeros(3), g, rows, descent)
    return descent


def test_dofs_come_from_the_tip_to_the_root_and_round_again() -> None:
    g, curvature = np.array([0.3, 0.2, 0.1]), np.ones(3)
    for before, dof in ((0.0, 2), (3.0, 2), (2.0, 1), (1.0, 0)):
        descent = step_of(g, curvature, before)
        assert descent.state[CURRENT_DOF] == dof
        assert np.flatnonzero(descent.step).tolist() == [dof]
        assert descent.state[STATUS] == RUNNING and descent.state[IDLE_TRIALS] == 0.0


@pytest.mark.parametrize("room", [np.inf, 2.0, 0.3])
def test_each_dof_goes_to_its_own_minimum(room: float) -> None:
    """−A cos δ − B sin δ of a hinge, gδ + ½Hδ² of a slide, inside its limits, on a grid."""
    rng, span = np.random.default_rng(1), min(room, np.pi)
    grid = np.linspace(-span, span, 4001)
    for _ in range(40):
        g, curvature = rng.normal(size=3), rng.normal(size=3)
        curvature[1] = abs(curvature[1]) + 0.2
        for before, dof in ((3.0, 2), (2.0, 1), (1.0, 0)):
            descent = step_of(g, curvature, before, room)
            slope, bend = g[dof], curvature[dof]
            values = bend * (1.0 - np.cos(grid)) + slope * np.sin(grid)
            if dof == 1:
                wide = grid if room < np.inf else np.linspace(-20.0, 20.0, 4001)
                values = slope * wide + 0.5 * bend * wide * wide
            delta, (reduction, largest, length) = descent.step[dof], descent.state[list(SLOTS)]
            assert abs(delta) <= room and length == 1.0 and largest == abs(delta)
            assert reduction >= -values.min() - 1e-12
            assert reduction == pytest.approx(-values.min(), rel=1e-3, abs=1e-4)
            assert np.count_nonzero(descent.step) == 1


def test_what_is_held_or_bends_down_is_passed_over() -> None:
    """A slide without positive curvature has no minimum; dofs in the active set stay."""
    g = np.array([0.3, 0.2, 0.1])
    descent = step_of(g, np.array([1.0, -1.0, 1.0]), 3.0, active=(2,))
    assert np.flatnonzero(descent.step).tolist() == [0] and descent.state[IDLE_TRIALS] == 2.0
    descent = step_of(g, np.array([1.0, 0.0, 1.0]), 2.0)
    assert np.flatnonzero(descent.step).tolist() == [0] and descent.state[IDLE_TRIALS] == 1.0
    descent = step_of(g, np.ones(3), 2.0, active=(0, 1))
    assert np.flatnonzero(descent.step).tolist() == [2] and descent.state[IDLE_TRIALS] == 2.0


@pytest.mark.parametrize(("share", "moves"), [(2e-14, True), (0.5e-14, False)])
@pytest.mark.parametrize("cost", [1.0, 1e6])
def test_a_gain_below_the_rounding_of_the_cost_is_none(
    share: float, moves: bool, cost: float
) -> None:
    """½ g²/H of a slide; where no dof gains more, the descent stalls."""
    g = np.array([0.0, np.sqrt(2.0 * share * cost), 0.0])
    descent = step_of(g, np.ones(3), cost=cost)
    assert descent.state[STATUS] == (RUNNING if moves else STALLED)
    assert descent.step.any() == moves
    assert descent.state[IDLE_TRIALS] == (1.0 if moves else 3.0)


def test_points_of_a_hinge_are_brought_to_rest_in_one_step() -> None:
    """The closed form is exact for any number of points below one hinge."""
    figure = ik.Skeleton.build(
        "fan", [ik.Bone("a", joint=ik.Joint.revolute("z"))], {"P": ("a", (1, 0, 0))}
    )
    goals = [
        ik.PositionGoal("a", place, point=point, name=f"p{k}")
        for k, (place, point) in enumerate(
            [
                ((0.1, 0.9, 0), (1, 0, 0)),
                ((-0.5, 0.2, 0), (0, 0.7, 0)),
                ((0.3, 0.3, 0), (0.2, 0, 0)),
            ]
        )
    ]
    problem = ik.Problem(figure, goals)
    for start in (-3.0, 0.0, 1.0, 2.5):
        result = ik.solve(problem, q0=[start], solver=CCD(max_iterations=1))
        assert result.converged and result.evaluations == 2
        grid = [problem.cost([angle]) for angle in np.linspace(-np.pi, np.pi, 721)]
        assert result.cost <= min(grid) + 1e-12
