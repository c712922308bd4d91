"""The step of a fit against dense algebra on an independent model: no code of the kernels."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.lab.check import oracle
from exactik.model import Bone, Joint, Skeleton
from exactik.recordings.calibration.fitting import (
    FitFrames,
    ScaledSkeleton,
    compute_fit_equations,
    make_fit_problem,
    make_scaled_skeleton,
    resize,
)
from exactik.recordings.tracking import FrameSolutions, TrackingProblem, solve_frames
from exactik.solvers import Auto
from exactik.typing import Array, BoolArray
from tests.support.mechanisms import legs
from tests.support.models import EVERY_JOINT, chain_of, configuration

STEP = 1e-3  # of differences of fourth order: what is left of them is below 1e-10


def with_markers_everywhere(skeleton: Skeleton, seed: int = 0) -> Skeleton:
    """The figure with three markers on each bone: no dof is left open."""
    rng = np.random.default_rng(seed)
    names = skeleton.bone_names
    return skeleton.with_markers(
        {f"M{i}": (names[i // 3], rng.normal(0.0, 0.15, 3)) for i in range(3 * len(names))}
    )


def every_joint() -> Skeleton:
    """A tree of two branches with joints of each rotation and shift, constant rotations between."""
    kinds = "free quaternion", "euler ZXY", "exp_map", "revolute oblique", "quaternion"
    chain = chain_of([EVERY_JOINT[kind] for kind in kinds])
    other = [
        Bone("c0", parent="b1", offset=(0.2, 0.1, 0.0), joint=EVERY_JOINT["swing_twist y"]),
        Bone("c1", parent="c0", offset=(0.2, 0.0, 0.1), joint=EVERY_JOINT["prismatic oblique"]),
    ]
    return with_markers_everywhere(Skeleton.build("tree", [*chain.bones, *other], {}))


def model_rows(figure: ScaledSkeleton, theta: Array, q: Array) -> Array:
    """The places of all markers of a pose in a row, by the independent model."""
    positions, rotations = oracle.forward(figure.build(theta), q)
    bones, points = figure.marker_bones, figure.scaled_points(theta)
    return (positions[bones] + np.einsum("mij,mj->mi", rotations[bones], points)).ravel()


def differences(figure: ScaledSkeleton, theta: Array, q: Array) -> Array:
    """∂y/∂θ, (3 M, n), by differences of fourth order."""
    K = np.empty((3 * len(figure.marker_names), len(theta)))
    for i in range(len(theta)):
        ahead, twice = np.zeros(len(theta)), np.zeros(len(theta))
        ahead[i], twice[i] = STEP, 2.0 * STEP
        near = model_rows(figure, theta + ahead, q) - model_rows(figure, theta - ahead, q)
        far = model_rows(figure, theta + twice, q) - model_rows(figure, theta - twice, q)
        K[:, i] = (8.0 * near - far) / (12.0 * STEP)
    return K


def dense_system(
    figure: ScaledSkeleton, theta: Array, q: Array, target: Array, weights: Array, held: BoolArray
) -> tuple[Array, Array]:
    """Gauss–Newton's matrix and right-hand side of all poses and parameters together."""
    skeleton, n, (frames, nv) = figure.build(theta), len(theta), (len(q), figure.skeleton.nv)
    matrix, rhs = np.zeros((frames * nv + n,) * 2), np.zeros(frames * nv + n)
    for t in range(frames):
        goals = [ik.MarkerGoal(name, (0.0, 0.0, 0.0)) for name in figure.marker_names]
        J = oracle.evaluate(skeleton, goals, q[t], lock=held[t]).jacobian
        r = np.nan_to_num(target[t].ravel()) - model_rows(figure, theta, q[t])
        dofs = np.concatenate([t * nv + np.flatnonzero(~held[t]), frames * nv + np.arange(n)])
        both = np.hstack([J[:, ~held[t]], differences(figure, theta, q[t])])
        w = np.repeat(np.where(np.isnan(target[t, :, 0]), 0.0, weights[t]), 3)
        matrix[np.ix_(dofs, dofs)] += both.T @ (w[:, None] * both)
        rhs[dofs] += both.T @ (w * r)
    open_dofs = np.append(~held.ravel(), np.ones(n, dtype=bool))
    return matrix[np.ix_(open_dofs, open_dofs)], rhs[open_dofs]


def make_fit(
    figure: ScaledSkeleton, theta: Array, target: Array, weights: Array, limits: str = "off"
) -> TrackingProblem:
    """The frames of a fit at θ, without a posture, which the dense algebra has not got."""
    markers = ik.Markers(target, figure.marker_names, 60.0)
    frames = FitFrames(markers, limits, (), robust=True, weights=weights)
    problem = make_fit_problem(figure, np.zeros(len(theta)), frames)
    problem = problem.with_targets(rest_weight=np.zeros_like(problem.targets.rest_weight))
    return resize(figure, theta, problem)


@pytest.mark.parametrize("make", [every_joint, legs])
@pytest.mark.parametrize("kind", ["bone", "global", "none"])
def test_the_step_is_that_of_the_dense_system(make, kind: str):
    """Poses and parameters of chance, a marker missing, weights, some markers that stay."""
    skeleton, rng = make(), np.random.default_rng(4)
    names = tuple(skeleton.markers)
    figure = make_scaled_skeleton(skeleton, names, kind, fixed=names[::4])
    theta = rng.normal(0.0, 0.1, figure.parameter_count)
    q = np.stack([configuration(skeleton, seed) for seed in range(2)])
    target = np.stack([model_rows(figure, theta, pose).reshape(-1, 3) for pose in q])
    target += rng.normal(0.0, 0.05, target.shape)
    target[1, 5] = np.nan
    weights = rng.uniform(0.3, 1.0, target.shape[:2])
    problem = make_fit(figure, theta, target, weights)
    matrix, rhs = dense_system(
        figure, theta, q, target, weights, np.zeros((2, skeleton.nv), dtype=bool)
    )
    equations = compute_fit_equations(figure, theta, problem, q)
    open_dofs = 2 * skeleton.nv
    A, B = matrix[:open_dofs, :open_dofs], matrix[:open_dofs, open_dofs:]
    solved = np.linalg.solve(A, np.column_stack([B, rhs[:open_dofs]]))
    size = np.abs(matrix[open_dofs:, open_dofs:]).max()
    reduced = matrix[open_dofs:, open_dofs:] - B.T @ solved[:, :-1]
    assert np.abs(equations.matrix - reduced).max() < 1e-8 * size
    right = rhs[open_dofs:] - B.T @ solved[:, -1]
    assert np.abs(equations.rhs - right).max() < 1e-8 * np.abs(rhs).max()
    gain = float(rhs[:open_dofs] @ solved[:, -1])
    assert equations.pose_reduction == pytest.approx(gain, rel=1e-6)
    # With a prior, without which scales and places are not told apart.
    prior = 0.1 * np.eye(len(theta))
    matrix[open_dofs:, open_dofs:] += prior
    step = np.linalg.solve(equations.matrix + prior, equations.rhs)
    assert step == pytest.approx(np.linalg.solve(matrix, rhs)[open_dofs:], rel=1e-5, abs=1e-8)


def test_the_right_side_is_the_gradient_of_the_best_fit():
    """∂/∂θ of the least cost over the poses, limits included, by differences."""
    skeleton, rng = ik.human(), np.random.default_rng(2)
    figure = make_scaled_skeleton(skeleton, tuple(skeleton.markers), "symmetric")
    theta = rng.normal(0.0, 0.02, figure.parameter_count)
    q = skeleton.clip(skeleton.integrate(skeleton.neutral(), rng.normal(0, 0.4, (3, skeleton.nv))))
    target = np.stack([model_rows(figure, theta, pose).reshape(-1, 3) for pose in q])
    target += rng.normal(0.0, 0.02, target.shape)
    markers = ik.Markers(target, figure.marker_names, 60.0)
    asked = FitFrames(markers, "hard", (), robust=False)
    problem = make_fit_problem(figure, np.zeros(len(theta)), asked)
    options = Auto(tolerance=1e-12).options(problem.frame_problem)

    def best(at: Array, start: Array) -> FrameSolutions:
        return solve_frames(resize(figure, at, problem), options, np.arange(3), start)

    path = best(theta, q)
    equations = compute_fit_equations(figure, theta, resize(figure, theta, problem), path.q)
    for _ in range(3):
        direction = rng.normal(0.0, 1.0, len(theta))
        ahead, behind = (
            best(theta + sign * 1e-5 * direction, path.q).cost.sum() for sign in (1, -1)
        )
        slope = (ahead - behind) / 2e-5
        assert slope == pytest.approx(-float(equations.rhs @ direction), rel=1e-4)


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("angle", [0.5, 1.4])
def test_a_dof_that_pushes_against_its_limit_takes_no_part(side: float, angle: float):
    """An elbow with limits ± 1 that its markers want at an angle, as if it were locked there."""
    elbow = Joint.revolute("z", limits=(-1.0, 1.0))
    bones = [
        Bone("upper", joint=Joint.revolute("z")),
        Bone("lower", parent="upper", offset=(0.3, 0, 0), joint=elbow),
    ]
    arm = with_markers_everywhere(Skeleton.build("arm", bones, {}))
    figure = make_scaled_skeleton(arm, tuple(arm.markers), "bone")
    theta = np.zeros(figure.parameter_count)
    target = model_rows(figure, theta, np.array([0.2, side * angle])).reshape(1, -1, 3)
    weights = np.ones(target.shape[:2])
    problem = make_fit(figure, theta, target, weights, "hard")
    q = np.array([[0.2, side * min(angle, 1.0)]])
    held = np.array([[False, angle > 1.0]])
    matrix, rhs = dense_system(figure, theta, q, target, weights, held)
    dofs = int((~held).sum())
    A, B = matrix[:dofs, :dofs], matrix[:dofs, dofs:]
    reduced = matrix[dofs:, dofs:] - B.T @ np.linalg.solve(A, B)
    equations = compute_fit_equations(figure, theta, problem, q)
    assert np.abs(equations.matrix - reduced).max() < 1e-8
    assert np.abs(equations.rhs - (rhs[dofs:] - B.T @ np.linalg.solve(A, rhs[:dofs]))).max() < 1e-8


@pytest.mark.parametrize("make", [ik.human, legs])
def test_sums_do_not_depend_on_the_threads(make):
    """To the last bit, on more frames than there are parts."""
    skeleton, rng = make(), np.random.default_rng(5)
    figure = make_scaled_skeleton(skeleton, tuple(skeleton.markers), "bone")
    theta = rng.normal(0.0, 0.05, figure.parameter_count)
    q = skeleton.integrate(skeleton.neutral(), rng.normal(0.0, 0.3, (19, skeleton.nv)))
    target = skeleton.forward(q).markers
    problem = make_fit(figure, theta, target, np.ones(target.shape[:2]))
    one, two = (compute_fit_equations(figure, theta, problem, q, threads=n) for n in (1, 2))
    assert np.array_equal(one.matrix, two.matrix) and np.array_equal(one.rhs, two.rhs)


@pytest.mark.parametrize("make", [ik.human, every_joint, legs])
def test_a_resized_tree_is_that_of_the_resized_skeleton(make):
    skeleton = make()
    figure = make_scaled_skeleton(skeleton, tuple(skeleton.markers), "bone")
    theta = np.random.default_rng(0).normal(0.0, 0.1, figure.parameter_count)
    for one, two in zip(figure.build_tree(theta), figure.build(theta).tree, strict=True):
        assert one == pytest.approx(two, abs=1e-15)
