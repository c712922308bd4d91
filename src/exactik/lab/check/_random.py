"""Random skeletons and configurations: every joint type, awkward places included."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exactik.model import EULER_ORDERS, Bone, Joint, Skeleton
from exactik.spatial import matrix_from_wxyz
from exactik.typing import Array

Rng = np.random.Generator

_SUBSETS = ("X", "Y", "Z", "XY", "XZ", "YX", "YZ", "ZX", "ZY")


def random_rotation(rng: Rng) -> Array:
    """Return a rotation matrix, uniform over all."""
    return matrix_from_wxyz(rng.normal(size=4))


def _draw_unit_vector(rng: Rng) -> Array:
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def _draw_limits(rng: Rng, n: int) -> list[tuple[float, float]] | None:
    """Return limits on some dofs, on one side or both, or none at all."""
    if rng.random() < 0.5:
        return None
    pairs = []
    for _ in range(n):
        low, high = -rng.uniform(0.1, 2.0), rng.uniform(0.1, 2.0)
        pairs.append(
            (
                low if rng.random() < 0.6 else -np.inf,
                high if rng.random() < 0.6 else np.inf,
            )
        )
    return pairs


def _draw_axis(rng: Rng) -> str | Array:
    return str(rng.choice(list("xyz"))) if rng.random() < 0.5 else _draw_unit_vector(rng)


def _draw_euler_joint(rng: Rng) -> Joint:
    order = str(rng.choice(EULER_ORDERS if rng.random() < 0.75 else _SUBSETS))
    return Joint.euler(order, limits=_draw_limits(rng, len(order)))


_ROTATIONS: tuple[Callable[[Rng], Joint], ...] = (
    lambda rng: Joint.revolute(_draw_axis(rng), limits=_draw_limits(rng, 1)),
    _draw_euler_joint,
    lambda rng: Joint.exp_map(limits=_draw_limits(rng, 3)),
    lambda rng: Joint.swing_twist(str(rng.choice(list("xyz"))), limits=_draw_limits(rng, 3)),
    lambda rng: Joint.quaternion(),
)


def _draw_free_joint(rng: Rng) -> Joint:
    return Joint.free(_ROTATIONS[rng.integers(len(_ROTATIONS))](rng), limits=_draw_limits(rng, 3))


_JOINTS: tuple[Callable[[Rng], Joint], ...] = (
    *_ROTATIONS,
    _draw_euler_joint,
    lambda rng: Joint.prismatic(_draw_axis(rng), limits=_draw_limits(rng, 1)),
    lambda rng: Joint.translation(limits=_draw_limits(rng, 3)),
    lambda rng: Joint.fixed(),
)


def random_skeleton(rng: Rng, name: str = "random") -> Skeleton:
    """Return a tree of 4–15 bones with mixed joints, rotations before and after them, and markers.

    The first bone is a moving root, a fixed one, or hangs on any joint; now and then a second root
    stands beside it and a free joint sits inside the tree.
    """
    bones = []
    for k in range(int(rng.integers(4, 16))):
        root = k == 0 or rng.random() < 0.04
        if k == 0:
            kind = rng.random()
            joint = _draw_free_joint(rng) if kind < 0.6 else Joint.fixed()
            joint = _JOINTS[rng.integers(len(_JOINTS))](rng) if kind > 0.8 else joint
        elif rng.random() < 0.03:
            joint = _draw_free_joint(rng)
        else:
            joint = _JOINTS[rng.integers(len(_JOINTS))](rng)
        # Half of the bones continue the newest one, so that chains grow long as well as bushy.
        parent = k - 1 if rng.random() < 0.5 else int(rng.integers(0, max(k, 1)))
        bones.append(
            Bone(
                f"b{k}",
                parent=None if root else f"b{parent}",
                offset=rng.normal(scale=0.3, size=3),
                pre=random_rotation(rng) if rng.random() < 0.6 else None,
                joint=joint,
                post=random_rotation(rng) if rng.random() < 0.6 else None,
            )
        )
    if all(bone.joint.nv == 0 for bone in bones):
        bones.append(Bone("hinge", parent="b0", joint=Joint.revolute()))
    markers = {
        f"M{m}": (bones[rng.integers(len(bones))].name, rng.normal(scale=0.2, size=3))
        for m in range(int(rng.integers(2, 10)))
    }
    return Skeleton.build(name, bones, markers)


def random_angle(rng: Rng) -> float:
    """Return the length of a rotation vector: anything up to 3 rad, and often a special place."""
    special = (0.0, 1e-9, 1e-5, 1e-3, 0.1, np.pi - 1e-3, np.pi - 1e-7, np.pi, 4.5, 6.0)
    if rng.random() < 0.35:
        return float(special[rng.integers(len(special))])
    return float(rng.uniform(0.0, 3.0))


def _draw_shifts(rng: Rng, joint: Joint) -> Array:
    return rng.normal(scale=0.5, size=joint.nq)


def _draw_angles(rng: Rng, joint: Joint) -> Array:
    return rng.uniform(-np.pi, np.pi, size=joint.nq) * (2.0 if rng.random() < 0.1 else 1.0)


def _draw_euler_angles(rng: Rng, joint: Joint) -> Array:
    angles = _draw_angles(rng, joint)
    if joint.nq == 3 and rng.random() < 0.1:
        angles[1] = 0.0 if joint.order[0] == joint.order[2] else 0.5 * np.pi  # gimbal lock
    return angles


def _draw_rotation_vector(rng: Rng, joint: Joint) -> Array:
    return random_angle(rng) * _draw_unit_vector(rng)


def _draw_swing_and_twist(rng: Rng, joint: Joint) -> Array:
    heading = rng.uniform(-np.pi, np.pi)
    swing = random_angle(rng) * np.array([np.cos(heading), np.sin(heading)])
    return np.append(swing, rng.uniform(-np.pi, np.pi))


def _draw_unit_quaternion(rng: Rng, joint: Joint) -> Array:
    wxyz = rng.normal(size=4)
    return wxyz / np.linalg.norm(wxyz)


def _draw_shifts_and_rotation(rng: Rng, joint: Joint) -> Array:
    return np.concatenate([rng.normal(size=3), _draw_joint_coordinates(rng, joint.rotation_part)])


_COORDINATES: dict[str, Callable[[Rng, Joint], Array]] = {
    "fixed": _draw_angles,  # no coordinates, but it draws as for a hinge: seeds keep their trees
    "revolute": _draw_angles,
    "prismatic": _draw_shifts,
    "translation": _draw_shifts,
    "euler": _draw_euler_angles,
    "exp_map": _draw_rotation_vector,
    "swing_twist": _draw_swing_and_twist,
    "quaternion": _draw_unit_quaternion,
    "free": _draw_shifts_and_rotation,
    "screw": _draw_angles,
    "custom": _draw_angles,
}


def _draw_joint_coordinates(rng: Rng, joint: Joint) -> Array:
    return _COORDINATES[joint.kind](rng, joint)


def random_coordinates(rng: Rng, skeleton: Skeleton) -> Array:
    """Return q, (nq,), far from zero and partly outside the limits."""
    driven = {coupling.driven for coupling in skeleton.couplings}
    parts = []
    for bone in skeleton.bones:
        part, names = _draw_joint_coordinates(rng, bone.joint), bone.joint.dof_names
        kept = [f"{bone.name}.{name}" not in driven for name in names]
        parts.append(part[kept] if not all(kept) else part)
    return np.concatenate(parts)
