"""What follows from the exact Hessian at a minimum: sensitivity to targets, error bars.

At a minimum the gradient vanishes on the free dofs; a target that moves by τ moves it to

    dq*/dτ = −H⁻¹ ∂g/∂τ ,    ∂g/∂τ = −JᵀW (∂r/∂τ) + Lᵀ (Wr · ∂²r/∂ξ∂τ)

(implicit function theorem), L being the motion ξ = (ω, δ) of the goal's point by each dof. For a
place, r depends on the point and the target only by their difference: τ is a −δ. For a rotation
R_t → exp[φ] R_t with E = R_t Rᵀ, log(exp[φ] E exp[−ω]) = log(E exp[−ω']) with

    ω' = ω − a + ½ a × ω + … ,    a = Eᵀφ

so that both come from the same D = ∂r/∂ξ and Wr·∂²r that the Hessian is made of. Of a goal measured
in another bone L is the motion of its bone less that of the other, and τ is in that one's axes.

Independent noise of standard deviation σ in the target positions then gives

    cov(q*) = σ² Σ (dq*/dτ)(dq*/dτ)ᵀ

which is σ²H⁻¹ only if all weights are one and all residuals zero. Directions along which H vanishes
are not determined by the goals: their variance is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exactik.errors import CoordinateError
from exactik.kernels.calculus import dense
from exactik.kernels.calculus.backpropagation import NEAR_MINIMUM
from exactik.kernels.calculus.workspace import SLOPE, Goals, Workspace, update_kinematics_noinline
from exactik.kernels.goals import centroids, pairs
from exactik.kernels.goals import terms as term
from exactik.kernels.tree.packed import NONE
from exactik.problem import Problem
from exactik.solvers._certificate import (
    CONVERGED_GRADIENT,
    compute_flat_curvature,
    find_active_dofs,
)
from exactik.solvers._view import View
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.solvers._result import Result


NULL_EIGENVALUE = 1e-9  # share of the largest (scaled) eigenvalue that counts as none
CURVATURE_ROUNDING = 1e-12  # share of the largest curvature that is rounding


@dataclass(frozen=True, eq=False)
class Covariance:
    """Error bars of a pose.

    Attributes:
        matrix: covariance of the dofs [rad² or m²], (nv, nv); infinite on the diagonal of dofs that
            are not determined, not a number between them and others.
        sd: standard deviation of each dof [rad or m], (nv,); infinite where not determined.
        undetermined: directions that the goals leave open, in words.
    """

    matrix: Array
    sd: Array
    undetermined: list[str]


def compute_sensitivity(result: Result) -> dict[str, Array]:
    """See `Result.sensitivity`."""
    inverse, _ = _invert_hessian(result)
    derivatives = _compute_target_derivatives(result.problem, result.q)
    return {name: -inverse @ derivative for name, derivative in derivatives.items()}


def compute_covariance(result: Result, sigma: float) -> Covariance:
    """See `Result.covariance`."""
    if not isinstance(sigma, int | float | np.number) or not 0.0 <= sigma < np.inf:
        raise CoordinateError(f"sigma is {sigma!r}; it must be a length ≥ 0 [m]")
    inverse, null = _invert_hessian(result)
    skeleton = result.problem.skeleton
    matrix = np.zeros((skeleton.nv, skeleton.nv))
    derivatives = _compute_target_derivatives(result.problem, result.q)
    for name, goal in zip(result.problem.rows, result.problem.goals, strict=True):
        if name in derivatives and goal.terms(skeleton)[0].kind == term.POSITION:
            dof_noise = sigma * inverse @ derivatives[name][:, :3]
            matrix += dof_noise @ dof_noise.T
    is_open = np.abs(null).max(axis=1, initial=0.0) > 1e-6
    matrix[is_open, :] = matrix[:, is_open] = np.nan
    matrix[is_open, is_open] = np.inf
    sd = np.sqrt(np.diag(matrix))
    undetermined = [_describe_direction(direction, skeleton.dof_names) for direction in null.T]
    return Covariance(matrix, sd, undetermined)


def _invert_hessian(result: Result) -> tuple[Array, Array]:
    """Return H⁻¹ on the free and determined dofs, (nv, nv), and the directions left open, (nv, k).

    Dofs are scaled to unit curvature first, so that metres and radians compare.
    """
    problem, nv = result.solved_problem, result.problem.skeleton.nv
    place = View(problem).at(result.q)
    free = np.flatnonzero(~find_active_dofs(problem, place))
    # A solve that rests although it has a slope has a cost that is next to nothing. Residuals would
    # vanish in one more step, and the curvature that they add is not that of the minimum.
    is_exact = place.projected_gradient <= max(result.tolerance, CONVERGED_GRADIENT)
    full = problem.hessian(result.q) if is_exact else problem.gauss_newton(result.q)
    H = full[np.ix_(free, free)]
    # Idle dofs are found by their whole rows: a diagonal entry alone may vanish by cancellation.
    flat = compute_flat_curvature(problem, place)
    rounding = max(CURVATURE_ROUNDING * float(np.abs(H).max(initial=0.0)), flat)
    idle = np.abs(H).max(axis=1, initial=0.0) <= rounding
    H[idle, :] = H[:, idle] = 0.0
    scale = 1.0 / np.sqrt(
        np.where(idle, 1.0, np.maximum(np.abs(np.diag(H)), max(rounding, 1e-300)))
    )
    values, vectors = np.linalg.eigh(scale[:, None] * H * scale)
    fixed = values > NULL_EIGENVALUE * max(float(values.max(initial=0.0)), 1e-300)
    if (values < -NULL_EIGENVALUE * float(np.abs(values).max(initial=0.0))).any():
        raise CoordinateError("error bars and sensitivities need a minimum, but this is a saddle")
    inverse, null = np.zeros((nv, nv)), np.zeros((nv, int((~fixed).sum())))
    scaled_vectors = scale[:, None] * vectors[:, fixed]
    inverse[np.ix_(free, free)] = (scaled_vectors / values[fixed]) @ scaled_vectors.T
    null[free] = _reduce_to_echelon(scale[:, None] * vectors[:, ~fixed])
    # A descent may stall where the cost is not resolved any better: what counts is how far it is.
    distance = np.abs(inverse @ place.gradient).max(initial=0.0)
    if not result.converged and distance > NEAR_MINIMUM:
        slope = f"relative projected gradient {result.projected_gradient:.1e}"
        raise CoordinateError(
            f"error bars and sensitivities need a minimum; this solve did not converge ({slope})"
        )
    return inverse, null


def _reduce_to_echelon(null: Array) -> Array:
    """Return a basis of the same directions with many zeros: reduced echelon form."""
    rows = null.T.copy()
    done = 0
    while done < len(rows):
        k, column = divmod(int(np.argmax(np.abs(rows[done:]))), rows.shape[1])
        rows[[done, done + k]] = rows[[done + k, done]]
        rows[done] /= rows[done, column]
        for i in range(len(rows)):
            if i != done:
                rows[i] -= rows[i, column] * rows[done]
        done += 1
    rows[np.abs(rows) < 1e-7] = 0.0
    return rows.T


def _describe_direction(direction: Array, names: tuple[str, ...]) -> str:
    """Return "l_hand.rz" or "l_hand.rz − 0.8 l_forearm.rx" for a direction, (nv,)."""
    direction = direction / direction[np.argmax(np.abs(direction))]
    order = [i for i in np.argsort(-np.abs(direction)) if abs(direction[i]) > 1e-3]
    parts = []
    for i in order[:4]:
        size = "" if abs(abs(direction[i]) - 1.0) < 5e-3 else f"{abs(direction[i]):.2g} "
        sign = "" if len(parts) == 0 else ("+ " if direction[i] > 0 else "− ")
        parts.append(f"{sign}{size}{names[i]}")
    return " ".join(parts) + (" …" if len(order) > 4 else "")


def backpropagate_result(result: Result, slope: Array) -> dict[str, Array]:
    """Return the gradients by the targets of the terms, by goal, (n, 3), from that by the dofs."""
    inverse, _ = _invert_hessian(result)
    x = -inverse @ slope
    by_term = _differentiate_terms_by_targets(result.problem, result.q)
    return {name: np.array([x @ each for each in terms]) for name, terms in by_term.items()}


def _compute_target_derivatives(problem: Problem, q: Array) -> dict[str, Array]:
    """Return ∂g/∂τ of every goal on a bone by name: (nv, 3), or (nv, 6) for a pose."""
    by_term = _differentiate_terms_by_targets(problem, q)
    goals = dict(zip(problem.rows, problem.goals, strict=True))
    return {name: goals[name].join_target_derivatives(each) for name, each in by_term.items()}


def _differentiate_terms_by_targets(problem: Problem, q: Array) -> dict[str, list[Array]]:
    """Return ∂g/∂τ of the terms of every goal on a bone by name, (nv, 3) each."""
    tree, arrays, work = problem.skeleton.tree, problem.packed.arrays, problem.workspace
    J, r = problem.jacobian(q), problem.residual(q)
    W = problem.packed.weight
    force = W @ r
    update_kinematics_noinline(tree, arrays, problem.skeleton.normalised(q), work)
    derivatives: dict[str, list[Array]] = {}
    for name, terms in problem.packed.terms.items():
        by_term: list[Array] = []
        for m in range(terms.start, terms.stop):
            row = int(arrays.terms.row[m])
            rows = slice(row, row + 3)
            first, mixed = _differentiate_term_by_target(problem, m, force[rows].copy())
            L = np.zeros((6, problem.skeleton.nv))
            slope = work.joint_dofs[SLOPE]
            for frame, point, share in _list_moving_points(arrays, m, work):
                motion = -share * np.eye(6)
                dense.write_jacobian_rows(
                    tree, arrays.free, slope, work.S, frame, point, motion, 0, L
                )
            by_term.append(-J.T @ W[:, rows] @ first + L.T @ mixed)
        if len(by_term) > 0:
            derivatives[name] = by_term
    return derivatives


def _list_moving_points(arrays: Goals, m: int, work: Workspace) -> list[tuple[int, Array, float]]:
    """Return frame, point and share of all whose motions add up to that of term m."""
    terms, members = arrays.terms, arrays.centroids
    if terms.frame[m] == NONE:
        own = range(int(members.first[m]), int(members.first[m + 1]))
        places = [np.array(centroids.locate_member(members, k, work)) for k in own]
        frames = [int(members.frame[k]) for k in own]
        return list(zip(frames, places, [float(members.share[k]) for k in own], strict=True))
    points = [(int(terms.frame[m]), work.e, 1.0)]
    if terms.other[m] != NONE:
        points.append((int(terms.other[m]), work.e, -1.0))
    return points


def _differentiate_term_by_target(problem: Problem, m: int, force: Array) -> tuple[Array, Array]:
    """Return ∂r/∂τ, (3, 3), and Wr·∂²r/∂ξ∂τ, (6, 3), of term m; its point is left in work.e."""
    terms, work = problem.packed.arrays.terms, problem.workspace
    if terms.frame[m] == NONE:
        centroids.differentiate_centroid(terms, problem.packed.arrays.centroids, m, force, work)
        return -work.D[:, 3:], -work.X[:, 3:]
    if terms.other[m] != NONE:
        pairs.write_in_world(terms, m, work)
        placed = terms._replace(
            target=work.pair_target, rotation=work.pair_turn, weight=work.pair_weight
        )
        other, axes = work.R[int(terms.other[m])], work.pair_axes[m]
        first, mixed = _differentiate_by_target(placed, m, work.no_shift, axes @ force, work)
        return axes.T @ first @ other, mixed @ other
    return _differentiate_by_target(terms, m, work.shift, force, work)


def _differentiate_by_target(
    terms: term.Terms, m: int, shift: Array, force: Array, work: Workspace
) -> tuple[Array, Array]:
    """As `_differentiate_term_by_target`, for a target in the world."""
    term.local_residual(terms, m, work.R, work.p, shift, work.e, work.r)
    term.local_derivatives(terms, m, work.R, shift, work.e, work.r, force, work.D, work.X)
    D, X, kind = work.D.copy(), work.X.copy(), terms.kind[m]
    if kind == term.LOG:
        E = terms.rotation[m] @ work.R[int(terms.frame[m])].T
        gradient = D[:, :3].T @ force
        mixed = np.zeros((6, 3))
        mixed[:3] = -X[:3, :3] + 0.5 * np.cross(gradient, np.eye(3)).T
        return -D[:, :3] @ E.T, mixed @ E.T
    if kind == term.DIRECTION:
        return np.eye(3), np.zeros((6, 3))
    return -D[:, 3:], -X[:, 3:]
