"""Steps inside a box of limits, against dense linear algebra and scipy."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize
from numpy.typing import NDArray

from exactik import Problem, Skeleton
from exactik.compile import jit
from exactik.kernels.calculus.workspace import new_workspace
from exactik.kernels.linear.active_set import (
    MAX_ROUNDS,
    box_step,
    clip_to_limits,
    multiply_ancestor_rows,
    relative_projected_gradient,
    update_active_set,
)
from exactik.kernels.linear.articulated import WHOLE_ROWS
from exactik.kernels.linear.loops import make_joint_pattern
from exactik.typing import Array
from tests.support.models import bushy_tree, configuration, serial_chain
from tests.support.problems import make_pose_and_goals, menagerie
from tests.support.quadratics import (
    ancestor_pattern,
    blank_descent_state,
    indefinite,
    positive_definite,
    to_ancestor_rows,
    value,
)

NO_MOMENTA = (np.empty((0, 6)), np.empty((0, 6)))  # read for joint blocks only
FIGURES = (serial_chain(1), serial_chain(9), bushy_tree(23, 3), menagerie())


@jit
def product(pattern, H, x, path, y):
    multiply_ancestor_rows(pattern, H, x, path, y)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_ancestor_rows_times_a_vector_is_the_full_matrix_times_it(figure: Skeleton):
    rng, descent = np.random.default_rng(1), blank_descent_state(figure)
    for _ in range(5):
        matrix, x = indefinite(figure, rng, 0.5), rng.normal(size=figure.nv)
        product(
            ancestor_pattern(figure), to_ancestor_rows(figure, matrix), x, descent.path, descent.rhs
        )
        np.testing.assert_allclose(descent.rhs, matrix @ x, atol=1e-13)


class Step(NamedTuple):
    step: Array
    held: NDArray[np.bool_]
    pivot: float


class Model(NamedTuple):
    """g·s + ½ sᵀ(H + μD)s for q + s between the limits, some dofs held from the start."""

    figure: Skeleton
    g: Array
    H: Array
    damping: float
    scale: Array
    q: Array
    low: Array
    high: Array
    held: NDArray[np.bool_]

    @property
    def damped(self) -> Array:
        return self.H + self.damping * np.diag(self.scale)

    @property
    def room(self) -> tuple[Array, Array]:
        """How far each dof can go down and up; dofs of quaternions as far as they like."""
        plain = self.figure.plain_q
        own = np.where(plain >= 0, self.q[plain], 0.0)
        return self.low - own, self.high - own

    def step(self) -> Step:
        descent = blank_descent_state(self.figure)
        descent.active_set[:], descent.scale[:] = self.held, self.scale
        descent.lower[:], descent.upper[:] = self.low, self.high
        with np.errstate(all="ignore"):  # in plain Python numpy would warn of singular matrices
            pivot = box_step(
                make_joint_pattern(self.figure.tree, new_workspace(self.figure.tree)),
                ancestor_pattern(self.figure),
                self.figure.plain_q,
                WHOLE_ROWS,
                self.q,
                self.g,
                to_ancestor_rows(self.figure, self.H),
                *NO_MOMENTA,
                self.damping,
                descent,
            )
        return Step(descent.step, descent.active_set != 0.0, pivot)

    def best(self) -> Array:
        """The minimiser of the damped model in the box."""
        free = ~self.held
        root = np.linalg.cholesky(self.damped[np.ix_(free, free)]).T
        bounds = tuple(np.clip(side, -1e9, 1e9)[free] for side in self.room)
        target = -np.linalg.solve(root.T, self.g[free])
        answer = scipy.optimize.lsq_linear(root, target, bounds, method="bvls", tol=1e-15)
        step = np.zeros(len(free))
        step[free] = answer.x
        return step


def model_of(figure: Skeleton, seed: int, room: float, *, locks: float = 0.0) -> Model:
    """A random model whose dofs have about this much room on either side."""
    rng = np.random.default_rng(seed)
    q, plain = configuration(figure, seed), figure.plain_q
    own = q[plain]
    low, high = own - rng.exponential(room, figure.nv), own + rng.exponential(room, figure.nv)
    low[plain < 0], high[plain < 0] = -np.inf, np.inf
    return Model(
        figure=figure,
        g=rng.normal(size=figure.nv),
        H=positive_definite(figure, rng),
        damping=float(rng.choice([0.0, 0.1, 3.0])),
        scale=rng.uniform(0.1, 2.0, size=figure.nv),
        q=q,
        low=low,
        high=high,
        held=rng.random(figure.nv) < locks,
    )


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_without_limits_it_is_a_damped_newton_step(figure: Skeleton):
    """(H + μD) s = −g for the dofs that are not held, and the held ones stay."""
    for seed in range(6):
        model = model_of(figure, seed, np.inf, locks=0.3 * (seed % 2))
        actual, free = model.step(), ~model.held
        expected = np.zeros(figure.nv)
        expected[free] = np.linalg.solve(model.damped[np.ix_(free, free)], -model.g[free])
        np.testing.assert_allclose(actual.step, expected, atol=1e-11)
        assert actual.pivot > 0.0
        assert np.array_equal(actual.held, model.held)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_it_stays_in_the_box_and_is_stationary_along_it(figure: Skeleton):
    """The gradient of the model vanishes along the free dofs, and none is outside its limits.

    Where moreover every dof on a limit is pushed against it, no step in the box is better.
    """
    best = 0
    for seed, room in itertools.product(range(20), (0.02, 0.3, 2.0)):
        model = model_of(figure, seed, room, locks=0.2 * (seed % 2))
        step, held, pivot = model.step()
        below, above = model.room
        assert pivot > 0.0
        assert not step[model.held].any()
        assert (step >= below).all() and (step <= above).all()
        put = held & ~model.held
        assert ((step == below) | (step == above))[put].all()
        assert (held | (step > below) & (step < above)).all()
        slope = model.g + model.damped @ step
        np.testing.assert_allclose(slope[~held], 0.0, atol=1e-11)
        if (np.where(step < 0.0, slope, -slope)[put] >= 0.0).all():
            best += 1
            np.testing.assert_allclose(step, model.best(), atol=1e-8)
    assert best >= 5


def test_uncoupled_dofs_go_as_far_as_their_limits_allow():
    """With a diagonal matrix the minimiser in a box is the clipped one."""
    figure = bushy_tree(23, 3)
    for seed in range(5):
        model = model_of(figure, seed, 0.3)
        model = model._replace(H=np.diag(np.diag(model.H)))
        expected = np.clip(-model.g / np.diag(model.damped), *model.room)
        np.testing.assert_allclose(model.step().step, expected, atol=1e-14)


def test_a_step_that_meets_one_limit_after_another_ends():
    """Each round may push one dof more out; after the last one all are on their limits."""
    figure = serial_chain(3 * MAX_ROUNDS)
    nv = figure.nv
    model = model_of(figure, 0, 1.0)
    # A stiff chain: each dof follows its neighbour, and the first is pulled far away.
    H = 2.001 * np.eye(nv) - np.eye(nv, k=1) - np.eye(nv, k=-1)
    low, high = model.q - 0.5, model.q + 0.4 * 0.8 ** np.arange(nv)
    model = model._replace(H=H, g=-100.0 * np.eye(nv)[0], damping=0.0, low=low, high=high)
    step, held, pivot = model.step()
    assert pivot > 0.0
    assert held.sum() >= MAX_ROUNDS
    below, above = model.room
    assert (step >= below).all() and (step <= above).all()
    assert value(model.g, H, step) < 0.0


def test_no_step_is_offered_where_the_matrix_is_not_positive_definite():
    """The pivot tells whether it is on the dofs that may move; others do not matter."""
    figure = menagerie()
    signs = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        H, held = indefinite(figure, rng, 0.05), rng.random(figure.nv) < 0.5
        damping = float(rng.choice([0.0, 0.5]))
        model = model_of(figure, seed, np.inf)._replace(H=H, held=held, damping=damping)
        lowest = np.linalg.eigvalsh(model.damped[np.ix_(~held, ~held)])[0]
        assert (model.step().pivot > 0.0) == (lowest > 0.0)
        signs.add(bool(lowest > 0.0))
    assert signs == {False, True}


# --- the box itself


def test_clipping_moves_coordinates_to_their_nearest_limit():
    figure, rng = menagerie(), np.random.default_rng(2)
    for _ in range(20):
        q, plain = rng.normal(size=figure.nq), figure.plain_q
        low = rng.normal(size=figure.nv)
        high = low + rng.exponential(size=figure.nv)
        actual, expected = q.copy(), q.copy()
        clip_to_limits(plain, low, high, actual)
        for i, j in enumerate(plain):
            if j >= 0:
                expected[j] = np.clip(q[j], low[i], high[i])
        assert np.array_equal(actual, expected)  # quaternions among them untouched
        clip_to_limits(plain, low, high, actual)
        assert np.array_equal(actual, expected)


def test_the_active_set_holds_locked_dofs_and_those_pushed_against_their_limit():
    figure, rng = menagerie(), np.random.default_rng(3)
    nv, plain = figure.nv, figure.plain_q
    low, high, held = np.full(nv, -1.0), np.full(nv, 1.0), np.full(nv, np.nan)
    for _ in range(50):
        q = rng.choice([-1.0, -0.5, 1.0, 1.5], size=figure.nq)
        g, free = rng.choice([-2.0, 0.0, 2.0], size=nv), rng.choice([0.0, 1.0, 1.0], size=nv)
        update_active_set(plain, low, high, free, q, g, held)
        for i in range(nv):
            own = q[plain[i]] if plain[i] >= 0 else 0.0
            pushed = (own <= -1.0 and g[i] > 0.0) or (own >= 1.0 and g[i] < 0.0)
            assert held[i] == (1.0 if pushed or free[i] == 0.0 else 0.0)


def test_the_relative_gradient_is_a_cosine_between_residual_and_jacobian():
    """By the weighted residual and Jacobian; largest over the dofs that are not held."""
    figure = menagerie()
    for seed in range(5):
        q, goals = make_pose_and_goals(figure, seed)
        problem = Problem(figure, goals[:-1])
        root = np.linalg.cholesky(problem.packed.weight).T
        r, J = root @ problem.residual(q), root @ problem.jacobian(q)
        cosines = np.abs(J.T @ r) / np.linalg.norm(r) / np.linalg.norm(J, axis=0)
        held = np.where(np.random.default_rng(seed).random(figure.nv) < 0.5, 1.0, 0.0)
        curvature = np.diag(problem.gauss_newton(q)).copy()
        actual = relative_projected_gradient(problem.gradient(q), held, curvature, problem.cost(q))
        assert actual == pytest.approx(cosines[held == 0.0].max(), rel=1e-10)
        assert 0.0 < actual <= 1.0


def test_the_relative_gradient_without_gradient_or_curvature():
    zeros, ones = np.zeros(3), np.ones(3)
    assert relative_projected_gradient(zeros, zeros, zeros, 1.0) == 0.0
    assert relative_projected_gradient(zeros, zeros, ones, 0.0) == 0.0
    assert relative_projected_gradient(ones, ones, ones, 1.0) == 0.0  # all held
    # Without any curvature the measure is the cost itself.
    assert relative_projected_gradient(ones, zeros, zeros, 1.0) >= 1.0
    assert relative_projected_gradient(1e-16 * ones, zeros, zeros, 1.0) < 1e-10
