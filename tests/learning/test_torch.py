# pyright: reportMissingImports=false
"""The layer of PyTorch: gradients checked by PyTorch, failures, types; a limb length is learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.errors import CoordinateError
from tests.support.models import planar_arm

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-learning does")
layer = pytest.importorskip("exactik.torch")

TIGHT = ik.Newton(tolerance=1e-14)


def make_arm() -> ik.Skeleton:
    """A shoulder with three dofs, an elbow and a wrist with two, with limits."""
    bones = [
        ik.Bone("upper", joint=ik.Joint.euler("ZYX", limits=[(-2.0, 2.0)] * 3)),
        ik.Bone(
            "lower",
            parent="upper",
            offset=(0.3, 0, 0),
            joint=ik.Joint.revolute("y", limits=(0.1, 2.5)),
        ),
        ik.Bone("hand", parent="lower", offset=(0.25, 0, 0), joint=ik.Joint.exp_map()),
    ]
    return ik.Skeleton.build("arm", bones)


def turn(vectors: Any) -> Any:
    """Rotation matrices of rotation vectors, (B, 3)."""
    x, y, z = vectors.unbind(-1)
    zero = torch.zeros_like(x)
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return torch.linalg.matrix_exp(torch.stack([torch.stack(row, -1) for row in rows], -2))


@pytest.mark.parametrize("far", [False, True])
def test_gradcheck_of_places_and_turns(far: bool) -> None:
    arm = make_arm()
    goals = [
        ik.PositionGoal("hand", (0, 0, 0), (0.05, 0, 0)),
        ik.OrientationGoal("hand", np.eye(3), weight=0.1),
        ik.PostureGoal(arm.neutral(), weight=1e-2),
    ]
    problem = ik.Problem(arm, goals)
    places = torch.tensor([[0.2, 0.3, 0.1], [0.35, -0.2, 0.2]], dtype=torch.float64)
    places = (3.0 * places if far else places).requires_grad_()
    turns = torch.tensor(
        [[0.2, 0.5, -0.1], [-0.3, 0.1, 0.4]], dtype=torch.float64, requires_grad=True
    )

    def solve(places: Any, turns: Any) -> Any:
        targets = {"hand": places, "hand.orientation": turn(turns)}
        return layer.solve(problem, targets, solver=TIGHT, threads=1)

    q = solve(places, turns).detach().numpy()
    at_limit = np.isclose(q, arm.lower) | np.isclose(q, arm.upper)
    assert at_limit.any() == far
    assert torch.autograd.gradcheck(solve, (places, turns), eps=1e-6, atol=1e-6)


def test_gradcheck_of_poses_with_quaternions() -> None:
    bones = [
        ik.Bone("root", joint=ik.Joint.free()),
        ik.Bone(
            "arm", parent="root", offset=(0.1, 0.2, 0.3), joint=ik.Joint.revolute((0.6, 0, 0.8))
        ),
    ]
    figure = ik.Skeleton.build("floating", bones)
    q = torch.tensor(np.random.default_rng(0).normal(size=(2, figure.nq)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda q: layer.forward(figure, q), (q,), eps=1e-6, atol=1e-6)


def test_failures_raise_or_become_nan() -> None:
    arm = planar_arm()
    end = arm.bone_names[-1]
    problem = ik.Problem(arm, ik.PositionGoal(end, (0, 0, 0), (0.3, 0, 0)))
    targets = {end: torch.tensor([[0.4, 0.2, 0.0]], requires_grad=True)}
    hurried = ik.Newton(max_iterations=1)
    with pytest.raises(CoordinateError, match="1 of 1 problems were not finished"):
        layer.solve(problem, targets, solver=hurried)
    q = layer.solve(problem, targets, solver=hurried, on_failure="nan")
    assert q.isnan().all()
    assert q.dtype == torch.float32
    q.sum().backward()
    assert targets[end].grad.isnan().all()


def test_a_limb_length_is_learned_through_the_solver() -> None:
    """The wrist is seen; the elbow angle of a figure with the right forearm is known."""
    true, arm = 0.27, planar_arm(0.4, 0.3)
    rng = np.random.default_rng(3)
    angles = torch.tensor(rng.uniform(0.4, 1.2, (20, 2)))
    first, both = angles[:, 0], angles.sum(1)
    seen = torch.stack(
        [0.4 * first.cos() + true * both.cos(), 0.4 * first.sin() + true * both.sin(), 0 * both], 1
    )
    problem = ik.Problem(arm, ik.PositionGoal("lower", (0, 0, 0)))
    length = torch.tensor(0.2, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([length], lr=0.01)
    for _ in range(150):
        direction = torch.stack([both.cos(), both.sin(), 0 * both], 1)
        q = layer.solve(problem, {"lower": seen - length * direction}, threads=1)
        loss = ((q[:, 0] - first) ** 2).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert length.item() == pytest.approx(true, abs=1e-3)
