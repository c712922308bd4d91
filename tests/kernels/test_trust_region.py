"""The minimiser in a ball, ways down from a saddle, and turns of a single dof, by brute force."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactik import Bone, Joint, MarkerGoal, Problem, Skeleton, human
from exactik.compile import jit
from exactik.kernels.calculus.evaluate import evaluate_in_layout
from exactik.kernels.calculus.workspace import new_workspace
from exactik.kernels.descent.coordinate_descent import minimise_over_angle
from exactik.kernels.descent.saddles import FLAT_CURVATURE, negative_curvature_direction
from exactik.kernels.descent.starts import wrap_angles_into_limits
from exactik.kernels.descent.state import DAMPING, STEP_NORM, TRUST_RADIUS
from exactik.kernels.descent.trust_region import trust_region_step
from exactik.kernels.goals.sums import EXACT
from exactik.kernels.linear.articulated import JOINT_BLOCKS, WHOLE_ROWS
from exactik.kernels.linear.loops import make_joint_pattern
from exactik.typing import Array
from tests.support.models import bushy_tree, configuration, serial_chain
from tests.support.problems import menagerie
from tests.support.quadratics import (
    ancestor_pattern,
    blank_descent_state,
    indefinite,
    to_ancestor_rows,
    value,
)

CHAIN = serial_chain(8)
NO_MOMENTA = (np.empty((0, 6)), np.empty((0, 6)))  # read for joint blocks only


class Ball(NamedTuple):
    """g·s + ½ sᵀHs for |s|_D ≤ Δ, with D a diagonal."""

    g: Array
    H: Array
    D: Array
    radius: float

    @property
    def best(self) -> float:
        """The least value, from the eigenvalues of D^-½ H D^-½ ."""
        root = np.sqrt(self.D)
        eigenvalues, V = np.linalg.eigh(self.H / np.outer(root, root))
        c, apart = V.T @ (self.g / root), eigenvalues - eigenvalues[0]
        if eigenvalues[0] > 0.0 and np.linalg.norm(c / eigenvalues) <= self.radius:
            return -0.5 * float(c @ (c / eigenvalues))
        # By how much μ is above −λ₁: between this and that, halved in the logarithm.
        low = max(float(eigenvalues[0]), 1e-30)
        high = low + 1.01 * float(np.linalg.norm(c)) / self.radius
        while high - low > 1e-15 * high:
            middle = math.sqrt(low * high) if high > 2.0 * low else 0.5 * (low + high)
            outside = np.linalg.norm(c / (apart + middle)) > self.radius
            low, high = (middle, high) if outside else (low, middle)
            if middle in (low, high) and low * (1.0 + 2e-16) >= high:
                break
        x = -c / (apart + high)
        lacking = self.radius**2 - float(x @ x)
        if lacking > 1e-9 * self.radius**2:  # the hard case
            x[0] += math.copysign(math.sqrt(lacking + x[0] ** 2) - abs(x[0]), x[0])
        return float(c @ x + 0.5 * x @ (eigenvalues * x))

    def step(self) -> tuple[Array, float] | None:
        """Step and μ of the kernel, if it finds one."""
        descent, nv = blank_descent_state(CHAIN), CHAIN.nv
        descent.scale[:], descent.state[:] = self.D, 0.0
        descent.state[TRUST_RADIUS] = self.radius
        box = Problem(CHAIN, [MarkerGoal("TIP", (0, 0, 0))], limits="off").box
        rows, q = to_ancestor_rows(CHAIN, self.H), np.zeros(nv)
        with np.errstate(all="ignore"):  # in plain Python numpy would warn of singular matrices
            found = trust_region_step(
                make_joint_pattern(CHAIN.tree, new_workspace(CHAIN.tree)),
                ancestor_pattern(CHAIN),
                box,
                WHOLE_ROWS,
                q,
                self.g,
                rows,
                *NO_MOMENTA,
                descent,
            )
        size = math.sqrt(float(descent.step @ (self.D * descent.step)))
        assert not found or descent.state[STEP_NORM] == pytest.approx(size, rel=1e-12)
        return (descent.step, float(descent.state[DAMPING])) if found else None


def ball_of(seed: int, kind: str) -> Ball:
    """A random model over many magnitudes.

    Hard: g has no share in the direction of the most negative curvature; "nearly hard": hardly any.
    """
    rng, n = np.random.default_rng(seed), CHAIN.nv
    V = np.linalg.qr(rng.normal(size=(n, n)))[0]
    eigenvalues = rng.uniform(0.1, 2.0, size=n) * 10.0 ** rng.uniform(-3, 3)
    c = rng.normal(size=n)
    if kind != "definite":
        eigenvalues[: rng.integers(1, n + 1)] *= -1.0
        eigenvalues.sort()
    if kind in ("hard", "nearly hard"):
        c[0] = 0.0 if kind == "hard" else 10.0 ** rng.uniform(-14, -2)
    root = 10.0 ** rng.uniform(-0.5, 0.5, size=n)
    radius = 10.0 ** rng.uniform(-3, 3) * np.linalg.norm(c) / np.abs(eigenvalues).max()
    H = root[:, None] * ((V * eigenvalues) @ V.T) * root
    return Ball(root * (V @ c), H, root**2, float(radius))


@pytest.mark.parametrize("kind", ["definite", "indefinite", "hard", "nearly hard"])
def test_no_step_in_the_ball_is_much_better(kind: str):
    """(H + μD) s = −g, with μ = 0 inside; the radius is met to a tenth, so the fall to two."""
    inside = 0
    for seed in range(200):
        ball = ball_of(seed, kind)
        actual = ball.step()
        assert actual is not None, seed
        step, damping = actual
        size = math.sqrt(float(step @ (ball.D * step)))
        assert size <= 1.1001 * ball.radius, seed
        assert value(ball.g, ball.H, step) <= 0.8 * ball.best, seed
        inside += damping == 0.0
        if kind == "definite":
            slope = ball.g + ball.H @ step + damping * ball.D * step
            assert np.abs(slope).max() <= 1e-8 * np.abs(ball.g).max()
    assert (inside > 20) == (kind == "definite")


def test_without_any_curvature_it_goes_down_the_gradient_to_the_boundary():
    ball = Ball(np.arange(1.0, 9.0), np.zeros((8, 8)), np.ones(8), 0.5)
    actual = ball.step()
    assert actual is not None
    step = actual[0]
    assert np.linalg.norm(step) == pytest.approx(0.5, rel=0.11)
    np.testing.assert_allclose(step / np.linalg.norm(step), -ball.g / np.linalg.norm(ball.g))


def test_joint_blocks_give_the_step_of_whole_rows():
    """Inside the ball and on its boundary, in the hard case too, and with limits in the way."""
    figure, rng = human(), np.random.default_rng(11)
    dampings = []
    for seed in range(24):
        q = rng.normal(scale=0.3, size=figure.nq)
        markers = figure.forward(q).markers
        targets = markers + rng.normal(scale=10.0 ** rng.uniform(-3, 0), size=markers.shape)
        problem = Problem(
            figure, [MarkerGoal(m, t) for m, t in zip(figure.markers, targets, strict=True)]
        )
        limits, radius = rng.uniform(0.05, 1.0, size=figure.nv), 10.0 ** rng.uniform(-2, 1.5)
        strength = rng.uniform(0.5, 2.0, size=figure.nv)
        active_set = (rng.random(figure.nv) < 0.2).astype(float)
        found = []
        for layout in (WHOLE_ROWS, JOINT_BLOCKS):
            work, descent = new_workspace(figure.tree), blank_descent_state(figure)
            evaluate_in_layout(figure.tree, problem.packed.arrays, q, EXACT, layout, work)
            descent.scale[:], descent.active_set[:], descent.state[:] = strength, active_set, 0.0
            descent.lower[:], descent.upper[:] = q - limits, q + limits
            descent.state[TRUST_RADIUS] = radius
            pattern, hessian = ancestor_pattern(figure), (work.H, work.S, work.P)
            joints = make_joint_pattern(figure.tree, work)
            assert trust_region_step(
                *(joints, pattern, problem.box, layout, q, work.g, *hessian, descent)
            ), seed
            found.append((descent.step.copy(), float(descent.state[DAMPING])))
        (expected, damping), (actual, other) = found
        assert other == pytest.approx(damping, rel=1e-5)  # a bracket that narrow ends the search
        np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-4 * np.abs(expected).max())
        dampings.append(damping)
    assert 0 < np.count_nonzero(dampings) < 24


# --- saddles


@pytest.mark.parametrize("negative", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("figure", [CHAIN, bushy_tree(23, 3), menagerie()], ids=lambda f: f.name)
def test_a_direction_is_found_if_and_only_if_there_is_negative_curvature(
    figure: Skeleton, negative: float
):
    """On the dofs that are not held; the way bends down, goes down, and moves nothing held."""
    rng, descent = np.random.default_rng(7), blank_descent_state(figure)
    for _ in range(25):
        matrix, g = indefinite(figure, rng, negative), rng.normal(size=figure.nv)
        descent.active_set[:] = rng.random(figure.nv) < 0.3
        descent.scale[:] = rng.uniform(0.5, 2.0, size=figure.nv)
        free = descent.active_set == 0.0
        shifted = matrix + FLAT_CURVATURE * np.diag(descent.scale)
        lowest = np.linalg.eigvalsh(shifted[np.ix_(free, free)])[0] if free.any() else 1.0
        actual = negative_curvature_direction(
            ancestor_pattern(figure), g, to_ancestor_rows(figure, matrix), descent
        )
        assert actual == (lowest < 0.0)
        if actual:
            assert descent.step @ shifted @ descent.step < 0.0
            assert g @ descent.step <= 0.0
            assert np.abs(descent.step).max() == pytest.approx(1.0, rel=1e-14)
            assert not descent.step[~free].any()


def test_directions_that_cost_nothing_are_no_way_down():
    """A redundant figure at rest: the curvature is singular, its pivots zero but for rounding."""
    rng, descent = np.random.default_rng(8), blank_descent_state(CHAIN)
    for _ in range(50):
        J = rng.normal(size=(3, CHAIN.nv))
        matrix = J.T @ J
        descent.scale[:] = np.diag(matrix)
        assert not negative_curvature_direction(
            ancestor_pattern(CHAIN), np.zeros(CHAIN.nv), to_ancestor_rows(CHAIN, matrix), descent
        )
        matrix -= 1e-3 * np.diag(np.diag(matrix))
        assert negative_curvature_direction(
            ancestor_pattern(CHAIN), np.zeros(CHAIN.nv), to_ancestor_rows(CHAIN, matrix), descent
        )


# --- single dofs


@jit
def turn(slope, bend, low, high):
    return minimise_over_angle(slope, bend, low, high)


REAL = st.floats(-10.0, 10.0)
ROOM = st.one_of(st.floats(0.0, 10.0), st.just(np.inf))


@given(REAL, REAL, ROOM, ROOM)
def test_no_turn_within_the_limits_is_better(slope: float, bend: float, below: float, above: float):
    """−A cos δ − B sin δ with A the curvature and −B the slope, against a fine grid."""
    actual = turn(slope, bend, -below, above)
    assert -below <= actual <= above
    tried = np.linspace(max(-below, -2.0 * np.pi), min(above, 2.0 * np.pi), 2001)
    costs = -bend * np.cos(tried) + slope * np.sin(tried)
    own = -bend * math.cos(actual) + slope * math.sin(actual)
    assert own <= costs.min() + 1e-13 * (abs(slope) + abs(bend))


def test_angles_are_turned_to_the_equivalent_nearest_to_the_middle_of_their_range():
    """The pose is the same; sliders, rotation vectors, quaternions and unlimited angles stay."""
    figure = menagerie()
    problem = Problem(figure, [MarkerGoal("PAIR0", (0, 0, 0))])
    for seed in range(20):
        q = configuration(figure, seed)
        q[7:] *= 4.0
        home = q.copy()
        wrap_angles_into_limits(problem.box, home)
        moved = 0
        for i, j in enumerate(figure.plain_q):
            name, low, high = figure.dof_names[i], problem.lower[i], problem.upper[i]
            if not name.startswith(("euler", "hinge", "swing.t")) or not np.isfinite(high):
                assert j < 0 or home[j] == q[j], name
                continue
            near = q[j] + 2.0 * np.pi * np.arange(-9, 10)
            expected = near[np.abs(near - 0.5 * (low + high)).argmin()]
            assert home[j] == pytest.approx(expected, abs=1e-14), name
            moved += bool(home[j] != q[j])
        assert moved > 0
        one, other = figure.forward(q), figure.forward(home)
        np.testing.assert_allclose(one.positions, other.positions, atol=1e-12)


def test_a_locked_angle_is_not_turned():
    bones = [Bone("a", joint=Joint.revolute(limits=(-10, 10)))]
    figure = Skeleton.build("hinge", bones, {"TIP": ("a", (1, 0, 0))})
    for lock, expected in (((), 7.0 - 2.0 * np.pi), ("a", 7.0)):
        problem, q = Problem(figure, [MarkerGoal("TIP", (0, 1, 0))], lock=lock), np.array([7.0])
        wrap_angles_into_limits(problem.box, q)
        assert q[0] == expected
