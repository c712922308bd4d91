"""Rotations: group axioms, logarithms near zero and half a turn, and every digit of the kernels."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from exactik.model import EULER_ORDERS, Bone, Joint, Skeleton
from exactik.spatial import (
    axis_rotation,
    euler_angles,
    exp_coefficients,
    exp_rotation,
    is_rotation,
    left_jacobian_derivative,
    log_coefficients,
    log_rotation,
    log_vector,
    matrix_from_wxyz,
    rotation_taking_z_to,
    sincos,
    sincos_of,
    skew,
    wxyz_from_matrix,
)
from exactik.typing import Array
from tests.support.selection import first_quick

# To 60 digits, from Machin's formula in whole numbers.
PI = Fraction(
    sum(
        sign * (4 * 10**65 // (weight * (2 * n + 1))) * factor
        for factor, base in ((4, 5), (-1, 239))
        for n in range(100)
        for sign, weight in [((-1) ** n, base ** (2 * n + 1))]
    ),
    10**65,
)
HALF_PI = PI / 2

numbers = st.floats(-4.0, 4.0)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)
units = vectors.filter(lambda x: np.linalg.norm(x) > 0.1).map(lambda x: x / np.linalg.norm(x))
rotations = vectors.map(exp_rotation)
# Lengths of rotation vectors: any up to half a turn, often very close to its two ends.
angles = st.one_of(
    st.floats(0.0, np.pi),
    st.sampled_from([0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-5]),
    st.sampled_from([1e-14, 1e-12, 1e-9, 1e-6, 1e-3]).map(lambda x: np.pi - x),
)


def assert_close(a: Array, b: Array, tolerance: float = 1e-14) -> None:
    np.testing.assert_allclose(a, b, rtol=0.0, atol=tolerance)


# --- the numpy face


@given(vectors, vectors)
def test_skew_is_the_cross_product(p: Array, u: Array):
    assert_close(skew(p) @ u, np.cross(p, u))
    np.testing.assert_array_equal(skew(p), -skew(p).T)


@given(vectors)
def test_exponentials_are_rotations_about_their_axis(w: Array):
    R = exp_rotation(w)
    assert_close(R @ R.T, np.eye(3))
    assert np.linalg.det(R) == pytest.approx(1.0)
    assert_close(R @ w, w, 1e-14 * max(1.0, float(np.linalg.norm(w))))
    assert np.trace(R) == pytest.approx(1.0 + 2.0 * np.cos(np.linalg.norm(w)), abs=1e-14)
    assert_close(exp_rotation(-w), R.T)
    assert_close(exp_rotation(0.25 * w) @ exp_rotation(0.75 * w), R)


@given(units, angles)
def test_log_undoes_exp_up_to_half_a_turn(axis: Array, angle: float):
    R = exp_rotation(angle * axis)
    w = log_rotation(R)
    assert np.linalg.norm(w) <= np.pi + 1e-15
    assert_close(exp_rotation(w), R)
    if angle < np.pi - 1e-6:  # at π itself both signs of the axis are right
        assert_close(w, angle * axis, 1e-14)


@given(units, angles)
def test_compiled_log_agrees_with_numpy(axis: Array, angle: float):
    R = exp_rotation(angle * axis)
    assert_close(exp_rotation(np.array(log_vector(*R.ravel()))), R)
    if angle < np.pi - 1e-6:
        assert_close(np.array(log_vector(*R.ravel())), log_rotation(R), 1e-15)


@given(units)
def test_log_of_tiny_rotations_keeps_relative_digits(axis: Array):
    for angle in (1e-20, 1e-10, 1e-6, 1e-3):
        R = exp_rotation(angle * axis)
        assert_close(log_rotation(R) / angle, axis)
        assert_close(np.array(log_vector(*R.ravel())) / angle, axis)


@given(rotations)
def test_quaternions_and_matrices_are_the_same(R: Array):
    q = wxyz_from_matrix(R)
    assert q[0] >= 0.0
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)
    assert_close(matrix_from_wxyz(q), R)
    assert_close(matrix_from_wxyz(-3.0 * q), R)  # neither sign nor length matters


@pytest.mark.parametrize(
    "wxyz", np.concatenate([np.eye(4), [[0.5, 0.5, 0.5, 0.5], [0, 0.6, 0, 0.8]]])
)
def test_quaternions_with_zeros_survive(wxyz: Array):
    assert_close(wxyz_from_matrix(matrix_from_wxyz(wxyz)), wxyz, 1e-15)


@pytest.mark.parametrize("letter", "xyz")
def test_axis_rotations_are_right_handed(letter: str):
    a = "xyz".index(letter)
    quarter = axis_rotation(letter, np.pi / 2)
    assert_close(quarter @ np.eye(3)[(a + 1) % 3], np.eye(3)[(a + 2) % 3], 1e-16)
    assert_close(axis_rotation(letter, 0.7), exp_rotation(0.7 * np.eye(3)[a]), 1e-15)


@pytest.mark.parametrize("order", EULER_ORDERS)
@given(R=rotations)
def test_euler_angles_give_the_rotation_back(order: str, R: Array):
    alpha, beta, gamma = euler_angles(order, R)
    low, high = (0.0, np.pi) if order[0] == order[2] else (-np.pi / 2, np.pi / 2)
    assert low <= beta <= high
    # Closer than 1e-12 to gimbal lock it counts as locked, which costs as much.
    assert_close(compose_euler(order, alpha, beta, gamma), R, 3e-12)


def compose_euler(order: str, *q: float) -> Array:
    a, b, c = (axis_rotation(letter, angle) for letter, angle in zip(order, q, strict=True))
    return a @ b @ c


@pytest.mark.parametrize("order", EULER_ORDERS)
@pytest.mark.parametrize("off", [0.0, 1e-15, 1e-13, 1e-11, 1e-8, -1e-8])
@pytest.mark.parametrize("end", [0, 1])
def test_euler_angles_survive_gimbal_lock(order: str, off: float, end: int):
    """The angles are not unique there, the rotation is."""
    middle = np.pi * end if order[0] == order[2] else np.pi * (end - 0.5)
    R = compose_euler(order, 0.4, middle + off, -1.1)
    assert_close(compose_euler(order, *euler_angles(order, R)), R, 1e-11)
    if off == 0.0:
        assert euler_angles(order, R)[0] == 0.0


def test_euler_orders_that_repeat_are_refused():
    with pytest.raises(ValueError, match="repeats an axis"):
        euler_angles("XXY", np.eye(3))


@given(units)
def test_a_rotation_takes_z_anywhere(axis: Array):
    A = rotation_taking_z_to(axis)
    assert is_rotation(A, 1e-14)
    assert_close(A[:, 2], axis)


@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-6, 4.4e-3, 4.5e-3, 0.1])
def test_a_rotation_takes_z_to_minus_z_and_its_neighbours(tilt: float):
    axis = np.array([0.6 * np.sin(tilt), -0.8 * np.sin(tilt), -np.cos(tilt)])
    A = rotation_taking_z_to(axis)
    assert_close(A @ A.T, np.eye(3))
    assert_close(A[:, 2], axis)


def test_batch_axes_come_first():
    w = np.random.default_rng(0).normal(size=(2, 3, 3))
    R = exp_rotation(w)
    assert R.shape == (2, 3, 3, 3)
    singles = {
        log_rotation: log_rotation(R),
        wxyz_from_matrix: wxyz_from_matrix(R),
        lambda m: euler_angles("ZXZ", m): euler_angles("ZXZ", R),
    }
    for index in np.ndindex(2, 3):
        np.testing.assert_array_equal(exp_rotation(w[index]), R[index])
        for function, all_at_once in singles.items():
            np.testing.assert_allclose(function(R[index]), all_at_once[index], rtol=1e-15)


def test_what_is_a_rotation():
    assert is_rotation(np.eye(3))
    assert is_rotation(exp_rotation(np.ones((5, 3))))
    wrong = [-np.eye(3), 1.01 * np.eye(3), np.zeros((3, 3)), np.full((3, 3), np.nan), np.eye(4)]
    assert not any(is_rotation(matrix) for matrix in wrong)


# --- the compiled twins, against sums of exact fractions


def sum_of_series(s: Fraction, k: int, derivative: bool = False) -> Fraction:
    """Σ (−s)ⁿ/(2n+k)!, or its derivative with respect to s; 60 terms are far more than enough."""
    if derivative:
        return sum(
            (-1) ** n * n * s ** (n - 1) / Fraction(math.factorial(2 * n + k)) for n in range(1, 60)
        )  # type: ignore[return-value]
    return sum((-s) ** n / Fraction(math.factorial(2 * n + k)) for n in range(60))  # type: ignore[return-value]


THETAS = [0.0, 1e-12, 1e-8, 1e-4, 1e-2, 1.0, 2 - 1e-9, 2 + 1e-9, math.pi, 6.0]


@pytest.mark.parametrize("theta", THETAS)
def test_coefficients_of_the_exponential_map_have_all_their_digits(theta: float):
    s = theta * theta
    exact = Fraction(s)
    A, B, C, dB, dC = exp_coefficients(s)
    assert A == pytest.approx(float(sum_of_series(exact, 1)), rel=1e-15, abs=1e-15)  # zero at π
    for value, k, derivative in ((B, 2, False), (C, 3, False), (dB, 2, True), (dC, 3, True)):
        assert value == pytest.approx(
            float(sum_of_series(exact, k, derivative)), rel=1e-14, abs=0.0
        )


def half_angle_cotangent(s: Fraction) -> tuple[Fraction, Fraction]:
    """½θ cot ½θ and its derivative with respect to s = θ²."""
    x = s / 4
    cosine, sine = sum_of_series(x, 0), sum_of_series(x, 1)
    d_cosine, d_sine = sum_of_series(x, 0, True) / 4, sum_of_series(x, 1, True) / 4
    return cosine / sine, (d_cosine * sine - cosine * d_sine) / sine**2


@pytest.mark.parametrize(
    "theta", [0.0, 1e-12, 1e-8, 1e-4, 1e-2, 0.5, 1 - 1e-9, 1 + 1e-9, 2.0, math.pi]
)
def test_coefficients_of_the_logarithm_have_all_their_digits(theta: float):
    s = theta * theta
    G, dG = log_coefficients(s)
    if s == 0.0:
        exact, d_exact = Fraction(1, 12), Fraction(1, 720)
    else:
        f, df = half_angle_cotangent(Fraction(s))
        exact = (1 - f) / Fraction(s)
        d_exact = -(df + exact) / Fraction(s)
    assert G == pytest.approx(float(exact), rel=1e-14, abs=0.0)
    # Above 1 the closed form of G' subtracts nearly equal numbers, most of them at 1 itself.
    assert dG == pytest.approx(float(d_exact), rel=1e-14 if theta < 1.0 else 1e-13, abs=0.0)


def left_jacobian(w: Array) -> Array:
    _, B, C, _, _ = exp_coefficients(w @ w)
    return np.eye(3) + B * skew(w) + C * skew(w) @ skew(w)


@given(units, st.floats(0.0, 6.0))
def test_left_jacobian_is_the_derivative_of_exp(axis: Array, angle: float):
    w, h = angle * axis, 1e-5
    for a, e in enumerate(np.eye(3)):
        turned = exp_rotation(w + h * e) @ exp_rotation(w - h * e).T
        assert_close(log_rotation(turned) / (2 * h), left_jacobian(w)[:, a], 1e-8)


@given(units, st.one_of(st.floats(0.0, 6.0), st.sampled_from([0.0, 1e-9, 1e-4, np.pi])))
def test_derivative_of_the_left_jacobian(axis: Array, angle: float):
    """Against differences, and by integrability: ∂_j u_i − ∂_i u_j = u_j × u_i."""
    w, h = angle * axis, 1e-5
    _, B, C, dB, dC = exp_coefficients(w @ w)
    J = left_jacobian(w)
    D = np.array(
        [
            [left_jacobian_derivative(tuple(w), i, j, B, C, dB, dC) for j in range(3)]
            for i in range(3)
        ]
    )
    for j, e in enumerate(np.eye(3)):
        assert_close(
            (left_jacobian(w + h * e) - left_jacobian(w - h * e)).T / (2 * h), D[:, j], 1e-8
        )
        for i in range(3):
            assert_close(D[i, j] - D[j, i], np.cross(J[:, j], J[:, i]), 2e-14)


# --- sine and cosine


def exact_sine(x: float) -> float:
    """Sin x to the last digit, by Taylor's series after an exact reduction."""
    n = round(Fraction(x) / HALF_PI)
    r = Fraction(x) - n * HALF_PI
    part = (
        sum((-1) ** k * r ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(14))
        if n % 2 == 0
        else sum((-1) ** k * r ** (2 * k) / math.factorial(2 * k) for k in range(14))
    )
    return float(part if n % 4 in (0, 1) else -part)


def exact_cosine(x: float) -> float:
    n = round(Fraction(x) / HALF_PI)
    r = Fraction(x) - n * HALF_PI
    part = (
        sum((-1) ** k * r ** (2 * k) / math.factorial(2 * k) for k in range(14))
        if n % 2 == 0
        else -sum((-1) ** k * r ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(14))
    )
    return float(part if n % 4 in (0, 1) else -part)


def sines_and_cosines(x: Array) -> tuple[Array, Array]:
    sine, cosine = np.empty_like(x), np.empty_like(x)
    sincos(x, sine, cosine)
    return sine, cosine


def digit(reach: float) -> float:
    """One and a half last digits of 1; more in plain Python, which fuses no products."""
    return 1.7e-16 * (1.0 if hasattr(sincos, "py_func") else 1.0 + reach)


def test_exact_sine_agrees_with_the_c_library():
    """The reference itself is right."""
    for x in (0.0, 0.3, -2.0, 5.5, 7.0, 1e3, -99999.5, 1e6):
        assert exact_sine(x) == pytest.approx(math.sin(x), abs=1.2e-16)
        assert exact_cosine(x) == pytest.approx(math.cos(x), abs=1.2e-16)


@pytest.mark.parametrize("reach", first_quick([4.0, 3e5, 1e-8, 1.0, 100.0, 99_999.0], 2))
def test_sincos_is_right_to_the_last_digit_or_the_one_before(reach: float):
    x = np.random.default_rng(0).uniform(-reach, reach, size=400)
    x = np.concatenate([x, [0.0, reach, -reach, *np.linspace(-0.99 * reach, 0.99 * reach, 30)]])
    sine, cosine = sines_and_cosines(x)
    assert_close(sine, np.array([exact_sine(v) for v in x]), digit(reach))
    assert_close(cosine, np.array([exact_cosine(v) for v in x]), digit(reach))


def test_sincos_near_multiples_of_a_quarter_turn():
    x = np.array([k * np.pi / 2 + d for k in range(-9, 10) for d in (-1e-9, 0.0, 1e-9)])
    sine, cosine = sines_and_cosines(x)
    assert_close(sine, np.array([exact_sine(v) for v in x]), digit(15.0))
    assert_close(cosine, np.array([exact_cosine(v) for v in x]), digit(15.0))


def test_sincos_keeps_the_relative_digits_of_small_angles():
    x = np.array([1e-300, 1e-20, 1e-9, -1e-3, 0.1])
    sine, _ = sines_and_cosines(x)
    np.testing.assert_allclose(sine, np.sin(x), rtol=3e-16)


@pytest.mark.parametrize("x", [0.3, -2.0, 9.0, 1e9, -7e12])
def test_sincos_of_one_angle(x: float):
    assert sincos_of(x) == pytest.approx((math.sin(x), math.cos(x)), abs=2e-16)


def test_one_far_angle_leaves_the_others_right():
    """Beyond its range the whole vector goes through the C library."""
    x = np.array([0.3, 1e9, -2.0, -7e12])
    sine, cosine = sines_and_cosines(x)
    np.testing.assert_array_equal(sine, np.sin(x))
    np.testing.assert_array_equal(cosine, np.cos(x))


@given(order=st.permutations(range(3)), signs=st.tuples(*[st.booleans()] * 9))
def test_signs_of_zeros_add_no_whole_turn(order: list[int], signs: tuple[bool, ...]) -> None:
    """Turns by right angles, with −0 here and there, as negated matrices have them."""
    matrix = np.zeros((3, 3))
    matrix[np.arange(3), order] = np.where(signs[:3], -1.0, 1.0)
    if np.linalg.det(matrix) < 0.0:
        matrix[0] *= -1.0
    zeros = matrix == 0.0
    matrix[zeros] = np.where(signs[3:], -0.0, 0.0)  # six of them
    joints = [Joint.revolute(axis) for axis in "xyz"]
    joints += [Joint.swing_twist(axis) for axis in "xyz"] + [Joint.exp_map(), Joint.euler("ZYX")]
    for joint in joints:
        q = joint.coordinates_for(np.zeros(3), matrix)
        assert np.abs(q).max() <= np.pi + 1e-12
        if joint.nv == 3:
            found = Rotation.from_matrix(
                Skeleton.build("ball", [Bone("ball", joint=joint)]).forward(q).rotations[0]
            )
            assert (found.inv() * Rotation.from_matrix(matrix)).magnitude() < 1e-7
