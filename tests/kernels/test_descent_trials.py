"""The next trial of each rule, from made-up derivatives, against dense linear algebra."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.descent.descend import advance, run_descent
from exactik.kernels.descent.options import (
    COORDINATE_DESCENT,
    CURVATURE,
    DAMPED,
    ESCAPE_SADDLES,
    FLETCHER,
    GRADIENT_DESCENT,
    HYBRID,
    INITIAL_DAMPING,
    INITIAL_STEP_LENGTH,
    INITIAL_TRUST_RADIUS,
    LAYOUT,
    LINE_SEARCH,
    MAX_STEP_ENTRY,
    RULE,
    TRUST_REGION,
)
from exactik.kernels.descent.state import (
    DAMPING,
    DAMPING_GROWTH,
    EVALUATIONS,
    FOR_DERIVATIVES,
    FOR_STEP,
    GAUSS_NEWTON_FALLBACK,
    IS_CONVEX,
    LINEAR_REDUCTION,
    PREDICTED_REDUCTION,
    PURPOSE,
    REQUESTED_ORDER,
    RUNNING,
    STALLED,
    STATUS,
    STEP_LARGEST_ENTRY,
    STEP_LENGTH,
    STEP_NORM,
    TRUST_RADIUS,
    DescentState,
    start_descent,
)
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.linear.active_set import box_step, update_active_set
from exactik.kernels.linear.articulated import JOINT_BLOCKS, WHOLE_ROWS
from exactik.kernels.linear.loops import make_joint_pattern
from exactik.solvers import CCD, GaussNewton
from exactik.typing import Array
from tests.support.quadratics import ancestor_pattern, blank_descent_state, to_ancestor_rows
from tests.support.solver_problems import planar_chain

Rng = np.random.Generator
SECOND_ORDER = (DAMPED, FLETCHER, TRUST_REGION, LINE_SEARCH)


def problem_of(size: int, room: float = np.inf, **more: Any) -> ik.Problem:
    """Hinges in a row, each of which may go `room` [rad] either way."""
    chain = planar_chain(size, [(-room, room)] * size)
    return ik.Problem(chain, ik.MarkerGoal("HAND", (0.25, 0.1, 0)), **more)


def options_of(problem: ik.Problem, rule: int, slots: Mapping[int, float] | None = None) -> Array:
    options = ik.Auto(escape=False).options(problem)
    options[RULE], options[CURVATURE], options[LAYOUT] = rule, EXACT, WHOLE_ROWS
    options[INITIAL_TRUST_RADIUS], options[INITIAL_STEP_LENGTH] = 1.0, 0.5
    options[MAX_STEP_ENTRY] = np.inf
    for slot, value in (slots or {}).items():
        options[slot] = value
    return options


def propose(
    problem: ik.Problem,
    rule: int,
    g: Array,
    matrix: Array,
    slots: Mapping[int, float] | None = None,
    q: Array | None = None,
    cost: float = 1.0,
) -> DescentState:
    """The first trial of a descent from q, where cost and derivatives are these."""
    figure, size = problem.skeleton, len(g)
    descent, options = blank_descent_state(figure), options_of(problem, rule, slots)
    q = np.zeros(size) if q is None else q
    start_descent(problem.box, options, True, q, descent)
    rows, work = to_ancestor_rows(figure, matrix), problem.workspace
    pattern = ancestor_pattern(figure)
    with np.errstate(all="ignore"):
        advance(figure.tree, pattern, problem.box, options, q, cost, g, rows, work, descent)
    return descent


def scale_of(matrix: Array, rule: int) -> Array:
    """D without strengths, as docs/maths.md §14 has it."""
    diagonal = np.abs(np.diag(matrix))
    if rule == TRUST_REGION:
        return np.ones(len(matrix))
    return np.maximum(diagonal, (1e-6 if rule == FLETCHER else 1e-3) * diagonal.max())


def random_model(rng: Rng, size: int, lowest: float) -> tuple[Array, Array]:
    """A gradient and a matrix whose least eigenvalue is this."""
    A = rng.normal(size=(size, size))
    matrix = A @ A.T / size
    matrix += (lowest - np.linalg.eigvalsh(matrix)[0]) * np.eye(size)
    return 0.1 * rng.normal(size=size), matrix


# --- steps of second order


@pytest.mark.parametrize("lowest", [0.3, -0.05, -1.0])
@pytest.mark.parametrize("rule", [DAMPED, FLETCHER])
@pytest.mark.parametrize("damping", [0.0, 1e-4, 1.0])
def test_damping_is_raised_until_there_is_a_step(rule: int, damping: float, lowest: float) -> None:
    """By 4, 8, 16 …, or by 4 each time; the step solves (H + μD) s = −g."""
    rng, raised = np.random.default_rng(1), 0
    for size in (1, 2, 4):
        problem = problem_of(size)
        g, matrix = random_model(rng, size, lowest)
        descent = propose(problem, rule, g, matrix, {INITIAL_DAMPING: damping})
        D, mu, growth = scale_of(matrix, rule), damping, 4.0
        while np.linalg.eigvalsh(matrix + mu * np.diag(D))[0] <= 0.0:
            mu, growth = max(growth * mu, 1e-6), 2.0 * growth if rule == DAMPED else 4.0
        step = np.linalg.solve(matrix + mu * np.diag(D), -g)
        step *= min(1.0, math.pi / np.abs(step).max())
        np.testing.assert_allclose(descent.step, step, rtol=1e-9, atol=1e-12)
        state = descent.state
        assert state[DAMPING] == pytest.approx(mu, rel=1e-12)
        assert rule == FLETCHER or state[DAMPING_GROWTH] == growth
        assert (state[IS_CONVEX] == 1.0) == (mu == 0.0)
        raised += mu != damping
        check_prediction(descent, g, matrix)
        np.testing.assert_allclose(descent.trial, step, atol=1e-12)
        assert (state[STATUS], state[PURPOSE], state[STEP_LENGTH]) == (RUNNING, FOR_STEP, 1.0)
    assert raised > 0 or lowest > 0.0 or damping == 1.0


def check_prediction(descent: DescentState, g: Array, matrix: Array) -> None:
    s, state = descent.step, descent.state
    assert state[LINEAR_REDUCTION] == pytest.approx(-g @ s, rel=1e-9)
    assert state[PREDICTED_REDUCTION] == pytest.approx(-g @ s - 0.5 * s @ matrix @ s, rel=1e-9)
    assert state[STEP_LARGEST_ENTRY] == pytest.approx(np.abs(s).max(), rel=1e-12)


def test_gauss_newtons_curvature_proves_no_convexity() -> None:
    g, matrix = random_model(np.random.default_rng(2), 3, 0.5)
    for order, convex in ((EXACT, 1.0), (GAUSS_NEWTON, 0.0)):
        slots = {CURVATURE: order, INITIAL_DAMPING: 0.0}
        assert propose(problem_of(3), DAMPED, g, matrix, slots).state[IS_CONVEX] == convex


@pytest.mark.parametrize(("bend", "damping"), [(0.3, 0.0), (-0.4e-9, 1e-6), (-2e-9, 1e-4)])
def test_a_line_search_damps_just_enough(bend: float, damping: float) -> None:
    """1e-12, then a hundred times as much until the matrix can be factored; D is 1e-3 at least."""
    g, matrix = np.array([1e-4, 1e-12]), np.diag([1.0, bend])
    descent = propose(problem_of(2), LINE_SEARCH, g, matrix)
    np.testing.assert_allclose(
        descent.step, -g / (np.diag(matrix) + damping * scale_of(matrix, LINE_SEARCH)), rtol=1e-6
    )
    state = descent.state
    assert (state[STATUS], state[STEP_LENGTH]) == (RUNNING, 1.0)
    assert state[PREDICTED_REDUCTION] == state[LINEAR_REDUCTION] == pytest.approx(-g @ descent.step)


@pytest.mark.parametrize("rule", SECOND_ORDER)
def test_much_damping_can_be_needed(rule: int) -> None:
    """From none up to the curvature itself: a dozen attempts where damping grows slowly."""
    g, matrix = np.array([0.01, 0.02]), np.diag([1.0, -0.9])
    descent = propose(problem_of(2), rule, g, matrix, {INITIAL_DAMPING: 0.0})
    assert descent.state[STATUS] == RUNNING and g @ descent.step < 0.0
    if rule != LINE_SEARCH:
        check_prediction(descent, g, matrix)


@pytest.mark.parametrize("rule", SECOND_ORDER)
def test_where_there_is_no_step_it_falls_back_or_stalls(rule: int) -> None:
    """The matrix is no number: HYBRID curvature tries Gauss–Newton's once, with new damping."""
    g, matrix = np.array([0.01, 0.02]), np.full((2, 2), np.nan)
    assert propose(problem_of(2), rule, g, matrix).state[STATUS] == STALLED
    slots = {CURVATURE: HYBRID, INITIAL_DAMPING: 0.7}
    q = np.array([0.3, 0.4])
    descent = propose(problem_of(2), rule, g, matrix, slots, q)
    state = descent.state
    assert (state[STATUS], state[GAUSS_NEWTON_FALLBACK]) == (RUNNING, 1.0)
    assert (state[PURPOSE], state[REQUESTED_ORDER]) == (FOR_DERIVATIVES, GAUSS_NEWTON)
    assert (state[DAMPING], state[DAMPING_GROWTH]) == (0.7, 4.0)
    assert descent.trial.tolist() == [0.3, 0.4]
    options = options_of(problem_of(2), rule, slots)
    rows, work = to_ancestor_rows(problem_of(2).skeleton, matrix), problem_of(2).workspace
    box, pattern = problem_of(2).box, ancestor_pattern(problem_of(2).skeleton)
    tree = problem_of(2).skeleton.tree
    advance(tree, pattern, box, options, q, 1.0, g, rows, work, descent)
    assert state[STATUS] == STALLED


def test_no_dof_turns_by_more_than_half_a_turn() -> None:
    """The step is shortened as a whole, shifts and all; shifts alone may be of any length."""
    bones = [
        ik.Bone("s", joint=ik.Joint.prismatic("x")),
        ik.Bone("h", parent="s", joint=ik.Joint.revolute("z")),
    ]
    figure = ik.Skeleton.build("slide", bones)
    problem = ik.Problem(figure, ik.PositionGoal("h", (1, 0, 0), (1, 0, 0)))
    for turn, factor in ((-10.0, math.pi / 10.0), (2.0, 1.0)):
        g, matrix = -np.array([20.0, turn]), np.eye(2)
        descent = propose(problem, DAMPED, g, matrix, {INITIAL_DAMPING: 0.0})
        np.testing.assert_allclose(descent.step, factor * np.array([20.0, turn]), rtol=1e-12)
        descent = propose(problem, TRUST_REGION, g, matrix, {INITIAL_TRUST_RADIUS: 100.0})
        size = np.linalg.norm(descent.step)
        assert descent.state[STEP_NORM] == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("rule", [DAMPED, FLETCHER, LINE_SEARCH, TRUST_REGION])
def test_steps_inside_limits_predict_a_fall_and_forget_what_failed(rule: int) -> None:
    """Indefinite models in a small box: the last attempt is as if it were the only one."""
    rng, again = np.random.default_rng(3), 0
    for _ in range(60):
        size = int(rng.integers(2, 6))
        problem = problem_of(size, 0.1)
        g, matrix = random_model(rng, size, rng.uniform(-1.0, 0.2))
        q = rng.choice([-0.1, 0.0, 0.05, 0.1], size=size)
        descent = propose(problem, rule, g, matrix, {INITIAL_DAMPING: 1e-3}, q.copy())
        state = descent.state
        pushed = ((q <= -0.1) & (g > 0.0)) | ((q >= 0.1) & (g < 0.0))
        if pushed.all():
            continue
        assert state[STATUS] == RUNNING and state[PREDICTED_REDUCTION] > 0.0
        if rule != LINE_SEARCH:
            check_prediction(descent, g, matrix)
        assert (np.abs(q + descent.step) <= 0.1 + 1e-15).all()
        assert not descent.step[pushed].any()
        np.testing.assert_allclose(descent.trial, q + descent.step, atol=1e-15)
        if rule == TRUST_REGION:
            shrinks = math.log(state[TRUST_RADIUS]) / math.log(0.25)
            assert shrinks == pytest.approx(round(shrinks), abs=1e-9)
            again += shrinks > 0.5
            continue
        if rule == LINE_SEARCH:
            continue
        fresh = blank_descent_state(problem.skeleton)
        fresh.lower[:], fresh.upper[:], fresh.scale[:] = -0.1, 0.1, scale_of(matrix, rule)
        box, rows = problem.box, to_ancestor_rows(problem.skeleton, matrix)
        update_active_set(
            box.coordinate, fresh.lower, fresh.upper, box.free, q, g, fresh.active_set
        )
        pattern, tree, work = (
            ancestor_pattern(problem.skeleton),
            problem.skeleton.tree,
            problem.workspace,
        )
        box_step(
            make_joint_pattern(tree, work),
            pattern,
            box.coordinate,
            WHOLE_ROWS,
            q,
            g,
            rows,
            work.S,
            work.P,
            state[DAMPING],
            fresh,
        )
        np.testing.assert_allclose(descent.step, fresh.step, atol=1e-12)
        again += state[DAMPING] > 1e-3
    assert again >= (0 if rule == LINE_SEARCH else 3)


# --- gradient steps


@pytest.mark.parametrize(
    ("first", "longest", "length"),
    [(0.5, np.inf, 1.0), (1e7, np.inf, 1e6), (0.5, 0.03, 0.6), (0.2, 0.03, 0.4)],
)
def test_the_length_of_a_gradient_step(first: float, longest: float, length: float) -> None:
    """Twice the last one, a million at most, and no dof by more than is allowed."""
    g = np.array([0.05, -0.02])
    slots = {INITIAL_STEP_LENGTH: first, MAX_STEP_ENTRY: longest}
    descent = propose(problem_of(2), GRADIENT_DESCENT, g, np.eye(2), slots)
    assert descent.state[STEP_LENGTH] == pytest.approx(length, rel=1e-12)
    assert descent.state[STEP_LARGEST_ENTRY] == 0.05 and descent.step.tolist() == [-0.05, 0.02]
    np.testing.assert_allclose(descent.trial, -length * g, rtol=1e-12)
    assert descent.state[PREDICTED_REDUCTION] == pytest.approx(length * (g @ g), rel=1e-12)


def test_a_gradient_step_counts_by_what_limits_leave_of_it() -> None:
    """−g · (trial − q) of the clipped trial; dofs pushed against a limit have no step at all."""
    problem = problem_of(3, 0.1, strength={"b1": 2.0})
    g, q = np.array([0.3, 0.01, -0.2]), np.array([0.05, 0.0, 0.1])
    descent = propose(problem, GRADIENT_DESCENT, g, np.eye(3), q=q)
    assert descent.step.tolist() == [-0.3, -0.04, 0.0]
    np.testing.assert_allclose(descent.trial, [-0.1, -0.04, 0.1], atol=1e-15)
    moved = np.array([-0.15, -0.04, 0.0])
    assert descent.state[PREDICTED_REDUCTION] == pytest.approx(-g @ moved, rel=1e-12)


def test_quaternions_take_gradient_steps_unclipped() -> None:
    figure = ik.Skeleton.build("ball", [ik.Bone("b", joint=ik.Joint.quaternion())])
    problem = ik.Problem(figure, ik.PositionGoal("b", (0, 0, 1), (1, 0, 0)))
    g = np.array([0.1, -0.2, 0.3])
    q = figure.neutral()
    descent = propose(problem, GRADIENT_DESCENT, g, np.eye(3), q=q)
    assert descent.state[PREDICTED_REDUCTION] == pytest.approx(g @ g, rel=1e-12)
    np.testing.assert_allclose(figure.difference(descent.trial, figure.neutral()), -g, atol=1e-12)


def test_a_step_of_one_dof_is_tried_as_it_is() -> None:
    """The last dof first: −A cos δ − B sin δ has its least value at atan2(B, A)."""
    g, q = np.array([0.3, -0.2]), np.array([0.1, 0.4])
    descent = propose(problem_of(2), COORDINATE_DESCENT, g, np.eye(2), q=q)
    np.testing.assert_allclose(descent.step, [0.0, math.atan2(0.2, 1.0)], rtol=1e-12)
    np.testing.assert_allclose(descent.trial, q + descent.step, rtol=1e-12)
    assert descent.state[PURPOSE] == FOR_STEP


# --- whole descents


METHODS = (ik.Auto(), ik.Newton(), ik.LevenbergMarquardt(), GaussNewton(), CCD())


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_pass_is_counted_and_one_call_goes_to_the_end(method: Any) -> None:
    problem = problem_of(4, 1.5)
    q, options, descent = np.full(4, 0.2), method.options(problem), problem.descent_state
    start_descent(problem.box, options, True, q, descent)
    arrays, tree, work = problem.packed.arrays, problem.skeleton.tree, problem.workspace
    made = run_descent(tree, arrays, problem.box, options, q, 10_000, descent, work)
    assert 1 < made < 10_000 and descent.state[STATUS] != RUNNING
    assert descent.state[EVALUATIONS] == made
    assert problem.cost(q) < 1e-9


@pytest.mark.parametrize("rule", [DAMPED, FLETCHER, LINE_SEARCH])
def test_both_layouts_take_the_same_steps(rule: int) -> None:
    """Rows of H that are factored, or blocks of joints and the articulated recursion."""
    problem, ends = problem_of(5, 0.8), []
    for layout in (WHOLE_ROWS, JOINT_BLOCKS):
        slots = {LAYOUT: layout, CURVATURE: HYBRID, INITIAL_DAMPING: 0.1, ESCAPE_SADDLES: 1.0}
        options, descent = options_of(problem, rule, slots), problem.descent_state
        q = np.array([0.3, -0.2, 0.5, 0.1, -0.6])
        start_descent(problem.box, options, True, q, descent)
        history = []
        for _ in range(8):
            run_descent(
                problem.skeleton.tree,
                problem.packed.arrays,
                problem.box,
                options,
                q,
                1,
                descent,
                problem.workspace,
            )
            state = descent.state
            slots_seen = (PREDICTED_REDUCTION, LINEAR_REDUCTION, STEP_LARGEST_ENTRY, DAMPING)
            history += [*descent.step, *descent.trial, *(state[slot] for slot in slots_seen)]
        ends.append(history)
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6, atol=1e-9)


def test_a_step_of_one_dof_is_a_fraction_of_an_iteration() -> None:
    result = ik.solve(problem_of(4, 1.5), q0=np.full(4, 0.2), solver=CCD(max_iterations=2))
    assert result.iterations == 2 and result.evaluations > 4
