# pyright: reportMissingImports=false, reportIncompatibleMethodOverride=false
"""Inverse kinematics as a layer of PyTorch: batches in, tensors out, exact gradients back.

    import exactik.torch

    q = exactik.torch.solve(problem, {"hand": targets})       # (B, nq), differentiable in targets
    positions, rotations = exactik.torch.forward(skeleton, q)

A solve is differentiated as a whole, by the implicit function theorem at its solutions: one
factorisation a problem, however many iterations it took. Only first derivatives are offered.
Solving runs on the CPU, for tensors on a GPU too, unless `device="cuda"`; results are where the
targets are, in their type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

import exactik as ik
from exactik.errors import CoordinateError, UsageError


def solve(
    problem: ik.Problem,
    targets: Mapping[str, torch.Tensor],
    *,
    q0: torch.Tensor | np.ndarray | None = None,
    on_failure: str = "raise",
    **options: Any,
) -> torch.Tensor:
    """Solve a problem for a batch of targets; see `exactik.solve_batch`.

    Args:
        problem: what is asked.
        targets: name of a goal → its targets, (B, 3), (B, 3, 3) or (B, 4, 4) as the goal takes
            them.
        q0: where to start, (nq,) or (B, nq); no gradient flows through it.
        on_failure: "raise" if a problem ran into a limit of iterations or time before its goals
            were reached, or if gradients are asked far from a minimum; "nan" for NaN in its place.
        options: `solver`, `starts`, `seed`, `threads`, `device`, as for `exactik.solve_batch`.

    Returns:
        coordinates, (B, nq). The gradient through dofs at limits that the goals push against is
        zero.
    """
    if len(targets) == 0 or not all(isinstance(t, torch.Tensor) for t in targets.values()):
        raise UsageError("targets must be {name of a goal: tensor}, at least one")
    start = _to_numpy(q0) if isinstance(q0, torch.Tensor) else q0
    return _SolveFunction.apply(
        problem, tuple(targets), start, on_failure, options, *targets.values()
    )


def forward(skeleton: ik.Skeleton, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return where all bones are: positions [m], (B, n, 3), and R_world_bone, (B, n, 3, 3).

    Args:
        skeleton: the figure.
        q: coordinates, (B, nq); quaternions need not have unit length.
    """
    return _ForwardFunction.apply(skeleton, q)


class _SolveFunction(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        problem: ik.Problem,
        names: tuple[str, ...],
        q0: np.ndarray | None,
        on_failure: str,
        options: dict[str, Any],
        *targets: torch.Tensor,
    ) -> torch.Tensor:
        arrays = {name: _to_numpy(t) for name, t in zip(names, targets, strict=True)}
        batch = ik.solve_batch(problem, arrays, q0=q0, **options)
        q = batch.q.copy()
        failed = np.char.endswith(batch.ended, "limit") & ~batch.reached
        if failed.any():
            if on_failure == "raise":
                first = int(np.argmax(failed))
                raise CoordinateError(
                    f"{int(failed.sum())} of {len(batch)} problems were not finished, "
                    f"problem {first} first: {batch[first].why}"
                )
            q[failed] = np.nan
        ctx.batch, ctx.names, ctx.on_failure = batch, names, on_failure
        return torch.from_numpy(q).to(targets[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> tuple[Any, ...]:
        (gradient,) = grad_outputs
        by_target = ctx.batch.backpropagate(_to_numpy(gradient), on_failure=ctx.on_failure)
        return (*(None,) * 5, *(torch.from_numpy(by_target[n]).to(gradient) for n in ctx.names))


class _ForwardFunction(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, skeleton: ik.Skeleton, q: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.skeleton, ctx.q = skeleton, _to_numpy(q)
        pose = skeleton.forward(ctx.q)
        return torch.from_numpy(pose.positions).to(q), torch.from_numpy(pose.rotations).to(q)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> tuple[None, torch.Tensor]:
        by_position, by_rotation = grad_outputs
        gradient = ctx.skeleton.backpropagate(ctx.q, _to_numpy(by_position), _to_numpy(by_rotation))
        return None, torch.from_numpy(gradient).to(by_position)


def _to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """Return a copy in float64 on the CPU."""
    return tensor.detach().to("cpu", torch.float64).numpy().copy()
