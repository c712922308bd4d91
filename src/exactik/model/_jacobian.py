"""Jacobians of a point on a bone and gradients through poses: arrays around `kernels.tree`.

The last two Jacobians are slow ways, to test and to measure the fast ones against, and use nothing
of the tree: differences run forward kinematics once or twice per dof, unit velocities propagate one
velocity per dof from the root to the bone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import contiguous_copy, require_shape
from exactik.errors import UnknownNameError
from exactik.kernels.calculus.backpropagation import backpropagate_frames
from exactik.kernels.calculus.workspace import new_workspace
from exactik.kernels.tree import couplings, fk
from exactik.kernels.tree import jacobian as routes
from exactik.kernels.tree import jacobian_dot as rates
from exactik.kernels.tree.packed import NONE
from exactik.spatial import log_rotation, sincos
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model._skeleton import Skeleton

Frame = Literal["world", "body", "spatial"]
Rows = Literal["linear", "angular", "both"]
Route = Literal["cross", "poe", "adjusted"]

FRAMES = {"world": routes.WORLD, "body": routes.BODY, "spatial": routes.SPATIAL}
ROWS = {"linear": routes.LINEAR, "angular": routes.ANGULAR, "both": routes.BOTH}
ROUTES = {"cross": 0, "poe": 1, "adjusted": 2}
# Where rounding and truncation meet: ε^(1/2) for one-sided and ε^(1/3) for central differences.
_STEPS = {"forward": 1.5e-8, "central": 6.0e-6}


class JacobianRequest(NamedTuple):
    """The checked arguments of a Jacobian, and an array for that of all dofs of the joints."""

    q: Array  # of all joints
    bone: int  # frame number: one more than the bone's index
    point: Array
    frame: int
    rows: int
    J: Array


class WorldFrames(NamedTuple):
    """Forward kinematics about `origin`, as the kernels take it; see `kernels.tree.fk`."""

    origin: Array  # position of the bone's root in the world [m], (3,)
    R: Array  # R_world_bone of all frames, the world's first, (n_bones + 1, 3, 3)
    p: Array  # origins of all frames from `origin` [m], (n_bones + 1, 3)
    S: Array  # twists of all dofs of the joints, (n, 6)


def find_code(what: str, name: str, codes: Mapping[str, int]) -> int:
    """Return the number of a named option; raise `UnknownNameError` listing those that exist."""
    if name not in codes:
        raise UnknownNameError(what, name, codes)
    return codes[name]


def check_request(
    skeleton: Skeleton, q: ArrayLike, bone: str, point: ArrayLike, frame: str, rows: str
) -> JacobianRequest:
    """Check the arguments that all Jacobians share."""
    rows_code = find_code("rows", rows, ROWS)
    return JacobianRequest(
        # A copy: compiled code tells read-only arrays from others and would be compiled twice.
        q=np.array(skeleton.joint_coordinates(require_shape("q", q, skeleton.nq))),
        bone=skeleton.bone_index(bone) + 1,
        point=np.array(require_shape("point", point, 3)),
        frame=find_code("frame", frame, FRAMES),
        rows=rows_code,
        J=np.empty((6 if rows_code == routes.BOTH else 3, int(skeleton.tree.joint_v[-1]))),
    )


def compute_dof_rates(skeleton: Skeleton, q: ArrayLike) -> tuple[Array, Array]:
    """Return Φ and Φ', how the dofs of the joints follow those of the skeleton, both (n, nv).

    With velocities v of the dofs, those of the joints are Φ v, and Φ changes by Φ' with its columns
    times v: each dof of a joint follows one other at most.
    """
    tree = skeleton.tree
    slope, bend = np.empty((2, int(tree.joint_v[-1])))
    joint_q = np.empty(int(tree.joint_q[-1]))
    q = np.array(skeleton.normalised(require_shape("q", q, skeleton.nq)))
    couplings.expand_coordinates(tree, q, joint_q, slope, bend)
    sources = tree.joint_dofs[couplings.SOURCE, : len(slope)]
    moved = np.flatnonzero(sources != NONE)
    first, second = np.zeros((2, len(slope), skeleton.nv))
    first[moved, sources[moved]], second[moved, sources[moved]] = slope[moved], bend[moved]
    return first, second


def compute_frames(skeleton: Skeleton, request: JacobianRequest) -> WorldFrames:
    """Run forward kinematics about the bone's root: a distant figure keeps its digits."""
    tree, q = skeleton.tree, request.q
    n = len(skeleton.bones) + 1
    R, p, S = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((request.J.shape[1], 6))
    sine, cosine = np.empty((2, len(q)))
    origin = np.empty(3)
    fk.root_position(tree, q, request.bone, origin)
    fk.forward_kinematics(tree, q, origin, sine, cosine, R, p, S)
    return WorldFrames(origin=origin, R=R, p=p, S=S)


def bone_jacobian(
    skeleton: Skeleton,
    q: ArrayLike,
    bone: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
    frame: Frame = "world",
    rows: Rows = "linear",
    route: Route = "cross",
) -> Array:
    """Return `Skeleton.jacobian`, which has the arguments: the velocity of the point is J v.

    Columns refer to the dofs of `integrate`; those of joints that do not carry the bone are zero.
    Route "cross" takes world axes and lever arms, "poe" the adjoints of a product of exponentials,
    "adjusted" adjoints with Euler joints as blocks. All give the same.
    """
    request = check_request(skeleton, q, bone, point, frame, rows)
    route_code = find_code("route", route, ROUTES)
    _, b, point, frame_code, rows_code, J = request
    if route_code == ROUTES["cross"]:
        frames = compute_frames(skeleton, request)
        routes.cross_jacobian(skeleton.tree, b, point, frame_code, rows_code, *frames, J)
        return reduce_columns(skeleton, q, J)
    sine, cosine = np.empty((2, len(request.q)))
    sincos(request.q, sine, cosine)
    workspace = routes.AdjointWorkspace(
        A=np.empty((3, 3)), t=np.empty(3), Q=np.empty((3, 3)), U=np.empty((3, 3))
    )
    routes.adjoint_jacobian(
        skeleton.tree,
        request.q,
        sine,
        cosine,
        b,
        point,
        frame_code,
        rows_code,
        route_code == ROUTES["adjusted"],
        workspace,
        J,
    )
    return reduce_columns(skeleton, q, J)


def reduce_columns(skeleton: Skeleton, q: ArrayLike, J: Array) -> Array:
    """Return the Jacobian of the skeleton's dofs from that of all dofs of the joints."""
    return J if len(skeleton.couplings) == 0 else J @ compute_dof_rates(skeleton, q)[0]


def bone_jacobian_dot(
    skeleton: Skeleton,
    q: ArrayLike,
    v: ArrayLike,
    bone: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
    frame: Frame = "world",
    rows: Rows = "linear",
) -> Array:
    """Return `Skeleton.jacobian_dot`, which has the arguments; exact.

    The acceleration of the point, for joint accelerations a, is J a + J̇ v.
    """
    request = check_request(skeleton, q, bone, point, frame, rows)
    v = np.array(require_shape("v", v, skeleton.nv))
    joint_q, b, x, frame_code, rows_code, J = request
    frames, tree = compute_frames(skeleton, request), skeleton.tree
    scratch = np.empty((len(skeleton.bones) + 1, 6)), np.empty((6, 3))
    if len(skeleton.couplings) == 0:
        rates.jacobian_dot(tree, joint_q, v, b, x, frame_code, rows_code, *frames, *scratch, J)
        return J
    first, second = compute_dof_rates(skeleton, q)
    w = first @ v
    rates.jacobian_dot(tree, joint_q, w, b, x, frame_code, rows_code, *frames, *scratch, J)
    J_now = np.empty_like(J)
    routes.cross_jacobian(tree, b, x, frame_code, rows_code, *frames, J_now)
    return J @ first + J_now @ (second * v)


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


def backpropagate_poses(
    skeleton: Skeleton, q: ArrayLike, by_position: ArrayLike, by_rotation: ArrayLike
) -> Array:
    """See `Skeleton.backpropagate`."""
    unit, n = skeleton.normalised(q), len(skeleton.bones)
    first = contiguous_copy(require_shape("by_position", by_position, len(unit), n, 3))
    second = contiguous_copy(require_shape("by_rotation", by_rotation, len(unit), n, 3, 3))
    by_dof, work = np.zeros((len(unit), skeleton.nv)), new_workspace(skeleton.tree)
    backpropagate_frames(skeleton.tree, np.ones(skeleton.nv), unit, first, second, by_dof, work)
    return skeleton.coordinate_gradient(q, by_dof)
