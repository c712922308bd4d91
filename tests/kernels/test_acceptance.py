"""Acceptance and rejection of trials where `test_descend_thresholds` does not look.

Fletcher's growth, halved steps, active sets at the trial, and steps of one dof.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.descent import acceptance
from exactik.kernels.descent.options import (
    COORDINATE_DESCENT,
    CURVATURE,
    CURVATURE_OF_DOF,
    CURVATURE_OF_KIND,
    DAMPED,
    ESCAPE_SADDLES,
    FLETCHER,
    GRADIENT_DESCENT,
    HYBRID,
    INITIAL_DAMPING,
    LINE_SEARCH,
    METRIC,
    RULE,
    TRUST_REGION,
)
from exactik.kernels.descent.state import (
    COST,
    DAMPING,
    DAMPING_GROWTH,
    EVALUATED_ORDER,
    FOR_DERIVATIVES,
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
)
from exactik.kernels.descent.trials import write_trial
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON
from exactik.typing import Array
from tests.support.descents import FIGURE, PROBLEM, plain
from tests.support.quadratics import blank_descent_state

HERE, STEP = np.array([0.5, 0.7]), np.array([0.1, -0.2])
LINE_DESCENTS = pytest.mark.parametrize("rule", [LINE_SEARCH, GRADIENT_DESCENT])


def state_of(slots: Mapping[int, float]) -> DescentState:
    """A descent at `HERE` of cost 1, in the middle of a step."""
    descent = blank_descent_state(FIGURE)
    descent.lower[:], descent.upper[:] = 0.0, 2.0
    descent.state[:], descent.step[:], descent.trial[:] = 0.0, STEP, HERE + STEP
    descent.max_curvature[:] = 1.0
    standard = {COST: 1.0, PURPOSE: FOR_STEP, DAMPING: 1.0, DAMPING_GROWTH: 4.0, STEP_LENGTH: 1.0}
    standard |= {TRUST_RADIUS: 1.0, EVALUATED_ORDER: EXACT, STEP_NORM: 1.0}
    standard |= {PREDICTED_REDUCTION: 0.1, LINEAR_REDUCTION: 0.1}
    for slot, value in {**standard, **slots}.items():
        descent.state[slot] = value
    return descent


def options_of(rule: int, slots: Mapping[int, float] | None = None) -> Array:
    options = ik.Auto(escape=False).options(PROBLEM)
    options[RULE] = rule
    for slot, value in (slots or {}).items():
        options[slot] = value
    return options


def accept(
    value: float, slots: Mapping[int, float], rule: int, g: Array | None = None
) -> tuple[bool, DescentState]:
    descent = state_of(slots)
    slope = np.zeros(2) if g is None else g
    accepted = plain(acceptance.accept_trial)(PROBLEM.box, options_of(rule), value, slope, descent)
    return bool(accepted), descent


def reject(
    slots: Mapping[int, float],
    rule: int,
    options: Mapping[int, float] | None = None,
    value: float = 2.0,
) -> DescentState:
    descent = state_of(slots)
    chosen = options_of(rule, options)
    plain(acceptance.reject_trial)(chosen, value, descent.state, FIGURE.nv)
    if descent.state[STATUS] == RUNNING:
        write_trial(FIGURE.tree, PROBLEM.box, chosen[RULE], HERE.copy(), descent)
    return descent


# --- acceptance


@pytest.mark.parametrize("rule", [DAMPED, FLETCHER, TRUST_REGION, COORDINATE_DESCENT])
def test_no_rule_accepts_a_cost_that_does_not_fall(rule: int) -> None:
    for value, accepted in ((0.99, True), (1.0, False), (1.01, False), (np.nan, False)):
        assert accept(value, {}, rule)[0] == accepted
    assert not accept(-np.inf, {}, rule)[0]


@LINE_DESCENTS
def test_line_searches_want_their_share_of_the_slope(rule: int) -> None:
    for value, accepted in ((1.0 - 2e-5, True), (1.0 - 0.5e-5, False), (np.inf, False)):
        assert accept(value, {}, rule)[0] == accepted


def test_below_the_resolution_dofs_count_as_they_are_at_the_trial() -> None:
    """A dof that the trial has put on its limit is held there; its gradient does not count."""
    slots = {PREDICTED_REDUCTION: 1e-12, PROJECTED_GRADIENT: 1e-6}
    for place, accepted in ((0.0, True), (0.1, False)):
        descent = state_of(slots)
        descent.trial[:] = place, 0.5
        g = np.array([1e-3, 0.0])  # pushes the first dof down
        judged = plain(acceptance.accept_trial)(PROBLEM.box, options_of(DAMPED), 1.0, g, descent)
        assert bool(judged) == accepted
        assert descent.active_set.tolist() == [float(place == 0.0), 0.0]


@pytest.mark.parametrize("rule", [DAMPED, FLETCHER, TRUST_REGION])
def test_growth_of_damping_begins_anew_after_a_step(rule: int) -> None:
    for ratio in (0.9, 0.5, 0.1):
        _, descent = accept(1.0 - 0.1 * ratio, {DAMPING_GROWTH: 64.0}, rule)
        assert descent.state[DAMPING_GROWTH] == 4.0


@pytest.mark.parametrize(
    ("metric", "left", "after"),
    [
        (CURVATURE_OF_DOF, 0.6, 0.1),
        (CURVATURE_OF_KIND, 0.6, 1.0 / 3.0),
        (CURVATURE_OF_KIND, 0.51, 1.0 / 3.0),
        (CURVATURE_OF_KIND, 0.49, 0.1),
        (CURVATURE_OF_DOF, 0.49, 0.1),
    ],
)
def test_damping_by_kind_falls_gently_while_much_of_the_cost_is_left(
    metric: int, left: float, after: float
) -> None:
    descent = state_of({PREDICTED_REDUCTION: 1.0 - left})
    options = options_of(DAMPED, {METRIC: metric})
    assert plain(acceptance.accept_trial)(PROBLEM.box, options, left, np.zeros(2), descent)
    assert descent.state[DAMPING] == pytest.approx(after)


def test_a_radius_never_grows_by_a_bad_step() -> None:
    """Below a quarter it is a quarter of the step or of itself, whichever is less."""
    for norm, radius in ((0.5, 0.125), (3.0, 0.25)):
        _, descent = accept(1.0 - 0.02, {STEP_NORM: norm}, TRUST_REGION)
        assert descent.state[TRUST_RADIUS] == radius


# --- Fletcher's rule


@pytest.mark.parametrize(
    ("value", "linear", "growth"),
    [(1.02, 0.1, 2.4), (0.98, 0.1, 2.0), (1.3, 0.1, 8.0), (1.5, 0.1, 10.0)],
)
def test_damping_grows_with_the_rise_of_the_cost(
    value: float, linear: float, growth: float
) -> None:
    """ν = 2 + 2 (f₊ − f)/(−g·s), between 2 and 10."""
    state = state_of({LINEAR_REDUCTION: linear}).state
    assert plain(acceptance.fletcher_growth)(value, state) == pytest.approx(growth)


@pytest.mark.parametrize(("value", "linear"), [(np.inf, 0.1), (np.nan, 0.1), (1.0, 0.0)])
def test_where_there_is_no_rise_to_speak_of_damping_grows_most(value: float, linear: float) -> None:
    state = state_of({LINEAR_REDUCTION: linear}).state
    assert plain(acceptance.fletcher_growth)(value, state) == 10.0


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [(1.0, 10.0, RUNNING), (0.0, 1e-6, RUNNING), (0.9e11, 0.9e12, RUNNING), (2e11, 2e12, STALLED)],
)
def test_fletchers_damping_after_a_rejection(before: float, after: float, status: int) -> None:
    state = reject({DAMPING: before}, FLETCHER).state
    assert state[DAMPING] == pytest.approx(after) and state[STATUS] == status


# --- rejection


@LINE_DESCENTS
def test_a_line_search_halves_its_step(rule: int) -> None:
    slots = {PREDICTED_REDUCTION: 0.1, LINEAR_REDUCTION: 0.3}
    descent = reject(slots, rule)
    state = descent.state
    assert (state[STEP_LENGTH], state[STATUS], state[REJECTED_TRIALS]) == (0.5, RUNNING, 1.0)
    np.testing.assert_allclose(descent.trial, HERE + 0.5 * STEP)
    # −g·s of the halved step, where the step of a gradient descent is −g.
    linear = 0.5 * 0.3 if rule == LINE_SEARCH else 0.5 * STEP @ STEP
    assert state[PREDICTED_REDUCTION] == pytest.approx(linear)


@LINE_DESCENTS
@pytest.mark.parametrize(
    ("length", "predicted", "status"),
    [
        (3e-16, 0.1, RUNNING),
        (1.5e-16, 0.1, STALLED),
        (1.0, 2e-11, RUNNING),
        (1.0, 0.5e-11, STALLED),
    ],
)
def test_when_a_line_search_has_failed(
    rule: int, length: float, predicted: float, status: int
) -> None:
    """At a step of nothing, or where the gain predicted cannot be measured."""
    slots = {STEP_LENGTH: length, PREDICTED_REDUCTION: predicted}
    assert reject(slots, rule).state[STATUS] == status


def test_a_trial_of_one_dof_is_halved_six_times() -> None:
    descent = reject({REJECTED_TRIALS: 2.0, REQUESTED_ORDER: EXACT}, COORDINATE_DESCENT)
    np.testing.assert_allclose(descent.trial, HERE + 0.5 * STEP)
    assert (descent.state[PURPOSE], descent.state[IDLE_TRIALS]) == (FOR_STEP, 0.0)
    descent = reject({REJECTED_TRIALS: 6.0, REQUESTED_ORDER: EXACT}, COORDINATE_DESCENT)
    assert (descent.state[PURPOSE], descent.state[IDLE_TRIALS]) == (FOR_DERIVATIVES, 1.0)
    assert descent.trial.tolist() == HERE.tolist() and descent.state[REQUESTED_ORDER] == EXACT


@pytest.mark.parametrize(("idle", "status"), [(3.0, RUNNING), (4.0, STALLED)])
def test_two_idle_sweeps_are_enough(idle: float, status: int) -> None:
    """Of two dofs: more than four idle trials."""
    slots = {REJECTED_TRIALS: 6.0, IDLE_TRIALS: idle}
    assert reject(slots, COORDINATE_DESCENT).state[STATUS] == status


def test_a_way_off_a_saddle_is_tried_both_ways() -> None:
    slots = {PURPOSE: FOR_ESCAPE, STEP_LENGTH: 0.5}
    descent = reject(slots, DAMPED)
    np.testing.assert_allclose(descent.trial, HERE - 0.5 * STEP)
    assert descent.state[PURPOSE] == FOR_ESCAPE and descent.state[REJECTED_TRIALS] == 1.0
    descent = reject(slots | {STEP_LENGTH: -0.5, REJECTED_TRIALS: 1.0}, DAMPED)
    np.testing.assert_allclose(descent.trial, HERE + 0.25 * STEP)
    descent = reject({**slots, STEP_LENGTH: 0.25, REJECTED_TRIALS: 2.0}, DAMPED)
    np.testing.assert_allclose(descent.trial, HERE - 0.25 * STEP)


@pytest.mark.parametrize("rule", [DAMPED, FLETCHER, TRUST_REGION])
def test_derivatives_are_asked_for_again_where_they_were(rule: int) -> None:
    """A trial has overwritten them; of the order that they had."""
    for order in (EXACT, GAUSS_NEWTON):
        descent = reject({EVALUATED_ORDER: order}, rule, {CURVATURE: order})
        state = descent.state
        assert (state[PURPOSE], state[REQUESTED_ORDER]) == (FOR_DERIVATIVES, order)
        assert descent.trial.tolist() == HERE.tolist() and state[IDLE_TRIALS] == 0.0


def test_a_fallback_stays_until_a_step_is_accepted() -> None:
    """With Gauss–Newton's curvature damping may grow until there is no step left."""
    hybrid = {CURVATURE: HYBRID, INITIAL_DAMPING: 0.7}
    for damping, status in ((1e7, RUNNING), (0.3e12, STALLED)):
        slots = {GAUSS_NEWTON_FALLBACK: 1.0, DAMPING: damping, EVALUATED_ORDER: GAUSS_NEWTON}
        state = reject(slots, DAMPED, hybrid).state
        assert state[STATUS] == status and state[DAMPING] == 4.0 * damping
        assert state[REQUESTED_ORDER] == GAUSS_NEWTON
    state = reject({DAMPING: 0.3e12}, DAMPED, hybrid).state  # it falls back before it fails
    assert (state[STATUS], state[DAMPING], state[GAUSS_NEWTON_FALLBACK]) == (RUNNING, 0.7, 1.0)


@pytest.mark.parametrize(("predicted", "idle"), [(2e-11, 0.0), (0.5e-11, 1.0)])
def test_trials_whose_gain_cannot_be_measured_are_counted(predicted: float, idle: float) -> None:
    assert reject({PREDICTED_REDUCTION: predicted}, DAMPED).state[IDLE_TRIALS] == idle


@pytest.mark.parametrize(("norm", "after"), [(0.4, 0.1), (3.0, 0.25)])
def test_a_radius_after_a_rejection(norm: float, after: float) -> None:
    assert reject({STEP_NORM: norm}, TRUST_REGION).state[TRUST_RADIUS] == after


@pytest.mark.parametrize("escape", [0.0, 1.0])
def test_exact_curvature_is_asked_for_where_gains_drown(escape: float) -> None:
    """So that a saddle can be told; methods that leave none end there."""
    slots = {PREDICTED_REDUCTION: 1e-12, IDLE_TRIALS: 4.0, EVALUATED_ORDER: GAUSS_NEWTON}
    options = {CURVATURE: GAUSS_NEWTON, ESCAPE_SADDLES: escape}
    state = reject(slots, DAMPED, options).state
    assert state[STATUS] == (RUNNING if escape else STALLED)
    assert state[REQUESTED_ORDER] == EXACT
    state = reject(slots | {IDLE_TRIALS: 3.0}, DAMPED, options).state
    assert (state[STATUS], state[REQUESTED_ORDER]) == (RUNNING, GAUSS_NEWTON)
