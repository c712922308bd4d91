"""A batched Levenberg–Marquardt in JAX, as somebody would write it who has a GPU and an afternoon.

Forward kinematics of Euler joints and shifts as plain functions, their Jacobian by forward
differentiation, damped normal equations, steps clipped to the limits, all of it under `vmap`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from exactik import Skeleton
from exactik.typing import Array

ITERATIONS = 60  # at most
INITIAL_DAMPING = 1e-2
TOLERANCE = 1e-8  # largest change of a coordinate [rad or m] at which a problem is done


def make_solver(skeleton: Skeleton) -> Callable[[Array, Array], tuple[Array, Array, Array]]:
    """Return a function of markers (B, M, 3) and starts (B, nq): q, cost (B,), passes (B,)."""
    jax, _ = _load_jax()
    iterate, begin = _make_iteration(skeleton)

    def solve_one(target: Any, q0: Any) -> Any:
        def go_on(state: Any) -> Any:
            return (state[3] < ITERATIONS) & ~state[4]

        q, cost, _, n, _ = jax.lax.while_loop(go_on, partial(iterate, target), begin(target, q0))
        return q, cost, n

    batched = jax.jit(jax.vmap(solve_one))

    def solve(targets: Array, q0: Array) -> tuple[Array, Array, Array]:
        q, cost, passes = (np.asarray(x) for x in batched(targets, q0))
        return q, cost, passes

    return solve


def make_unrolled_gradient(
    skeleton: Skeleton, iterations: int, posture_weight: float = 0.0
) -> Callable[[Array, Array, Array], tuple[Array, Array]]:
    """Return a function of markers (B, M, 3), starts and weights u (B, nq): q, ∂(u·q)/∂markers.

    A fixed number of steps, differentiated one by one backwards, as automatic differentiation does.
    """
    jax, jnp = _load_jax()
    iterate, begin = _make_iteration(skeleton, posture_weight)

    def solve_one(target: Any, q0: Any) -> Any:
        def advance(state: Any, _: None) -> tuple[Any, None]:
            return iterate(target, state), None

        return jax.lax.scan(advance, begin(target, q0), length=iterations)[0][0]

    def loss(targets: Any, starts: Any, weights: Any) -> Any:
        q = jax.vmap(solve_one)(targets, starts)
        return jnp.sum(weights * q), q

    differentiated = jax.jit(jax.value_and_grad(loss, has_aux=True))

    def solve(targets: Array, starts: Array, weights: Array) -> tuple[Array, Array]:
        (_, q), gradient = differentiated(targets, starts, weights)
        return np.asarray(q), np.asarray(gradient)

    return solve


def _load_jax() -> tuple[Any, Any]:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # leave memory to others
    import jax  # pyright: ignore[reportMissingImports]
    import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", True)
    return jax, jnp


def _make_iteration(
    skeleton: Skeleton, posture_weight: float = 0.0
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the step of one problem, and where it begins: q, cost, damping, passes, done."""
    jax, jnp = _load_jax()
    place_markers = _make_forward_kinematics(skeleton, jnp)
    lower = jnp.array(_limits_of_coordinates(skeleton, skeleton.lower, -np.inf))
    upper = jnp.array(_limits_of_coordinates(skeleton, skeleton.upper, np.inf))

    def residual(q: Any, target: Any) -> Any:
        places = (place_markers(q) - target).ravel()
        return jnp.concatenate([places, posture_weight**0.5 * q]) if posture_weight else places

    jacobian = jax.jacfwd(residual)

    def iterate(target: Any, state: Any) -> Any:
        q, cost, damping, n, _ = state
        r, J = residual(q, target), jacobian(q, target)
        H, g = J.T @ J, J.T @ r
        held = ((q <= lower) & (g > 0)) | ((q >= upper) & (g < 0))
        free = jnp.where(held, 0.0, 1.0)
        A = H * free[:, None] * free + jnp.diag(damping * jnp.diag(H) + 1e-9 + (1 - free))
        trial = jnp.clip(q - jnp.linalg.solve(A, free * g), lower, upper)
        trial_cost = 0.5 * jnp.sum(residual(trial, target) ** 2)
        is_better = trial_cost < cost
        change = jnp.max(jnp.abs(trial - q))
        return (
            jnp.where(is_better, trial, q),
            jnp.where(is_better, trial_cost, cost),
            jnp.where(is_better, damping * 0.2, damping * 4.0),
            n + 1,
            (change < TOLERANCE) | (damping > 1e12),
        )

    def begin(target: Any, q0: Any) -> Any:
        return q0, 0.5 * jnp.sum(residual(q0, target) ** 2), INITIAL_DAMPING, 0, False

    return iterate, begin


def _limits_of_coordinates(skeleton: Skeleton, limits: Array, default: float) -> Array:
    """Return the limits of the coordinates, (nq,), from those of the dofs."""
    values = np.full(skeleton.nq, default)
    plain = np.asarray(skeleton.plain_q)
    values[plain[plain >= 0]] = limits[plain >= 0]
    return values


def _make_forward_kinematics(skeleton: Skeleton, jnp: Any) -> Callable[[Any], Any]:
    """Return a function of q (nq,) that places the markers, (M, 3).

    Axes of all dofs are taken from the figure at rest, one turn or shift after the other.
    """
    tree = skeleton.tree
    neutral = np.zeros(skeleton.nq)
    rest = skeleton.forward(neutral)
    marker_bones = [skeleton.bone_index(skeleton.marker(m)[0]) for m in skeleton.markers]
    marker_points = np.array([skeleton.marker(m)[1] for m in skeleton.markers])
    steps = []  # of each bone: parent, what stands before its dofs, and the dofs themselves
    for k in range(len(skeleton.bones)):
        parent = int(skeleton.parents[k])
        R_parent = np.eye(3) if parent < 0 else rest.rotations[parent]
        p_parent = np.zeros(3) if parent < 0 else rest.positions[parent]
        R_local = R_parent.T @ rest.rotations[k]
        p_local = R_parent.T @ (rest.positions[k] - p_parent)
        dofs = range(int(tree.first_v[k + 1]), int(tree.first_v[k + 2]))
        J = skeleton.jacobian(neutral, skeleton.bones[k].name, rows="both") if len(dofs) else None
        moves = []
        for i in dofs:
            assert J is not None
            shift, turn = R_parent.T @ J[:3, i], R_parent.T @ J[3:, i]
            moves.append((int(skeleton.plain_q[i]), shift, turn))
        steps.append((parent, R_local, p_local, moves))

    def turn_about(axis: Array, angle: Any) -> Any:
        K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        return jnp.eye(3) + jnp.sin(angle) * K + (1 - jnp.cos(angle)) * (K @ K)

    def place_markers(q: Any) -> Any:
        rotations: list[Any] = []
        positions: list[Any] = []
        for parent, R_local, p_local, moves in steps:
            R = jnp.eye(3) if parent < 0 else rotations[parent]
            p = jnp.zeros(3) if parent < 0 else positions[parent]
            p = p + R @ p_local
            for j, shift, turn in moves:
                if np.linalg.norm(turn) > 0.5:
                    R = R @ turn_about(turn, q[j])
                else:
                    p = p + R @ (shift * q[j])
            rotations.append(R @ R_local)
            positions.append(p)
        stacked_R, stacked_p = jnp.stack(rotations), jnp.stack(positions)
        bones = jnp.array(marker_bones)
        return stacked_p[bones] + jnp.einsum("mij,mj->mi", stacked_R[bones], marker_points)

    return place_markers
