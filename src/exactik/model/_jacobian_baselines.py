"""Two slow ways to a Jacobian, to test and to measure the fast ones against.

Neither uses the structure of the tree: differences run forward kinematics once or twice per dof,
unit velocities propagate one velocity per dof from the root to the bone. Both take the arguments
of `bone_jacobian` and return the same array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from exactik.kernels.tree import jacobian as routes
from exactik.kernels.tree import jacobian_dot as rates
from exactik.model._jacobian import (
    Frame,
    Rows,
    check_request,
    compute_frames,
    reduce_columns,
)
from exactik.spatial import log_rotation
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model._skeleton import Skeleton


# Where rounding and truncation meet: ε^(1/2) for one-sided and ε^(1/3) for central differences.
_STEPS = {"forward": 1.5e-8, "central": 6.0e-6}


def finite_difference_jacobian(
    skeleton: Skeleton,
    q: ArrayLike,
    bone: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
    frame: Frame = "world",
    rows: Rows = "linear",
    scheme: Literal["forward", "central"] = "central",
    step: float | None = None,
) -> Array:
    """Return `bone_jacobian` by differences of `forward`, shape (3 or 6, nv).

    Args:
        q: coordinates, shape (nq,).
        point: in the bone's frame [m], shape (3,).
        frame: as for `bone_jacobian`.
        rows: as for `bone_jacobian`.
        scheme: "forward" (error of the order of the step) or "central" (of its square).
        step: [rad or m]; None for the one that balances rounding and truncation.
    """
    request = check_request(skeleton, q, bone, point, frame, rows)
    h = _STEPS[scheme] if step is None else step
    steps = h * np.eye(skeleton.nv)
    is_central = scheme == "central"
    pose = skeleton.forward(q)
    ahead = skeleton.forward(skeleton.integrate(q, steps))
    behind = skeleton.forward(skeleton.integrate(q, -steps)) if is_central else pose
    k, width = request.bone - 1, 2.0 * h if is_central else h
    linear = (ahead.point(bone, point) - behind.point(bone, point)).T / width
    R_step = ahead.rotations[:, k] @ np.swapaxes(behind.rotations[..., k, :, :], -1, -2)
    angular = log_rotation(R_step).T / width
    if request.frame == routes.BODY:
        linear, angular = (pose.rotations[k].T @ part for part in (linear, angular))
    elif request.frame == routes.SPATIAL:
        linear = linear - np.cross(angular, pose.point(bone, point), axisa=0, axisc=0)
    if request.rows == routes.BOTH:
        return np.concatenate([linear, angular])
    return linear if request.rows == routes.LINEAR else angular


def unit_velocity_jacobian(
    skeleton: Skeleton,
    q: ArrayLike,
    bone: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
    frame: Frame = "world",
    rows: Rows = "linear",
) -> Array:
    """Return `bone_jacobian` by one propagation of velocities per dof, shape (3 or 6, nv)."""
    request = check_request(skeleton, q, bone, point, frame, rows)
    _, b, point, frame_code, rows_code, J = request
    frames = compute_frames(skeleton, request)
    scratch = np.empty(J.shape[1]), np.empty((len(skeleton.bones) + 1, 6))
    rates.unit_velocity_jacobian(
        skeleton.tree, b, point, frame_code, rows_code, *frames, *scratch, J
    )
    return reduce_columns(skeleton, q, J)
