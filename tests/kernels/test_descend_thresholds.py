"""Where the compiled descent changes its mind: both sides of every threshold, by hand.

Costs, gradients and curvatures are made up, so that the answer is known; dof 0 is the one at stake.
"""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.descent import acceptance, saddles
from exactik.kernels.descent.descend import advance
from exactik.kernels.descent.options import (
    COORDINATE_DESCENT,
    CURVATURE,
    DAMPED,
    ESCAPE_SADDLES,
    FLETCHER,
    GRADIENT_TOLERANCE,
    HYBRID,
    INITIAL_DAMPING,
    LINE_SEARCH,
    RULE,
    TRUST_REGION,
)
from exactik.kernels.descent.state import (
    CONVERGED,
    COST,
    DAMPING,
    DAMPING_GROWTH,
    EVALUATED_ORDER,
    FOR_ESCAPE,
    FOR_STEP,
    GAUSS_NEWTON_FALLBACK,
    IDLE_TRIALS,
    LINEAR_REDUCTION,
    PREDICTED_REDUCTION,
    PROJECTED_GRADIENT,
    PURPOSE,
    REJECTED_TRIALS,
    REQUESTED_ORDER,
    RUNNING,
    STALLED,
    STATUS,
    STEP_LENGTH,
    STEP_NORM,
    TRUST_RADIUS,
    DescentState,
    start_descent,
)
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON
from exactik.typing import Array
from tests.support.descents import FIGURE, PROBLEM, plain
from tests.support.quadratics import ancestor_pattern, blank_descent_state, to_ancestor_rows

ArrayRows = list[list[float]]


def options_of(**slots: float) -> Array:
    options = ik.Auto().options(PROBLEM)
    names = {
        "rule": RULE,
        "curvature": CURVATURE,
        "tolerance": GRADIENT_TOLERANCE,
        "escape": ESCAPE_SADDLES,
        "damping": INITIAL_DAMPING,
    }
    for name, value in slots.items():
        options[names[name]] = value
    return options


def state_of(slots: dict[int, float]) -> DescentState:
    """A descent at q = 0 of cost 1, in the middle of a step."""
    descent = blank_descent_state(FIGURE)
    descent.state[:], descent.step[:], descent.trial[:] = 0.0, 0.0, 0.0
    descent.max_curvature[:] = 1.0
    standard = {COST: 1.0, PURPOSE: FOR_STEP, DAMPING: 1.0, DAMPING_GROWTH: 4.0, STEP_LENGTH: 1.0}
    for slot, value in {**standard, TRUST_RADIUS: 1.0, EVALUATED_ORDER: EXACT, **slots}.items():
        descent.state[slot] = value
    return descent


def accept(
    value: float, slots: dict[int, float], g: float = 0.0, rule: int = DAMPED
) -> tuple[bool, Array]:
    descent = state_of(slots)
    accepted = plain(acceptance.accept_trial)(
        PROBLEM.box, options_of(rule=rule), value, np.array([0.0, g]), descent
    )
    return bool(accepted), descent.state


def reject(
    slots: dict[int, float], rule: int = DAMPED, value: float = 2.0, **options: float
) -> Array:
    descent = state_of(slots)
    chosen = options_of(rule=rule, **options)
    plain(acceptance.reject_trial)(chosen, value, descent.state, FIGURE.nv)
    return descent.state


# --- acceptance


@pytest.mark.parametrize(
    ("ratio", "before", "after"),
    [
        (0.76, 1.0, 0.1),
        (0.74, 1.0, 1.0),
        (0.26, 1.0, 1.0),
        (0.24, 1.0, 4.0),
        (0.9, 2e-10, 2e-11),
        (0.9, 0.5e-10, 0.0),
        (0.1, 0.0, 1e-9),
    ],
)
def test_damping_follows_the_ratio(ratio: float, before: float, after: float):
    accepted, state = accept(1.0 - 0.1 * ratio, {PREDICTED_REDUCTION: 0.1, DAMPING: before})
    assert accepted and state[DAMPING] == pytest.approx(after, rel=1e-9)


@pytest.mark.parametrize(("ratio", "after"), [(0.76, 0.5), (0.74, 1.0), (0.26, 1.0), (0.24, 2.0)])
def test_damping_by_fletchers_rule(ratio: float, after: float):
    slots = {PREDICTED_REDUCTION: 0.1, LINEAR_REDUCTION: 0.1}
    accepted, state = accept(1.0 - 0.1 * ratio, slots, rule=FLETCHER)
    assert accepted and state[DAMPING] == pytest.approx(after)


@pytest.mark.parametrize(
    ("ratio", "norm", "after"),
    [(0.76, 0.91, 2.0), (0.76, 0.89, 1.0), (0.74, 1.0, 1.0), (0.26, 1.0, 1.0), (0.24, 0.8, 0.2)],
)
def test_the_radius_follows_the_ratio(ratio: float, norm: float, after: float):
    slots = {PREDICTED_REDUCTION: 0.1, STEP_NORM: norm}
    accepted, state = accept(1.0 - 0.1 * ratio, slots, rule=TRUST_REGION)
    assert accepted and state[TRUST_RADIUS] == pytest.approx(after)


@pytest.mark.parametrize(("fall", "accepted"), [(2e-9, True), (0.5e-9, False)])
def test_a_saddle_is_left_by_what_can_be_measured(fall: float, accepted: bool):
    assert accept(1.0 - fall, {PURPOSE: FOR_ESCAPE})[0] == accepted


@pytest.mark.parametrize(("fall", "accepted"), [(2e-4, True), (0.5e-4, False)])
def test_a_line_search_wants_its_share(fall: float, accepted: bool):
    assert accept(1.0 - fall, {PREDICTED_REDUCTION: 1.0}, rule=LINE_SEARCH)[0] == accepted


@pytest.mark.parametrize(
    ("predicted", "value", "gradient", "accepted"),
    [
        (2e-11, 1.0 - 1e-12, 1e-3, True),  # resolved: lower is better, whatever the gradient
        (2e-11, 1.0, 0.0, False),
        (0.5e-11, 1.0 - 1e-12, 0.96e-6, False),  # not resolved: the gradient must fall by 5 %
        (0.5e-11, 1.0 - 1e-12, 0.94e-6, True),
        (0.5e-11, 1.0 + 0.5e-13, 0.5e-6, True),  # and the cost rise by rounding at most
        (0.5e-11, 1.0 + 2e-13, 0.5e-6, False),
    ],
)
def test_below_the_resolution_of_the_cost_the_gradient_decides(
    predicted: float, value: float, gradient: float, accepted: bool
):
    slots = {PREDICTED_REDUCTION: predicted, PROJECTED_GRADIENT: 1e-6}
    assert accept(value, slots, g=gradient * np.sqrt(2.0))[0] == accepted


@pytest.mark.parametrize(("rule", "after"), [(DAMPED, 0.1), (FLETCHER, 1.0)])
def test_a_step_that_lowers_the_gradient_alone_lowers_damping(rule: int, after: float):
    """Else steps beside a minimum would stay as short as those from afar."""
    slots = {PREDICTED_REDUCTION: 1e-12, PROJECTED_GRADIENT: 1e-6, DAMPING_GROWTH: 16.0}
    accepted, state = accept(1.0, slots, g=0.5e-6 * np.sqrt(2.0), rule=rule)
    assert accepted and state[DAMPING] == pytest.approx(after)
    assert state[DAMPING_GROWTH] == (4.0 if rule == DAMPED else 16.0)


# --- rejection


@pytest.mark.parametrize(("before", "status"), [(15.0, RUNNING), (16.0, CONVERGED)])
def test_a_saddle_is_tried_sixteen_times(before: float, status: int):
    slots = {PURPOSE: FOR_ESCAPE, REJECTED_TRIALS: before, PROJECTED_GRADIENT: 1e-11}
    assert reject(slots)[STATUS] == status
    if status == CONVERGED:
        assert reject({**slots, PROJECTED_GRADIENT: 1e-7})[STATUS] == STALLED


@pytest.mark.parametrize(("before", "after"), [(0.0, -0.5), (1.0, -0.25)])
def test_forward_backward_and_half_as_far(before: float, after: float):
    slots = {PURPOSE: FOR_ESCAPE, REJECTED_TRIALS: before, STEP_LENGTH: 0.5}
    assert reject(slots)[STEP_LENGTH] == after


@pytest.mark.parametrize(("idle", "escape", "status"), [(3, 0, RUNNING), (4, 0, STALLED)])
def test_four_trials_without_a_gain_that_can_be_measured(idle: int, escape: int, status: int):
    slots = {IDLE_TRIALS: float(idle), PREDICTED_REDUCTION: 1e-12}
    assert reject(slots, escape=escape)[STATUS] == status
    assert reject(slots, escape=1.0)[STATUS] == RUNNING  # it looks for a saddle first
    assert reject(slots, escape=1.0)[REQUESTED_ORDER] == EXACT


@pytest.mark.parametrize(
    ("before", "after"), [(0.0, 1e-6), (1e-8, 1e-6), (1.0, 4.0)], ids=["none", "little", "some"]
)
def test_damping_is_raised_after_a_rejection(before: float, after: float):
    state = reject({DAMPING: before}, curvature=EXACT)
    assert state[DAMPING] == pytest.approx(after) and state[DAMPING_GROWTH] == 8.0


@pytest.mark.parametrize(
    ("predicted", "value", "after"),
    [
        (0.5e-11, 1.0, 0.1),  # not resolved: the step was too short
        (0.5e-11, 1.0 + 0.5e-13, 0.1),
        (0.5e-11, 1.0 + 2e-13, 4.0),  # the cost rose by more than rounding: it was too long
        (2e-11, 1.0, 4.0),  # resolved: there is no gain
        (0.5e-11, np.nan, 4.0),
    ],
)
@pytest.mark.parametrize("curvature", [EXACT, HYBRID])
def test_damping_is_lowered_if_a_step_was_too_short_to_measure(
    predicted: float, value: float, after: float, curvature: int
):
    slots = {PREDICTED_REDUCTION: predicted}
    state = reject(slots, value=value, curvature=curvature)
    assert state[DAMPING] == pytest.approx(after)
    assert state[REQUESTED_ORDER] == EXACT


@pytest.mark.parametrize(("before", "status"), [(0.2e12, RUNNING), (0.3e12, STALLED)])
def test_damping_that_leaves_no_step(before: float, status: int):
    assert reject({DAMPING: before}, curvature=EXACT)[STATUS] == status


@pytest.mark.parametrize(("before", "fallback"), [(0.2e6, 0.0), (0.3e6, 1.0)])
def test_exact_curvature_is_given_up_at_high_damping(before: float, fallback: float):
    state = reject({DAMPING: before}, curvature=HYBRID, damping=0.7)
    assert state[GAUSS_NEWTON_FALLBACK] == fallback
    assert state[REQUESTED_ORDER] == (GAUSS_NEWTON if fallback else EXACT)
    assert state[DAMPING] == (0.7 if fallback else 4.0 * before)


@pytest.mark.parametrize(("before", "status"), [(5e-16, RUNNING), (3e-16, STALLED)])
def test_a_radius_that_is_none(before: float, status: int):
    slots = {TRUST_RADIUS: before, STEP_NORM: 1.0}
    assert reject(slots, rule=TRUST_REGION)[STATUS] == status


@pytest.mark.parametrize(("before", "idle"), [(5.0, 0.0), (6.0, 1.0)])
def test_a_dof_is_left_alone_after_six_halvings(before: float, idle: float):
    state = reject({REJECTED_TRIALS: before}, rule=COORDINATE_DESCENT)
    assert (state[IDLE_TRIALS], state[STEP_LENGTH]) == (idle, 0.5)


# --- passes


def first_pass(
    curvature: Array, g: Array, cost: float = 0.5, q: Array | None = None, **options: float
) -> DescentState:
    """What a descent does at its start, q = 0, where cost and derivatives are these."""
    descent, chosen = blank_descent_state(FIGURE), options_of(**options)
    q = np.zeros(2) if q is None else q
    start_descent(PROBLEM.box, chosen, True, q, descent)
    H = to_ancestor_rows(FIGURE, curvature)
    pattern = ancestor_pattern(FIGURE)
    work = PROBLEM.workspace
    advance(FIGURE.tree, pattern, PROBLEM.box, chosen, q, cost, g, H, work, descent)
    return descent


@pytest.mark.parametrize(("left", "order"), [(0.09, GAUSS_NEWTON), (0.11, EXACT), (0.5, EXACT)])
def test_curvature_is_exact_unless_a_step_leaves_a_tenth_of_the_cost(left: float, order: int):
    """Then the residual goes to zero, where Gauss–Newton's is as good and never indefinite."""
    H, g, q = np.diag([1.0, 1.0]), np.array([-0.3, -0.2]), np.zeros(2)
    descent, options = first_pass(H, g), options_of()
    advance(
        FIGURE.tree,
        ancestor_pattern(FIGURE),
        PROBLEM.box,
        options,
        q,
        left * 0.5,
        g,
        to_ancestor_rows(FIGURE, H),
        PROBLEM.workspace,
        descent,
    )
    assert descent.state[COST] == left * 0.5 and descent.state[REQUESTED_ORDER] == order


@pytest.mark.parametrize(
    ("push", "left", "leaves"),
    [(0.5e-6, 0.0, True), (2e-6, 0.0, False), (0.5e-5, -1e-6, True), (2e-5, -1e-6, False)],
)
def test_a_limit_without_push_is_left(push: float, left: float, leaves: bool):
    """Dof 0 is on its limit and bends down; √(2 cost · curvature) is 1."""
    descent = first_pass(np.diag([-1.0, 1.0]), np.array([push, left]), tolerance=1e-5)
    if leaves:
        assert (descent.state[PURPOSE], descent.state[STEP_LENGTH]) == (FOR_ESCAPE, 0.5)
        assert descent.step.tolist() == [1.0, 0.0] and descent.trial.tolist() == [0.5, 0.0]
    else:
        assert descent.state[STATUS] == CONVERGED


@pytest.mark.parametrize(("curvature", "found"), [(-2e-7, True), (-0.5e-7, False)])
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_what_is_flat_is_not_left(curvature: float, found: bool, scale: float):
    """A ten-millionth of D; also of a dof alone, and of a pair of them."""
    descent, pattern = blank_descent_state(FIGURE), ancestor_pattern(FIGURE)
    descent.scale[:] = scale
    H, q = to_ancestor_rows(FIGURE, scale * np.diag([curvature, 1.0])), np.ones(2)
    assert saddles.negative_curvature_direction(pattern, np.zeros(2), H, descent) == found
    assert saddles.open_pair_direction(pattern, PROBLEM.box, q, H, descent) == found
    H = to_ancestor_rows(FIGURE, scale * np.array([[1e-7, curvature], [curvature, 0.0]]))
    assert saddles.open_pair_direction(pattern, PROBLEM.box, q, H, descent) == found


# --- directions that limits leave open


def ways_down(curvature: ArrayRows, q: Array) -> tuple[bool, Array]:
    descent = blank_descent_state(FIGURE)
    descent.lower[:], descent.upper[:] = 0.0, 2.0
    found = saddles.open_descent_direction(
        ancestor_pattern(FIGURE),
        PROBLEM.box,
        q,
        np.zeros(2),
        to_ancestor_rows(FIGURE, np.array(curvature, float)),
        descent,
    )
    return bool(found), descent.step.copy()


@pytest.mark.parametrize(
    ("curvature", "signs"),
    [
        ([[1, 2], [2, 1]], None),  # falls only where one of the two goes back
        ([[1, -2], [-2, 1]], (1, 1)),
        ([[1, 2], [2, -0.1]], (0, 1)),
        ([[-0.1, 2], [2, 1]], (1, 0)),
        ([[1, 0.1], [0.1, 1]], None),
    ],
)
def test_both_on_their_lower_limits(curvature: ArrayRows, signs: tuple[int, int] | None):
    for inside in (0.0, 0.5e-9):
        found, step = ways_down(curvature, np.full(2, inside))
        assert found == (signs is not None)
        assert signs is None or np.sign(step).tolist() == list(signs)
    assert ways_down(curvature, np.full(2, 2e-9))[0] == (np.linalg.eigvalsh(curvature)[0] < 0.0)


def test_a_small_range_has_a_small_edge():
    """A billionth of it, where it is less than 1 rad."""
    descent = blank_descent_state(FIGURE)
    descent.lower[:], descent.upper[:] = 0.0, 0.1
    for inside, opened in ((0.5e-10, False), (2e-10, True)):
        q = np.full(2, inside)
        assert plain(saddles.is_open)(PROBLEM.box, q, descent, 0, -1.0) == opened
        assert plain(saddles.is_open)(PROBLEM.box, 0.1 - q, descent, 0, 1.0) == opened
