"""What the sources print and what their published code does, measured: docs/maths.md, section 13.

The slips that concern the rule for pairs of dofs are in `test_reference.py`, those of the Jacobian
recipe in `test_jacobian.py`; here are the others. E, F and G number the lines of that table.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from exactik import MarkerGoal, PositionGoal, Problem
from exactik.lab.check import random_coordinates
from exactik.lab.check.oracle import evaluate, forward, point_jacobian
from exactik.model import EULER_ORDERS, Bone, Joint, Skeleton
from exactik.spatial import axis_rotation, exp_rotation, log_rotation, skew
from exactik.typing import Array
from tests.support.models import planar_arm, random_rotation, recipe_tree
from tests.support.reference import Marker, chain, column, dofs, position_jacobian


def relative_error(a: Array, b: Array) -> float:
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def euler_tree(rng: np.random.Generator, bones: int = 7, order: str = "") -> Skeleton:
    """A branching tree of three-angle joints, each of a random order unless one is given."""
    return Skeleton.build(
        "tree",
        [
            Bone(
                f"b{k}",
                parent=f"b{rng.integers(max(0, k - 2), k)}" if k > 0 else None,
                offset=rng.normal(scale=0.4, size=3),
                joint=Joint.euler(order or str(rng.choice(EULER_ORDERS))),
            )
            for k in range(bones)
        ],
    )


def make_leaf_markers(
    rng: np.random.Generator, skeleton: Skeleton, reach: float = 1.0
) -> list[Marker]:
    """A marker off every leaf, its target about `reach` metres from it."""
    q = skeleton.neutral()
    actual = []
    for names in skeleton.chains():
        point = rng.normal(scale=0.3, size=3)
        here = skeleton.forward(q).point(names[-1], point)
        actual.append(Marker(names[-1], point, here + reach * rng.normal(size=3)))
    return actual


# --- the published code


def published_hessian(skeleton: Skeleton, q: Array, markers: list[Marker], transposed: bool):
    """JᵀJ minus, per pair of joints h ≤ k, the products (axis of h × column of k) · r.

    Both programs fill the whole block where h = k. The MATLAB one puts the dofs of h and k where
    they belong; the Python one stores the rows of k in the rows of h (`transposed`).
    """
    positions, rotations = forward(skeleton, q)
    H = np.zeros((skeleton.nv, skeleton.nv))
    all_dofs = dofs(skeleton, q)
    for marker in markers:
        b = skeleton.bone_index(marker.bone)
        e = positions[b] + rotations[b] @ np.asarray(marker.point)
        r = np.asarray(marker.target) - e
        J = position_jacobian(skeleton, q, marker.bone, marker.point)
        H += J.T @ J
        joints = sorted(chain(skeleton, marker.bone))
        for k in joints:
            for h in (h for h in joints if h <= k):
                rows, columns = slice(3 * k, 3 * k + 3), slice(3 * h, 3 * h + 3)
                block = np.array(
                    [
                        [np.cross(w.omega, column(i, e)) @ r for w in all_dofs[columns]]
                        for i in all_dofs[rows]
                    ]
                )  # rows: dofs of k, columns: dofs of h
                stored = block if transposed else block.T
                H[columns, rows] -= stored
                if h != k:
                    H[rows, columns] -= stored.T
    return H


def find_joint_blocks(skeleton: Skeleton) -> NDArray[np.bool_]:
    return np.kron(np.eye(len(skeleton.bones)), np.ones((3, 3))) > 0


@pytest.mark.parametrize(
    ("trees", "margin", "worst"),
    [(16, 0.2, 0.5), pytest.param(60, 0.05, 0.6, marks=pytest.mark.slow)],
)
def test_the_published_hessians_are_not_exact(trees: int, margin: float, worst: float):
    """Neither is, on random trees; with the two repairs they are, which proves the reading."""
    rng = np.random.default_rng(0)
    errors: dict[str, list[float]] = {"python": [], "matlab": [], "none": []}
    for _ in range(trees):
        skeleton = euler_tree(rng)
        q, markers = random_coordinates(rng, skeleton), make_leaf_markers(rng, skeleton)
        goals = [PositionGoal(m.bone, m.target, m.point) for m in markers]
        truth = evaluate(skeleton, goals, q)
        python, matlab = (published_hessian(skeleton, q, markers, t) for t in (True, False))
        errors["python"].append(relative_error(python, truth.hessian))
        errors["matlab"].append(relative_error(matlab, truth.hessian))
        errors["none"].append(relative_error(truth.gauss_newton, truth.hessian))
        # Python: every block between joints has rows and columns of its curvature exchanged, and
        # inside a joint the triangle is right in which the outer axis comes first: the lower one.
        own = find_joint_blocks(skeleton)
        repaired = np.where(own, np.tril(python) + np.tril(python, -1).T, matlab)
        assert relative_error(repaired, truth.hessian) < 1e-13
        # MATLAB: only the other triangle inside the joints is wrong.
        wrong = np.abs(matlab - truth.hessian) > 1e-12 * np.abs(truth.hessian).max()
        assert wrong.any()
        assert not wrong[~own].any()
        assert not np.diag(wrong).any()
    median = {name: float(np.median(actual)) for name, actual in errors.items()}
    assert median["none"] == pytest.approx(1.3, abs=margin)  # what dropping all curvature costs
    assert median["python"] == pytest.approx(1.2, abs=margin)
    assert median["matlab"] == pytest.approx(0.37, abs=margin)
    assert max(errors["matlab"]) > worst


@pytest.mark.parametrize("transposed", [True, False])
def test_the_published_slips_hide_at_zero_angles_and_at_zero_residual(transposed: bool):
    """Why a test of a straight chain, or of a pose that fits, does not find them."""
    rng = np.random.default_rng(1)
    straight = Skeleton.build(
        "straight",
        [
            Bone(
                f"b{k}",
                parent=f"b{k - 1}" if k > 0 else None,
                offset=(0.5, 0, 0) if k > 0 else (0, 0, 0),
                joint=Joint.euler("ZYZ"),
            )
            for k in range(3)
        ],
    )
    q, markers = np.zeros(9), [Marker("b2", (0.5, 0, 0), (3, 0, 0))]
    truth = evaluate(straight, [PositionGoal("b2", (3, 0, 0), (0.5, 0, 0))], q).hessian
    assert relative_error(published_hessian(straight, q, markers, transposed), truth) < 1e-15
    skeleton = euler_tree(rng)
    q = random_coordinates(rng, skeleton)
    pose = skeleton.forward(q)
    markers = [
        m._replace(target=pose.point(m.bone, m.point)) for m in make_leaf_markers(rng, skeleton)
    ]
    goals = [PositionGoal(m.bone, m.target, m.point) for m in markers]
    truth = evaluate(skeleton, goals, q).hessian
    assert relative_error(published_hessian(skeleton, q, markers, transposed), truth) < 1e-14


# --- the exact-Hessian paper and its supplement


def test_e1_the_cross_product_matrix_of_the_supplement_is_transposed():
    def printed(p: Array) -> Array:
        x, y, z = p
        return np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])

    h = 1e-6
    for letter, axis in (("z", np.eye(3)[2]), ("y", np.eye(3)[1])):
        truth = (axis_rotation(letter, 0.7 + h) - axis_rotation(letter, 0.7 - h)) / (2 * h)
        R = axis_rotation(letter, 0.7)
        assert relative_error(skew(axis) @ R, truth) < 1e-9
        assert relative_error(printed(axis) @ R, truth) == pytest.approx(2.0, abs=1e-9)
    p = np.array([0.3, -0.8, 0.5])
    np.testing.assert_array_equal(printed(p), -skew(p))


def test_e7_forward_kinematics_and_axes_must_share_one_order():
    rng = np.random.default_rng(2)
    for order, consistent in (("ZYZ", True), ("ZYX", False)):
        skeleton = euler_tree(rng, order=order)
        q = random_coordinates(rng, skeleton)
        tip = skeleton.chains()[0][-1]
        truth, _ = point_jacobian(skeleton, q, tip, (0.2, 0.1, 0.3))
        J = position_jacobian(skeleton, q, tip, (0.2, 0.1, 0.3))
        e = skeleton.forward(q).point(tip, (0.2, 0.1, 0.3))
        pose = skeleton.forward(q)
        for k in chain(skeleton, tip):
            base = pose.rotations[skeleton.parents[k]] if skeleton.parents[k] >= 0 else np.eye(3)
            a, b, _ = q[3 * k : 3 * k + 3]
            w = base @ axis_rotation("z", a) @ axis_rotation("y", b)[:, 2]  # as for ZYZ
            J[:, 3 * k + 2] = np.cross(w, e - pose.positions[k])
        assert relative_error(J, truth) < 1e-13 if consistent else relative_error(J, truth) > 0.1


def test_e9_the_third_angle_has_the_column_after_the_second():
    rng = np.random.default_rng(3)
    skeleton = euler_tree(rng, bones=4, order="ZYZ")
    q, tip = random_coordinates(rng, skeleton), skeleton.chains()[0][-1]
    right = position_jacobian(skeleton, q, tip, (0.2, 0.1, 0.3))
    printed = np.zeros((3, skeleton.nv + 1))
    for k in sorted(chain(skeleton, tip)):
        printed[:, [3 * k, 3 * k + 1, 3 * k + 3]] = right[:, 3 * k : 3 * k + 3]
    assert relative_error(printed[:, :-1], right) > 0.3
    assert not printed[:, 2::3].any()
    truth, _ = point_jacobian(skeleton, q, tip, (0.2, 0.1, 0.3))
    assert relative_error(right, truth) < 1e-13


def test_e10_the_factors_between_two_derivatives_are_those_between_the_joints():
    rng = np.random.default_rng(4)
    angles, t = rng.uniform(-2, 2, size=5), np.array([0.3, 0.2, 0.1, 1.0])
    shift = rng.normal(size=(5, 3))

    def joint(k: int, bent: bool = False) -> Array:
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = axis_rotation("xyz"[k % 3], angles[k]), shift[k]
        if bent:
            T[:3, :3], T[:, 3], T[3] = skew(np.eye(3)[k % 3]) @ T[:3, :3], 0, 0
        return T

    def product(first: int, last: int) -> Array:
        X = np.eye(4)
        for k in range(first, last + 1):
            X = X @ joint(k)
        return X

    def end() -> Array:
        return (product(0, 4) @ t)[:3]

    h, k, step = 1, 3, 1e-4
    right = product(0, h - 1) @ joint(h, True) @ product(h + 1, k - 1)
    right = (right @ joint(k, True) @ product(k + 1, 4) @ t)[:3]
    printed = product(0, h - 1) @ joint(h, True) @ product(0, k - 1)
    printed = (printed @ joint(k, True) @ product(0, 4) @ t)[:3]
    corners = {}
    for a in (1, -1):
        for b in (1, -1):
            angles[h] += a * step
            angles[k] += b * step
            corners[a, b] = end()
            angles[h] -= a * step
            angles[k] -= b * step
    truth = (corners[1, 1] - corners[1, -1] - corners[-1, 1] + corners[-1, -1]) / (4 * step**2)
    assert relative_error(right, truth) < 1e-6
    assert relative_error(printed, truth) > 0.5


def test_e20_e21_chains_of_a_broom_are_not_linear_in_its_bones():
    """128 bones in a row with 128 bristles at the end: what the loops over chains visit."""
    handle = [Bone(f"h{k}", parent=f"h{k - 1}" if k > 0 else None) for k in range(128)]
    broom = Skeleton.build("broom", [*handle, *(Bone(f"b{k}", parent="h127") for k in range(128))])
    lengths = np.array([len(names) for names in broom.chains()])
    assert lengths.sum() == 16_512  # not of the order of 256
    assert (lengths * (lengths + 1) // 2).sum() == 1_073_280  # pairs of joints; 256² is 65,536
    ancestors = 0
    for k in range(256):
        while k >= 0:
            ancestors += 1
            k = int(broom.parents[k])
    assert ancestors == 24_768  # what a sum over subtrees has to visit


def test_e23_indefinite_points_lie_as_close_to_the_solution_as_one_likes():
    """Two unit links stretched to a target that they just reach: H is singular there."""
    problem = Problem(planar_arm(1.0, 1.0), [MarkerGoal("HAND", (2, 0, 0))])
    assert problem.cost((0, 0)) == 0.0
    for radius in (1e-1, 1e-3, 1e-5):
        lowest = min(
            np.linalg.eigvalsh(problem.hessian((radius * np.cos(a), radius * np.sin(a))))[0]
            for a in np.linspace(0, np.pi, 181)
        )
        assert lowest < -1e-2 * radius**2


# --- the projected line search


def test_f1_the_printed_cross_product_matrix_belongs_to_another_vector():
    x, y, z = 0.3, -0.8, 0.5
    printed = np.array([[0, y, -z], [-y, 0, x], [z, -x, 0]])
    np.testing.assert_array_equal(printed, skew((-x, -z, -y)))
    assert relative_error(printed, skew((x, y, z))) > 0.5


def linear_problem() -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    return rng.normal(size=(6, 9)), rng.normal(size=6)


def test_f6_the_step_length_is_for_the_gradient_without_the_two():
    """(28) minimises |e − τ J Jᵀe|; (27) steps along 2 Jᵀe."""
    J, e = linear_problem()
    z = J @ J.T @ e
    tau = float(e @ z / (z @ z))

    def left(step: float) -> float:
        return float(np.linalg.norm(e - step * z))

    assert left(tau) < left(0.99 * tau)
    assert left(tau) < left(1.01 * tau)
    assert left(2 * tau) > 1.1 * left(tau)


def test_f7_a_penalty_without_the_half_doubles_the_damping():
    J, e = linear_problem()
    damping = 0.7

    def objective(x: Array) -> float:
        return 0.5 * np.sum((J @ x - e) ** 2) + damping**2 * np.sum(x**2)

    def step(factor: float) -> Array:
        damped = J.T @ J + factor * damping**2 * np.eye(9)
        return np.asarray(np.linalg.solve(damped, J.T @ e), dtype=float)

    assert objective(step(2.0)) < objective(step(1.0)) - 1e-3
    rng = np.random.default_rng(6)
    for _ in range(20):
        assert objective(step(2.0)) < objective(step(2.0) + 1e-2 * rng.normal(size=9))


def is_accepted(f, g, theta: Array, low: Array, high: Array, alpha: float, strict: bool) -> bool:
    """Whether any of 20 halvings of the step passes the projected Armijo test."""
    for n in range(20):
        trial = np.clip(theta - 0.5**n * g, low, high)
        bound = f(theta) + alpha * g @ (trial - theta)
        if f(trial) < bound or (not strict and f(trial) <= bound):
            return True
    return False


def test_f11_full_descent_is_too_much_to_ask():
    """α = 1 asks for the tangent's decrease, and a convex function lies above its tangents."""
    theta, free = np.array([1.0, -2.0]), np.full(2, np.inf)

    def f(x: Array) -> float:
        return float(x @ x)

    assert not is_accepted(f, 2 * theta, theta, -free, free, alpha=1.0, strict=False)
    assert is_accepted(f, 2 * theta, theta, -free, free, alpha=0.4, strict=True)


def test_f12_the_two_parameters_of_the_search_are_unrelated():
    """α = 0.4 > β = 0.1 converges."""
    A, x = np.diag([1.0, 10.0]), np.array([1.0, 1.0])
    for _ in range(300):
        g = A @ x
        tau = 1.0
        while 0.5 * (x - tau * g) @ A @ (x - tau * g) > 0.5 * x @ A @ x - 0.4 * tau * g @ g:
            tau *= 0.1
        x = x - tau * g
    assert np.abs(x).max() < 1e-8


def test_f13_a_strict_test_never_ends_where_nothing_can_be_gained():
    """At a solution held by a limit every trial is the point itself."""
    theta, low, high = np.array([1.0]), np.array([1.0]), np.array([2.0])

    def f(x: Array) -> float:
        return 0.5 * float(x @ x)

    assert not is_accepted(f, theta, theta, low, high, alpha=1e-4, strict=True)
    assert is_accepted(f, theta, theta, low, high, alpha=1e-4, strict=False)


def test_f14_a_start_outside_the_limits_must_be_projected_first():
    theta, low, high = np.array([0.2]), np.array([1.0]), np.array([2.0])

    def f(x: Array) -> float:
        return 0.5 * float(x @ x)

    assert not is_accepted(f, theta, theta, low, high, alpha=1e-4, strict=False)
    inside = np.clip(theta, low, high)
    assert is_accepted(f, inside, inside, low, high, alpha=1e-4, strict=False)


# --- the Jacobian recipe


def test_g4_the_rate_of_an_adjoint_has_the_spatial_velocity():
    """Ȧd = ad_V Ad with V = (ṗ − ω × p, ω), where ṗ alone is what the text suggests."""
    R0, p0 = random_rotation(np.random.default_rng(7)), np.array([0.4, -0.3, 0.8])
    omega, velocity = np.array([0.5, 0.2, -0.7]), np.array([0.1, 0.9, -0.4])

    def adjoint(t: float) -> Array:
        R, p = exp_rotation(t * omega) @ R0, p0 + t * velocity
        return np.block([[R, skew(p) @ R], [np.zeros((3, 3)), R]])

    rate = (adjoint(1e-5) - adjoint(-1e-5)) / 2e-5
    for v, right in ((velocity - np.cross(omega, p0), True), (velocity, False)):
        ad = np.block([[skew(omega), skew(v)], [np.zeros((3, 3)), skew(omega)]])
        error = relative_error(ad @ adjoint(0.0), rate)
        assert error < 1e-8 if right else error > 0.1


def test_g14_a_wide_jacobian_is_factored_by_its_transpose():
    J, e = linear_problem()
    _, R = np.linalg.qr(J)
    assert R.shape == (6, 9)  # nothing to substitute back into
    Q, R = np.linalg.qr(J.T)
    np.testing.assert_allclose(Q @ np.linalg.solve(R.T, e), np.linalg.pinv(J) @ e, atol=1e-13)


def test_g15_the_rotation_error_is_a_logarithm_in_the_axes_of_the_jacobian():
    rng = np.random.default_rng(8)
    R, wanted = random_rotation(rng), random_rotation(rng)
    world, body = log_rotation(wanted @ R.T), log_rotation(R.T @ wanted)
    np.testing.assert_allclose(R.T @ world, body, atol=1e-14)
    assert relative_error(world, body) > 0.1


def test_g16_g17_gains_scale_the_answer_too_and_zero_columns_freeze():
    skeleton = recipe_tree()
    q = random_coordinates(np.random.default_rng(9), skeleton)
    J, velocity = skeleton.jacobian(q, "crown"), np.array([0.3, -0.2, 0.5])
    gains = np.linspace(0.2, 2.0, skeleton.nv)
    y = np.linalg.pinv(J * gains) @ velocity
    np.testing.assert_allclose(J @ (gains * y), velocity, atol=1e-13)
    assert relative_error(J @ y, velocity) > 0.05
    gains[:6] = 0.0
    frozen = np.linalg.pinv(J * gains) @ velocity
    np.testing.assert_allclose(frozen[:6], 0, atol=1e-15)
