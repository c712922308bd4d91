# pyright: reportMissingImports=false, reportFunctionMemberAccess=false
"""Inverse kinematics inside JAX programs, under `jit` and `grad`, with exact gradients.

    import exactik.jax

    q = exactik.jax.solve(problem, {"hand": targets})         # (B, nq), differentiable in targets
    positions, rotations = exactik.jax.forward(skeleton, q)

Solves run on the host's CPU by `jax.pure_callback`, in float64, and come back in the type of the
targets. They are differentiated as a whole, by the implicit function theorem (`exactik.torch` says
more). Only reverse mode, first derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import exactik as ik
from exactik.errors import CoordinateError, UsageError


def solve(
    problem: ik.Problem,
    targets: Mapping[str, jax.Array],
    *,
    q0: np.ndarray | None = None,
    on_failure: str = "nan",
    **options: Any,
) -> jax.Array:
    """Solve a problem for a batch of targets; see `exactik.solve_batch`.

    Args:
        problem: what is asked.
        targets: name of a goal → its targets, (B, 3), (B, 3, 3) or (B, 4, 4) as the goal takes
            them.
        q0: where to start, (nq,) or (B, nq): numbers, nothing that is traced.
        on_failure: "nan" for NaN where a problem ran into a limit of iterations or time before its
            goals were reached, and where gradients are asked far from a minimum; "raise" for an
            error of JAX that holds the reason.
        options: `solver`, `starts`, `seed`, `threads`, `device`, as for `exactik.solve_batch`.

    Returns:
        coordinates, (B, nq).
    """
    if len(targets) == 0:
        raise UsageError("targets must be {name of a goal: array}, at least one")
    call = _Call(problem, tuple(targets), q0, on_failure, options)
    return _solve(call, tuple(jnp.asarray(t) for t in targets.values()))


def forward(skeleton: ik.Skeleton, q: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return where all bones are: positions [m], (B, n, 3), and R_world_bone, (B, n, 3, 3).

    Args:
        skeleton: the figure.
        q: coordinates, (B, nq); quaternions need not have unit length.
    """
    return _forward(skeleton, jnp.asarray(q))


class _Call:
    """What a solve is told beside its targets; JAX tells two of them apart by identity."""

    def __init__(
        self,
        problem: ik.Problem,
        names: tuple[str, ...],
        q0: np.ndarray | None,
        on_failure: str,
        options: dict[str, Any],
    ):
        self.problem, self.names, self.q0 = problem, names, q0
        self.on_failure, self.options = on_failure, options

    def find_poses(self, *targets: Any) -> np.ndarray:
        """Return the solutions, (B, nq), in the type of the targets."""
        batch = ik.solve_batch(self.problem, self._name(targets), q0=self.q0, **self.options)
        failed = np.char.endswith(batch.ended, "limit") & ~batch.reached
        if self.on_failure == "raise" and failed.any():
            first = int(np.argmax(failed))
            raise CoordinateError(f"problem {first} was not finished: {batch[first].why}")
        return np.where(failed[:, None], np.nan, batch.q).astype(targets[0].dtype)

    def backpropagate(self, gradient: Any, q: Any, *targets: Any) -> tuple[np.ndarray, ...]:
        """Return the gradients by the targets; at a solution another solve ends where it begins."""
        q = np.asarray(q, np.float64)
        failed = np.isnan(q).any(axis=1)
        start = np.where(failed[:, None], self.problem.skeleton.neutral(), q)
        options = {**self.options, "starts": 1}
        batch = ik.solve_batch(self.problem, self._name(targets), q0=start, **options)
        gradient = np.where(failed[:, None], 0.0, np.asarray(gradient, np.float64))
        found = batch.backpropagate(gradient, on_failure=self.on_failure)
        for by_target in found.values():
            by_target[failed] = np.nan
        return tuple(found[n].astype(t.dtype) for n, t in zip(self.names, targets, strict=True))

    def _name(self, targets: tuple[Any, ...]) -> dict[str, np.ndarray]:
        return {n: np.asarray(t, np.float64) for n, t in zip(self.names, targets, strict=True)}


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _solve(call: _Call, targets: tuple[jax.Array, ...]) -> jax.Array:
    shape = (len(targets[0]), call.problem.skeleton.nq)
    result = jax.ShapeDtypeStruct(shape, targets[0].dtype)
    return jax.pure_callback(call.find_poses, result, *targets, vmap_method="sequential")


def _solve_forward(call: _Call, targets: tuple[jax.Array, ...]) -> tuple[Any, Any]:
    q = _solve(call, targets)
    return q, (q, targets)


def _solve_backward(call: _Call, residuals: Any, gradient: jax.Array) -> tuple[Any]:
    q, targets = residuals
    results = tuple(jax.ShapeDtypeStruct(t.shape, t.dtype) for t in targets)
    return (
        jax.pure_callback(
            call.backpropagate, results, gradient, q, *targets, vmap_method="sequential"
        ),
    )


_solve.defvjp(_solve_forward, _solve_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _forward(skeleton: ik.Skeleton, q: jax.Array) -> tuple[jax.Array, jax.Array]:
    def find_frames(q: Any) -> tuple[np.ndarray, np.ndarray]:
        pose = skeleton.forward(np.asarray(q, np.float64))
        return pose.positions.astype(q.dtype), pose.rotations.astype(q.dtype)

    shape = (len(q), len(skeleton.bones), 3)
    results = jax.ShapeDtypeStruct(shape, q.dtype), jax.ShapeDtypeStruct((*shape, 3), q.dtype)
    return jax.pure_callback(find_frames, results, q, vmap_method="sequential")


def _forward_forward(skeleton: ik.Skeleton, q: jax.Array) -> tuple[Any, jax.Array]:
    return _forward(skeleton, q), q


def _forward_backward(skeleton: ik.Skeleton, q: jax.Array, gradients: Any) -> tuple[jax.Array]:
    def find_gradient(q: Any, *by_frame: Any) -> np.ndarray:
        arrays = [np.asarray(array, np.float64) for array in (q, *by_frame)]
        return skeleton.backpropagate(*arrays).astype(q.dtype)

    result = jax.ShapeDtypeStruct(q.shape, q.dtype)
    return (jax.pure_callback(find_gradient, result, q, *gradients, vmap_method="sequential"),)


_forward.defvjp(_forward_forward, _forward_backward)
