"""Forward kinematics of the oracle: straight from the description of the bones, on jets.

A configuration is q together with increments, small vectors v in the tangent space that are applied
one after the other: q + v for ordinary coordinates, a rotation by v on the right for quaternions.
The increments are the jets; q itself is a plain array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik.errors import ShapeError, UnknownNameError
from exactik.lab.check.oracle.jet import (
    Jet,
    atanc,
    chain,
    constant,
    cos,
    cosc,
    cross,
    dot,
    series,
    sin,
    sinc,
    stack,
)
from exactik.model.functions import (
    Constant,
    CoordinateFunction,
    CubicSpline,
    Linear,
    PiecewiseLinear,
    Polynomial,
    Product,
    Scaled,
    Sine,
)
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Bone, Joint, Skeleton

_AXES = {"X": np.array([1.0, 0, 0]), "Y": np.array([0, 1.0, 0]), "Z": np.array([0, 0, 1.0])}


class JetFrame(NamedTuple):
    """A bone in the world: R_world_bone and the position of its origin."""

    R_world_bone: Jet
    p_world_bone: Jet


class Slices(NamedTuple):
    """Where the coordinates and the dofs of a bone lie in q and v."""

    q: slice
    v: slice


def free_dofs(skeleton: Skeleton, bone: Bone) -> list[int]:
    """Return the numbers of the dofs of a bone's joint that follow no other."""
    driven = [coupling.driven for coupling in skeleton.couplings]
    names = bone.joint.dof_names
    return [a for a, name in enumerate(names) if f"{bone.name}.{name}" not in driven]


def find_slices(skeleton: Skeleton) -> dict[str, Slices]:
    """Return the place of every bone in q and v: bone after bone, in the order of the skeleton."""
    slices, q, v = {}, 0, 0
    for bone in skeleton.bones:
        dofs = len(free_dofs(skeleton, bone))
        coordinates = dofs + bone.joint.nq - bone.joint.nv
        slices[bone.name] = Slices(slice(q, q + coordinates), slice(v, v + dofs))
        q, v = q + coordinates, v + dofs
    return slices


def exp(w: Jet) -> Jet:
    """Return the rotation matrix of a rotation vector."""
    k, s = cross(w), dot(w, w)
    return np.eye(3) + k * sinc(s) + (k @ k) * cosc(s)


def axis_rotation(axis: ArrayLike, angle: Jet) -> Jet:
    """Return the rotation by a scalar angle about a constant unit axis."""
    k = cross(constant(axis, angle.n))
    return np.eye(3) + k * sin(angle) + (k @ k) * (1.0 - cos(angle))


def log(rotation: Jet) -> Jet:
    """Return the rotation vector of a rotation matrix, accurate also near half a turn.

    The matrix gives q_a q_b for all pairs of entries of the quaternion; the row of the largest
    entry keeps all digits, and the angle comes from sine and cosine together.
    """
    m = rotation
    x, y, z = (m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1])
    xy, yz, xz = (m[0, 1] + m[1, 0], m[1, 2] + m[2, 1], m[0, 2] + m[2, 0])
    rows = (
        (m[0, 0] + m[1, 1] + m[2, 2] + 1.0, x, y, z),
        (x, m[0, 0] - m[1, 1] - m[2, 2] + 1.0, xy, xz),
        (y, xy, m[1, 1] - m[2, 2] - m[0, 0] + 1.0, yz),
        (z, xz, yz, m[2, 2] - m[0, 0] - m[1, 1] + 1.0),
    )
    wxyz = stack(rows[int(np.argmax([rows[i][i].value for i in range(4)]))])
    if wxyz.value[0] < 0.0:  # of the two quaternions take that of the smaller angle
        wxyz = wxyz * -1.0
    # No need to normalise: the angle and the axis depend on ratios only.
    w, xyz = wxyz[0], wxyz[1:]
    return xyz * atanc(dot(xyz, xyz), w) * 2.0


def quaternion_matrix(wxyz: ArrayLike) -> Array:
    """Return the rotation matrix of a quaternion of any length but zero."""
    w, x, y, z = np.asarray(wxyz, dtype=float) / np.linalg.norm(wxyz)
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def joint_motion(joint: Joint, q: Array, increments: list[Jet], n: int) -> tuple[Jet, Jet]:
    """Return rotation (3, 3) and shift (3,) of a joint, in its base frame."""
    if joint.kind == "free":
        assert joint.rotation is not None
        shift = sum((d[:3] for d in increments), constant(q[:3], n))
        rotation, _ = joint_motion(joint.rotation, q[3:], [d[3:] for d in increments], n)
        return rotation, shift
    if joint.kind == "quaternion":
        rotation = constant(quaternion_matrix(q), n)
        for d in increments:
            rotation = rotation @ exp(d)
        return rotation, constant(np.zeros(3), n)
    return plain_motion(joint, sum(increments, constant(q, n)), n)


def plain_motion(joint: Joint, x: Jet, n: int) -> tuple[Jet, Jet]:
    """Return rotation and shift of a joint without quaternions at the coordinates x."""
    rotation, shift = constant(np.eye(3), n), constant(np.zeros(3), n)
    if joint.kind == "free":
        assert joint.rotation is not None
        return plain_motion(joint.rotation, x[3:], n)[0], x[:3]
    if joint.kind == "revolute":
        assert joint.axis is not None
        rotation = axis_rotation(joint.axis, x[0])
    elif joint.kind == "prismatic":
        assert joint.axis is not None
        shift = np.asarray(joint.axis) * x[0]
    elif joint.kind == "translation":
        shift = x
    elif joint.kind == "euler":
        for a, letter in enumerate(joint.order):
            rotation = rotation @ axis_rotation(_AXES[letter], x[a])
    elif joint.kind == "exp_map":
        rotation = exp(x)
    elif joint.kind == "swing_twist":
        twist = "XYZ".index(joint.order)
        s, t, n_axis = (_AXES["XYZ"[(twist + k) % 3]] for k in (1, 2, 0))
        rotation = exp(s * x[0] + t * x[1]) @ axis_rotation(n_axis, x[2])
    elif joint.kind == "screw":
        assert joint.axis is not None
        rotation = axis_rotation(joint.axis, x[0])
        shift = np.asarray(joint.axis) * (x[0] * (joint.pitch / (2.0 * np.pi)))
    elif joint.kind == "custom":
        values = {name: x[i] for i, name in enumerate(joint.coordinates)}
        for axis in joint.shifts:
            d = _apply_function(axis.function, [values[c] for c in axis.coordinates], n)
            shift = shift + np.asarray(axis.axis) * d
        for axis in joint.turns:
            d = _apply_function(axis.function, [values[c] for c in axis.coordinates], n)
            rotation = rotation @ axis_rotation(axis.axis, d)
    elif joint.kind != "fixed":
        raise NotImplementedError(f"the oracle knows no joint of kind {joint.kind!r}")
    return rotation, shift


def coupled_values(skeleton: Skeleton, q: Array, increments: tuple[Jet, ...], n: int) -> dict:
    """Return the values of the dofs that drive others or follow them, by name."""
    values: dict[str, Jet] = {}
    if len(skeleton.couplings) == 0:
        return values
    for bone in skeleton.bones:
        if bone.joint.nq == bone.joint.nv:  # a quaternion has no coordinates for its dofs
            part = find_slices(skeleton)[bone.name]
            x = sum((d[part.v] for d in increments), constant(q[part.q], n))
            for i, a in enumerate(free_dofs(skeleton, bone)):
                values[f"{bone.name}.{bone.joint.dof_names[a]}"] = x[i]
    left = list(skeleton.couplings)
    while len(left) > 0:
        coupling = left.pop(0)
        if coupling.driver is None:
            values[coupling.driven] = _apply_function(coupling.function, [], n)
        elif coupling.driver in values:
            driver = values[coupling.driver]
            values[coupling.driven] = _apply_function(coupling.function, [driver], n)
        else:
            left.append(coupling)
    return values


def compute_frames(skeleton: Skeleton, q: ArrayLike, *increments: Jet) -> dict[str, JetFrame]:
    """Return the frame of every bone at q moved by the increments, each a vector of nv dofs."""
    q = np.asarray(q, dtype=float)
    n = increments[0].n if len(increments) > 0 else 0
    slices = find_slices(skeleton)
    bones: dict[str, Bone] = {bone.name: bone for bone in skeleton.bones}
    if q.shape != (max(part.q.stop for part in slices.values()),):
        raise ShapeError(f"q has shape {q.shape}; expected ({skeleton.nq},)")
    values = coupled_values(skeleton, q, increments, n)
    world = JetFrame(constant(np.eye(3), n), constant(np.zeros(3), n))
    frames: dict[str, JetFrame] = {}

    def find_frame(name: str) -> JetFrame:
        if name not in frames:
            bone, part = bones[name], slices[name]
            parent = world if bone.parent is None else find_frame(bone.parent)
            pre = np.eye(3) if bone.pre is None else np.array(bone.pre)
            post = np.eye(3) if bone.post is None else np.array(bone.post)
            if len(free_dofs(skeleton, bone)) < bone.joint.nv:
                names = [f"{name}.{dof}" for dof in bone.joint.dof_names]
                x = stack([values[dof] for dof in names])
                rotation, shift = plain_motion(bone.joint, x, n)
            else:
                rotation, shift = joint_motion(
                    bone.joint, q[part.q], [d[part.v] for d in increments], n
                )
            frames[name] = JetFrame(
                parent.R_world_bone @ (pre @ rotation) @ post,
                parent.p_world_bone + parent.R_world_bone @ (pre @ shift + np.array(bone.offset)),
            )
        return frames[name]

    return {bone.name: find_frame(bone.name) for bone in skeleton.bones}


def place_point(frames: dict[str, JetFrame], bone: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> Jet:
    """Return a point of a bone in the world."""
    if bone not in frames:
        raise UnknownNameError("bone", bone, frames)
    return frames[bone].p_world_bone + frames[bone].R_world_bone @ np.asarray(point, dtype=float)


def forward(skeleton: Skeleton, q: ArrayLike) -> tuple[Array, Array]:
    """Return positions (nb, 3) [m] and rotations (nb, 3, 3) of the bones in the world."""
    frames = compute_frames(skeleton, q).values()
    return (
        np.array([frame.p_world_bone.value for frame in frames]).reshape(-1, 3),
        np.array([frame.R_world_bone.value for frame in frames]).reshape(-1, 3, 3),
    )


def _apply_function(function: CoordinateFunction, x: list[Jet], n: int) -> Jet:
    """Return the value of a function at scalar jets x, one for each coordinate it takes."""
    if isinstance(function, Constant):
        return constant(function.value, n)
    if isinstance(function, Scaled):
        return _apply_function(function.function, x, n) * function.factor
    if isinstance(function, Product):
        first, second = x
        return _apply_function(function.first, [first], n) * _apply_function(
            function.second, [second], n
        )
    (at,) = x
    if isinstance(function, Linear):
        return at * function.slope + function.intercept
    if isinstance(function, Polynomial):
        return series(function.coefficients, at)
    if isinstance(function, Sine):
        return sin(at * function.frequency + function.phase) * function.amplitude + function.offset
    if isinstance(function, CubicSpline):
        points = np.array(function.x)
        return _follow_pieces(points, _solve_pieces(points, np.array(function.y)), at)
    if isinstance(function, PiecewiseLinear):
        points, y = np.array(function.x), np.array(function.y)
        slope = np.diff(y) / np.diff(points)
        return _follow_pieces(points, np.stack([y[:-1], slope, 0 * slope, 0 * slope], 1), at)
    raise NotImplementedError(f"the oracle knows no function {function}")


def _follow_pieces(points: Array, pieces: Array, at: Jet) -> Jet:
    """Return the polynomial of the piece around `at`; beyond the ends, its tangent there."""
    x = float(at.value)
    k = int(np.clip(np.searchsorted(points, x, side="right") - 1, 0, len(pieces) - 1))
    polynomial = np.polynomial.Polynomial(pieces[k])
    inside = float(np.clip(x, points[0], points[-1])) - points[k]
    value, slope = polynomial(inside), polynomial.deriv(1)(inside)
    if x < points[0] or x > points[-1]:
        return chain(at, value + slope * (x - inside - points[k]), slope, 0.0)
    return chain(at, value, slope, polynomial.deriv(2)(inside))


def _solve_pieces(x: Array, y: Array) -> Array:
    """Return the coefficients a + b t + c t² + d t³ of each piece, from all conditions at once.

    Values at both ends of every piece; slope and second derivative continuous; the third derivative
    of the first and of the last piece that of the cubic through the four points there.
    """
    pieces, h = len(x) - 1, np.diff(x)
    rows, right = [], []

    def require(entries: dict[tuple[int, int], float], value: float) -> None:
        row = np.zeros((pieces, 4))
        for (piece, power), coefficient in entries.items():
            row[piece, power] = coefficient
        rows.append(row.reshape(-1))
        right.append(value)

    for k in range(pieces):
        require({(k, 0): 1.0}, y[k])
        require({(k, p): h[k] ** p for p in range(4)}, y[k + 1])
    for k in range(pieces - 1):
        require({(k, 1): 1.0, (k, 2): 2 * h[k], (k, 3): 3 * h[k] ** 2, (k + 1, 1): -1.0}, 0.0)
        require({(k, 2): 2.0, (k, 3): 6 * h[k], (k + 1, 2): -2.0}, 0.0)
    if pieces == 1:
        require({(0, 2): 1.0}, 0.0)
        require({(0, 3): 1.0}, 0.0)
    elif pieces == 2:
        require({(0, 3): 1.0}, 0.0)
        require({(1, 3): 1.0}, 0.0)
    else:
        for piece, four in ((0, slice(0, 4)), (pieces - 1, slice(-4, None))):
            cubic = np.linalg.solve(np.vander(x[four] - x[four][0], 4), y[four])
            require({(piece, 3): 1.0}, cubic[0])
    return np.linalg.solve(np.array(rows), np.array(right)).reshape(pieces, 4)
