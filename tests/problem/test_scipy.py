"""A problem as SciPy sees it: functions of the coordinates, exact derivatives, bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import approx_fprime, check_grad, minimize

import exactik as ik
from exactik.problem import ScipyProblem
from exactik.typing import Array
from tests.support.models import chain_of, configuration, gantry
from tests.support.problems import goals_of_every_kind, menagerie, positive


def make_problem(seed: int, **options: Any) -> tuple[ik.Problem, Array]:
    """Goals and joints of every kind, at quaternions of any length."""
    skeleton = menagerie()
    q = configuration(skeleton, seed)
    goals = goals_of_every_kind(skeleton, q, seed)
    if options.pop("dense", False):
        options["weight_matrix"] = positive(3, ik.Problem(skeleton, goals).residual_size)
    problem = ik.Problem(skeleton, goals, **options)
    rng = np.random.default_rng(seed)
    for _, at in skeleton.quaternions:
        q[at : at + 4] *= rng.uniform(0.3, 3.0)
    return problem, q


def differences(function: Any, q: Array, step: float) -> Array:
    """Derivative of a function of q, of any shape, by fourth-order central differences."""

    def slope(e: Array) -> Array:
        near = np.asarray(function(q + step * e)) - np.asarray(function(q - step * e))
        far = np.asarray(function(q + 2 * step * e)) - np.asarray(function(q - 2 * step * e))
        return (8.0 * near - far) / (12.0 * step)

    return np.stack([slope(e) for e in np.eye(len(q))], axis=-1)


OPTIONS: list[dict[str, Any]] = [{}, {"lock": ("root.tx", "quat", "ball.ex")}, {"dense": True}]


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "locked", "dense weights"])
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_those_of_the_function(seed: int, options: dict[str, Any]) -> None:
    problem, q = make_problem(seed, **options)
    face = problem.to_scipy()
    free = movable(problem)
    assert face.fun(q) == problem.cost(q)
    gradient, hessian = face.jac(q), face.hess(q)
    assert gradient.shape == (len(q),) and hessian.shape == (len(q), len(q))
    slopes = differences(face.fun, q, 1e-3)
    scale = np.abs(slopes).max()
    np.testing.assert_allclose(gradient[free], slopes[free], rtol=0, atol=1e-8 * scale)
    assert (gradient[~free] == 0.0).all()
    bends = differences(face.jac, q, 1e-3)
    scale = np.abs(bends).max()
    np.testing.assert_allclose(hessian[:, free], bends[:, free], rtol=0, atol=1e-7 * scale)
    np.testing.assert_allclose(hessian, hessian.T, rtol=0, atol=1e-14 * scale)
    assert (hessian[~free] == 0.0).all()


def movable(problem: ik.Problem) -> NDArray[np.bool_]:
    """Which coordinates are not locked, (nq,)."""
    skeleton, free = problem.skeleton, np.ones(problem.skeleton.nq, bool)
    free[skeleton.plain_q[(skeleton.plain_q >= 0) & problem.locked]] = False
    for bone, at in skeleton.quaternions:
        turning = [i for i, n in enumerate(skeleton.dof_names) if n.startswith(f"{bone}.w")]
        free[at : at + 4] = not problem.locked[turning].any()
    return free


def test_scipys_own_checks_are_content() -> None:
    problem, q = make_problem(4)
    face = problem.to_scipy()
    assert check_grad(face.fun, face.jac, q) < 1e-5 * np.linalg.norm(face.jac(q))
    bends = approx_fprime(q, face.jac)
    assert np.linalg.norm(face.hess(q) - bends) < 1e-5 * np.linalg.norm(bends)


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "locked", "dense weights"])
def test_products_are_those_of_the_matrix(options: dict[str, Any]) -> None:
    problem, q = make_problem(1, **options)
    face, rng = problem.to_scipy(), np.random.default_rng(0)
    H = face.hess(q)
    for _ in range(3):
        x = rng.normal(size=len(q))
        product = H @ x
        gap = np.abs(face.hessp(q, x) - product).max()
        assert gap < 1e-13 * np.abs(H).max() * np.linalg.norm(x)


def test_length_of_a_quaternion_makes_no_difference_but_to_the_scale() -> None:
    problem, q = make_problem(2)
    face = problem.to_scipy()
    bone, at = problem.skeleton.quaternions[0]
    own = slice(at, at + 4)
    assert bone == "root"
    longer = q.copy()
    longer[own] *= 2.5
    assert face.fun(longer) == pytest.approx(face.fun(q), rel=1e-14)
    np.testing.assert_allclose(face.jac(longer)[own], face.jac(q)[own] / 2.5, rtol=1e-12)
    assert abs(face.jac(q)[own] @ q[own]) < 1e-13 * np.abs(face.jac(q)).max()
    inner = face.hess(q)[own, own]
    np.testing.assert_allclose(face.hess(longer)[own, own], inner / 2.5**2, rtol=1e-11)


def test_bounds_are_the_limits_of_the_coordinates() -> None:
    problem, _ = make_problem(0)
    skeleton, bounds = problem.skeleton, problem.to_scipy().bounds
    assert bounds.lb.shape == bounds.ub.shape == (skeleton.nq,)
    plain = skeleton.plain_q >= 0
    np.testing.assert_array_equal(bounds.lb[skeleton.plain_q[plain]], skeleton.lower[plain])
    np.testing.assert_array_equal(bounds.ub[skeleton.plain_q[plain]], skeleton.upper[plain])
    for _, at in skeleton.quaternions:
        assert np.isinf(bounds.lb[at : at + 4]).all() and np.isinf(bounds.ub[at : at + 4]).all()
    for limits in ("off", "soft"):
        open_bounds = make_problem(0, limits=limits)[0].to_scipy().bounds
        assert (open_bounds.lb == -np.inf).all() and (open_bounds.ub == np.inf).all()


def reaching(limits: str) -> tuple[ik.Problem, Array]:
    """A chain with a ball joint whose goals cannot all be met; some limits are in the way."""
    joints = [
        ik.Joint.quaternion(),
        ik.Joint.revolute("y", limits=(-0.1, 0.1)),
        ik.Joint.euler("ZYX", limits=[(-0.3, 0.3), (-0.2, 0.2), (-0.3, 0.3)]),
        ik.Joint.prismatic("x", limits=(-0.02, 0.02)),
    ]
    skeleton = chain_of(joints, 3)
    q = skeleton.clip(0.3 * configuration(skeleton, 2))
    q[:4] = 2.0, 0.3, -0.4, 0.2
    goals = [g for g in goals_of_every_kind(skeleton, q, 4) if not isinstance(g, ik.AimGoal)]
    return ik.Problem(skeleton, goals, limits=limits), q


@pytest.mark.parametrize("method", ["trust-constr", "L-BFGS-B", "SLSQP", "TNC"])
def test_bounded_methods_reach_our_optimum(method: str) -> None:
    problem, q = reaching("hard")
    ours = ik.solve(problem, q0=q)
    assert ours.converged and len(ours.active_limits) > 0
    face = problem.to_scipy()
    curvature: dict[str, Any] = {"hess": face.hess} if method == "trust-constr" else {}
    theirs = minimise(face, q, method, bounds=face.bounds, **curvature)
    assert (theirs.x >= face.bounds.lb).all() and (theirs.x <= face.bounds.ub).all()
    assert theirs.fun == pytest.approx(ours.cost, rel=1e-5)
    assert theirs.fun >= ours.cost * (1.0 - 1e-9)


@pytest.mark.parametrize(
    ("method", "given"),
    [
        ("trust-ncg", "hessp"),
        ("trust-ncg", "hess"),
        ("Newton-CG", "hessp"),
        ("trust-exact", "hess"),
        ("trust-krylov", "hessp"),
        ("dogleg", "hess"),
        ("BFGS", None),
    ],
)
def test_methods_without_bounds_reach_our_optimum(method: str, given: str | None) -> None:
    problem, q = reaching("off")
    ours = ik.solve(problem, q0=q)
    assert ours.converged
    face = problem.to_scipy()
    if method == "dogleg":  # it wants a definite Hessian, and along a quaternion there is none
        problem = ik.Problem(gantry(), [ik.MarkerGoal("HOOK", (1.0, 0.3, -2.0))], limits="off")
        q, face = np.zeros(3), problem.to_scipy()
        ours = ik.solve(problem)
    theirs = minimise(face, q, method, **({given: getattr(face, given)} if given else {}))
    assert theirs.success and theirs.fun == pytest.approx(ours.cost, rel=1e-7, abs=1e-12)
    assert np.linalg.norm(face.jac(theirs.x)) < 1e-4


def minimise(face: ScipyProblem, q: Array, method: str, **options: Any) -> Any:
    return minimize(face.fun, q, jac=face.jac, method=method, **options)


def test_keywords_are_scipys() -> None:
    problem, q = reaching("hard")
    words = problem.to_scipy()._asdict()
    assert list(words) == ["fun", "jac", "hess", "hessp", "bounds"]
    del words["hessp"]  # one of the two
    actual = minimize(x0=q, method="trust-constr", **words)
    assert actual.fun == pytest.approx(ik.solve(problem, q0=q).cost, rel=1e-5)
