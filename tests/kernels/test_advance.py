"""What a pass of the compiled descent keeps, counts and asks for next; and its metric D."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.descent.descend import advance, update_scale
from exactik.kernels.descent.options import (
    COORDINATE_DESCENT,
    CURVATURE,
    CURVATURE_OF_DOF,
    CURVATURE_OF_KIND,
    DAMPED,
    ESCAPE_SADDLES,
    FLETCHER,
    GRADIENT_TOLERANCE,
    HYBRID,
    LAYOUT,
    LINE_SEARCH,
    MAX_ITERATIONS,
    METRIC,
    NEGLIGIBLE_COST,
    RULE,
    TRUST_REGION,
)
from exactik.kernels.descent.state import (
    ACCEPTED_LARGEST_ENTRY,
    CONVERGED,
    COST,
    DAMPING,
    EVALUATED_LAYOUT,
    EVALUATED_ORDER,
    EVALUATIONS,
    FOR_DERIVATIVES,
    FOR_ESCAPE,
    FOR_STEP,
    GAUSS_NEWTON_FALLBACK,
    IDLE_TRIALS,
    IS_CONVEX,
    ITERATION_LIMIT,
    ITERATIONS,
    PREDICTED_REDUCTION,
    PROJECTED_GRADIENT,
    PURPOSE,
    REQUESTED_LAYOUT,
    REQUESTED_ORDER,
    RUNNING,
    STALLED,
    STATUS,
    STEP_LARGEST_ENTRY,
    STEP_LENGTH,
    DescentState,
    start_descent,
)
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON, GRADIENT
from exactik.kernels.linear.articulated import JOINT_BLOCKS, WHOLE_ROWS
from exactik.typing import Array
from tests.support.descents import FIGURE, PROBLEM, plain
from tests.support.quadratics import ancestor_pattern, blank_descent_state, to_ancestor_rows

HILL = np.diag([1.0, -0.5])  # bends down along the second dof
HERE = np.array([0.7, 0.9])
FLAT_SLOPE = np.array([1e-12, 0.0])


def options_of(slots: Mapping[int, float]) -> Array:
    options = ik.Auto().options(PROBLEM)
    options[LAYOUT], options[CURVATURE] = WHOLE_ROWS, EXACT
    for slot, value in slots.items():
        options[slot] = value
    return options


def make_pass(
    value: float,
    g: Array,
    matrix: Array,
    slots: Mapping[int, float] | None = None,
    options: Mapping[int, float] | None = None,
) -> tuple[DescentState, Array, bool]:
    """One pass of a descent at `HERE` of cost 1, whose trial is 0.1 rad further on."""
    chosen = options_of(options or {})
    descent, q = blank_descent_state(FIGURE), HERE.copy()
    start_descent(PROBLEM.box, chosen, True, q, descent)
    descent.state[COST], descent.state[PURPOSE] = 1.0, FOR_STEP
    descent.state[PREDICTED_REDUCTION], descent.state[PROJECTED_GRADIENT] = 0.5, 0.1
    descent.state[STEP_LARGEST_ENTRY], descent.state[STEP_LENGTH] = 0.2, -0.5
    for slot, start in (slots or {}).items():
        descent.state[slot] = start
    descent.trial[:], descent.step[:] = HERE + 0.1, 0.1
    rows, work = to_ancestor_rows(FIGURE, matrix), PROBLEM.workspace
    pattern, tree = ancestor_pattern(FIGURE), FIGURE.tree
    work.P[:] = 0.0  # the joints of `matrix`, which is diagonal, are apart
    goes_on = advance(tree, pattern, PROBLEM.box, chosen, q, value, g, rows, work, descent)
    return descent, q, bool(goes_on)


SLOPE, BOWL = np.array([0.3, -0.2]), np.diag([1.0, 0.5])


# --- the start


def test_a_start_is_moved_into_the_limits_unless_there_are_none() -> None:
    """A descent without limits keeps the start as it is; quaternions have none to begin with."""
    for limited, begun in ((True, [0.0, 2.0]), (False, [-1.0, 3.0])):
        descent, q = blank_descent_state(FIGURE), np.array([-1.0, 3.0])
        start_descent(PROBLEM.box, options_of({}), limited, q, descent)
        assert q.tolist() == descent.trial.tolist() == begun
        ends = [0.0, 0.0, 2.0, 2.0] if limited else [-np.inf, -np.inf, np.inf, np.inf]
        assert [*descent.lower, *descent.upper] == ends
        assert descent.state[STATUS] == RUNNING and descent.state[COST] == np.inf


# --- what is kept


def test_an_accepted_step_is_kept_and_counted() -> None:
    slots = {ITERATIONS: 3.0, EVALUATIONS: 7.0, IDLE_TRIALS: 2.0, GAUSS_NEWTON_FALLBACK: 1.0}
    descent, q, goes_on = make_pass(0.6, SLOPE, BOWL, slots)
    state = descent.state
    assert goes_on and q.tolist() == (HERE + 0.1).tolist() and state[COST] == 0.6
    assert (state[ITERATIONS], state[EVALUATIONS]) == (4.0, 8.0)
    assert (state[IDLE_TRIALS], state[GAUSS_NEWTON_FALLBACK]) == (0.0, 0.0)
    assert state[ACCEPTED_LARGEST_ENTRY] == 0.1
    slope = np.abs(SLOPE) / np.sqrt(2.0 * 0.6 * np.diag(BOWL))
    assert state[PROJECTED_GRADIENT] == pytest.approx(slope.max(), rel=1e-12)


def test_a_rejected_step_changes_nothing_but_the_count_of_evaluations() -> None:
    descent, q, goes_on = make_pass(1.5, SLOPE, BOWL, {ITERATIONS: 3.0, EVALUATIONS: 7.0})
    state = descent.state
    assert goes_on and q.tolist() == HERE.tolist() and state[COST] == 1.0
    assert (state[ITERATIONS], state[EVALUATIONS]) == (3.0, 8.0)
    assert state[PURPOSE] == FOR_DERIVATIVES and descent.trial.tolist() == HERE.tolist()


def test_derivatives_once_more_are_no_step() -> None:
    slots = {PURPOSE: FOR_DERIVATIVES, ITERATIONS: 3.0, IDLE_TRIALS: 2.0}
    descent, q, goes_on = make_pass(0.6, SLOPE, BOWL, slots)
    assert goes_on and q.tolist() == HERE.tolist() and descent.state[COST] == 1.0
    assert (descent.state[ITERATIONS], descent.state[IDLE_TRIALS]) == (3.0, 2.0)


def test_a_step_of_one_dof_counts_as_a_fraction() -> None:
    descent, _, _ = make_pass(0.6, SLOPE, BOWL, options={RULE: COORDINATE_DESCENT})
    assert descent.state[ITERATIONS] == 0.5


@pytest.mark.parametrize("layout", [WHOLE_ROWS, JOINT_BLOCKS])
def test_layout_and_order_of_what_was_evaluated_are_remembered(layout: int) -> None:
    """A layout is asked for once: the next pass is in the method's own again."""
    slots = {REQUESTED_LAYOUT: layout, REQUESTED_ORDER: GAUSS_NEWTON}
    descent, _, _ = make_pass(1.5, SLOPE, BOWL, slots)
    state = descent.state
    assert (state[EVALUATED_LAYOUT], state[EVALUATED_ORDER]) == (layout, GAUSS_NEWTON)
    assert state[REQUESTED_LAYOUT] == WHOLE_ROWS


@pytest.mark.parametrize(
    ("before", "damping", "tolerance", "rule", "order"),
    [
        (4.0, 0.0, 0.004, DAMPED, GRADIENT),  # 0.3 (0.4 / 4)² = 0.003
        (4.0, 0.0, 0.002, DAMPED, EXACT),
        (2.0, 0.0, 0.004, DAMPED, EXACT),
        (4.0, 0.1, 0.004, DAMPED, GRADIENT),  # is lowered to 0.01, and leaves 0.003 of a gradient
        (4.0, 0.2, 0.004, DAMPED, EXACT),
        (4.0, 0.0, 0.004, TRUST_REGION, EXACT),
    ],
)
def test_what_should_be_the_last_step_is_evaluated_to_its_gradient(
    before: float, damping: float, tolerance: float, rule: int, order: int
) -> None:
    """A step of `before` left a relative gradient of 0.3; the next one is of 0.4 rad."""
    slots = {STEP_LARGEST_ENTRY: 2.0 * before, DAMPING: damping}
    options = {GRADIENT_TOLERANCE: tolerance, RULE: rule}
    descent, _, goes_on = make_pass(0.5, SLOPE, BOWL, slots, options)
    assert goes_on and descent.state[PROJECTED_GRADIENT] == pytest.approx(0.3, rel=1e-2)
    assert (descent.state[PURPOSE], descent.state[REQUESTED_ORDER]) == (FOR_STEP, order)


@pytest.mark.parametrize("value", [0.5, 1.5])
def test_curvature_follows_where_it_was_not_the_last_step(value: float) -> None:
    """Whether the step was accepted or not; D stays, for H is of another place."""
    slots = {REQUESTED_ORDER: GRADIENT}
    descent, q, goes_on = make_pass(value, SLOPE, np.full((2, 2), np.nan), slots)
    assert goes_on and descent.max_curvature.tolist() == [0.0, 0.0]
    assert (descent.state[PURPOSE], descent.state[REQUESTED_ORDER]) == (FOR_DERIVATIVES, EXACT)
    assert descent.trial.tolist() == q.tolist()


# --- how it ends


@pytest.mark.parametrize(
    ("before", "status"),
    [
        (7.0, RUNNING),
        (8.0 - 2e-9, RUNNING),
        (8.0 - 0.5e-9, ITERATION_LIMIT),
        (8.0, ITERATION_LIMIT),
    ],
)
def test_iterations_are_counted_to_a_billionth(before: float, status: int) -> None:
    """Fractions of 1/nv do not sum to whole numbers exactly."""
    slots = {PURPOSE: FOR_DERIVATIVES, ITERATIONS: before}
    descent, _, goes_on = make_pass(1.0, SLOPE, BOWL, slots, options={MAX_ITERATIONS: 8.0})
    assert descent.state[STATUS] == status and goes_on == (status == RUNNING)
    saddle, _, _ = make_pass(1.0, FLAT_SLOPE, HILL, slots, options={MAX_ITERATIONS: 8.0})
    expected = FOR_ESCAPE if status == RUNNING else FOR_DERIVATIVES
    assert saddle.state[PURPOSE] == expected  # a saddle is not left with the last iteration


@pytest.mark.parametrize(
    ("value", "g", "options", "status"),
    [
        (0.5, SLOPE, {}, RUNNING),
        (0.5, SLOPE, {NEGLIGIBLE_COST: 0.5}, CONVERGED),
        (0.5, SLOPE, {NEGLIGIBLE_COST: 0.49}, RUNNING),
        (0.5, SLOPE, {GRADIENT_TOLERANCE: 0.31}, CONVERGED),
        (0.5, SLOPE, {GRADIENT_TOLERANCE: 0.29}, RUNNING),
    ],
)
def test_when_it_is_at_rest(
    value: float, g: Array, options: Mapping[int, float], status: int
) -> None:
    """√(2 cost · curvature) is 1 for the first dof, and 0.7 for the second."""
    descent, _, goes_on = make_pass(value, g, BOWL, options=options)
    assert descent.state[STATUS] == status and goes_on == (status == RUNNING)


def test_a_start_that_costs_no_number_stalls() -> None:
    descent, _, goes_on = make_pass(np.nan, SLOPE, BOWL, {PURPOSE: 0.0})
    assert descent.state[STATUS] == STALLED and not goes_on


@pytest.mark.parametrize("escape", [0.0, 1.0])
@pytest.mark.parametrize(("idle", "looks"), [(4.0, False), (5.0, True)])
def test_where_gains_drown_in_rounding_a_saddle_is_looked_for(
    escape: float, idle: float, looks: bool
) -> None:
    """After more than four trials without a gain, if the method leaves saddles."""
    slots = {PURPOSE: FOR_DERIVATIVES, IDLE_TRIALS: idle}
    descent, _, _ = make_pass(1.0, SLOPE, HILL, slots, options={ESCAPE_SADDLES: escape})
    expected = FOR_ESCAPE if looks and escape else FOR_STEP
    assert descent.state[PURPOSE] == expected
    bowl, _, goes_on = make_pass(1.0, SLOPE, BOWL, slots, options={ESCAPE_SADDLES: escape})
    assert bowl.state[STATUS] == (STALLED if looks and escape else RUNNING)
    assert goes_on == (bowl.state[STATUS] == RUNNING)


# --- stationary points


@pytest.mark.parametrize("matrix", [BOWL, HILL], ids=["bowl", "hill"])
@pytest.mark.parametrize("layout", [WHOLE_ROWS, JOINT_BLOCKS])
def test_saddles_are_looked_for_in_the_exact_hessian(layout: int, matrix: Array) -> None:
    slots = {PURPOSE: FOR_DERIVATIVES, REQUESTED_ORDER: GAUSS_NEWTON, REQUESTED_LAYOUT: layout}
    descent, _, goes_on = make_pass(1.0, FLAT_SLOPE, matrix, slots, options={LAYOUT: layout})
    state = descent.state
    assert goes_on and (state[PURPOSE], state[REQUESTED_ORDER]) == (FOR_DERIVATIVES, EXACT)
    assert state[REQUESTED_LAYOUT] == layout and descent.trial.tolist() == HERE.tolist()


@pytest.mark.parametrize("layout", [WHOLE_ROWS, JOINT_BLOCKS])
def test_where_the_hessian_is_convex_a_descent_ends(layout: int) -> None:
    """In both layouts, by pivots; flat is convex, a tenth of a millionth of D below it is not."""
    slots = {PURPOSE: FOR_DERIVATIVES, REQUESTED_ORDER: EXACT, REQUESTED_LAYOUT: layout}
    for curvature, ends in ((0.5, True), (0.0, True), (-0.5e-7, True), (-2e-7, False)):
        matrix = np.diag([1.0, curvature])
        options = {LAYOUT: layout, RULE: TRUST_REGION}  # whose D is 1
        descent, _, goes_on = make_pass(1.0, FLAT_SLOPE, matrix, slots, options=options)
        assert goes_on == (not ends)
        assert descent.state[STATUS] == (CONVERGED if ends else RUNNING)


def test_a_saddle_is_left_by_whole_rows() -> None:
    """The blocks of the joints only tell that there is one."""
    slots = {PURPOSE: FOR_DERIVATIVES, REQUESTED_ORDER: EXACT, REQUESTED_LAYOUT: JOINT_BLOCKS}
    options = {LAYOUT: JOINT_BLOCKS}
    state = make_pass(1.0, FLAT_SLOPE, HILL, slots, options=options)[0].state
    assert (state[PURPOSE], state[REQUESTED_ORDER]) == (FOR_DERIVATIVES, EXACT)
    assert state[REQUESTED_LAYOUT] == WHOLE_ROWS
    slots[REQUESTED_LAYOUT] = WHOLE_ROWS
    descent, _, goes_on = make_pass(1.0, FLAT_SLOPE, HILL, slots, options=options)
    state = descent.state
    assert goes_on and state[PURPOSE] == FOR_ESCAPE and state[STEP_LENGTH] == 0.5
    assert state[STEP_LARGEST_ENTRY] == 1.0 and abs(descent.step[1]) == 1.0
    np.testing.assert_allclose(descent.trial, HERE + 0.5 * descent.step)


@pytest.mark.parametrize(
    ("convex", "escape", "status"),
    [(1.0, 1.0, CONVERGED), (0.0, 0.0, CONVERGED), (0.0, 1.0, RUNNING)],
)
def test_what_is_known_to_be_convex_is_not_looked_at(
    convex: float, escape: float, status: int
) -> None:
    slots = {PURPOSE: FOR_DERIVATIVES, IS_CONVEX: convex}
    descent, _, _ = make_pass(1.0, FLAT_SLOPE, HILL, slots, options={ESCAPE_SADDLES: escape})
    assert descent.state[STATUS] == status


def test_curvature_is_asked_for_by_hybrid_methods_alone() -> None:
    for curvature, order in ((HYBRID, EXACT), (GAUSS_NEWTON, GAUSS_NEWTON)):
        slots = {REQUESTED_ORDER: GAUSS_NEWTON}
        descent, _, _ = make_pass(0.6, SLOPE, BOWL, slots, options={CURVATURE: curvature})
        assert descent.state[REQUESTED_ORDER] == order


# --- the metric


def mixed_figure() -> ik.Skeleton:
    """A slide, a hinge, a slide and a hinge."""
    joints = [ik.Joint.prismatic("x"), ik.Joint.revolute("z")] * 2
    bones = [
        ik.Bone(f"b{k}", parent=f"b{k - 1}" if k > 0 else None, offset=(0.1, 0, 0), joint=joint)
        for k, joint in enumerate(joints)
    ]
    return ik.Skeleton.build("mixed", bones)


def metric_of(rule: int, metric: int, curvatures: list[Array], strength: Array) -> DescentState:
    figure = mixed_figure()
    named = {f"b{k}": float(value) for k, value in enumerate(strength)}
    problem = ik.Problem(figure, ik.PositionGoal("b3", (1, 0, 0)), strength=named)
    descent, options = blank_descent_state(figure), options_of({RULE: rule, METRIC: metric})
    start_descent(problem.box, options, True, figure.neutral(), descent)
    for curvature in curvatures:
        rows = to_ancestor_rows(figure, np.diag(curvature))
        plain(update_scale)(ancestor_pattern(figure), problem.box, options, rows, descent)
    return descent


@pytest.mark.parametrize("metric", [CURVATURE_OF_DOF, CURVATURE_OF_KIND])
@pytest.mark.parametrize("rule", [DAMPED, FLETCHER, TRUST_REGION, LINE_SEARCH])
def test_the_metric_of_every_rule(rule: int, metric: int) -> None:
    """Largest curvatures so far, by dof or by kind, over strengths², with a floor."""
    first, second = np.array([-4.0, 3.0, 1e-9, 0.2]), np.array([1.0, -5.0, 0.5e-9, 0.1])
    strength = np.array([1.0, 0.5, 2.0, 1.0])
    descent = metric_of(rule, metric, [first, second], strength)
    seen = np.maximum(np.abs(first), np.abs(second)) if rule != FLETCHER else np.abs(second)
    np.testing.assert_allclose(descent.max_curvature, seen)
    by_kind = metric == CURVATURE_OF_KIND and rule == DAMPED
    used = np.array([4.0, 5.0, 4.0, 5.0]) if by_kind else seen
    D = used / strength**2
    D = np.maximum(D, (1e-6 if rule == FLETCHER else 1e-3) * D.max())
    np.testing.assert_allclose(descent.scale, strength**-2 if rule == TRUST_REGION else D)


@pytest.mark.parametrize("rule", [DAMPED, FLETCHER])
def test_without_any_curvature_all_dofs_count_alike(rule: int) -> None:
    descent = metric_of(rule, CURVATURE_OF_DOF, [np.zeros(4)], np.ones(4))
    assert descent.scale.tolist() == [1.0] * 4
