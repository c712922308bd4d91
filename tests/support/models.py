"""Small skeletons with known properties, and random ones of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from hypothesis import strategies as st

from benchmarks.support.models import bushy_tree, serial_chain
from exactik.model import EULER_ORDERS, Bone, Joint, Skeleton
from exactik.spatial import matrix_from_wxyz
from exactik.typing import Array

__all__ = [
    "EVERY_JOINT",
    "INNER_JOINTS",
    "ROOT_JOINTS",
    "bushy_tree",
    "chain_of",
    "configuration",
    "exp_map_arm",
    "gantry",
    "planar_arm",
    "random_rotation",
    "recipe_tree",
    "serial_chain",
    "skeletons",
]


# One of each kind; every Euler order, and orders of one and two axes.
INNER_JOINTS: dict[str, Joint] = {
    "fixed": Joint.fixed(),
    "revolute y": Joint.revolute("y"),
    "revolute oblique": Joint.revolute((0.6, 0.0, -0.8)),
    "prismatic x": Joint.prismatic("x"),
    "prismatic oblique": Joint.prismatic((0.0, 0.6, 0.8)),
    "translation": Joint.translation(),
    **{f"euler {order}": Joint.euler(order) for order in (*EULER_ORDERS, "X", "XZ", "ZY")},
    "exp_map": Joint.exp_map(),
    **{f"swing_twist {axis}": Joint.swing_twist(axis) for axis in "xyz"},
    "quaternion": Joint.quaternion(),
}
ROOT_JOINTS: dict[str, Joint] = {
    "fixed": Joint.fixed(),
    **{
        f"free {rotation}": Joint.free(rotation)
        for rotation in ("quaternion", "exp_map", "swing_twist", "ZYX", "XZX")
    },
}
EVERY_JOINT: dict[str, Joint] = {
    **INNER_JOINTS,
    **ROOT_JOINTS,
    "free revolute": Joint.free(Joint.revolute((0.0, 0.6, 0.8))),
    "free euler XZ": Joint.free("XZ"),
}


def planar_arm(upper: float = 0.4, lower: float = 0.3) -> Skeleton:
    """Two links in the plane z = 0, hinges about z, the hand at the end."""
    return Skeleton.build(
        "planar arm",
        [
            Bone("upper", joint=Joint.revolute("z")),
            Bone("lower", parent="upper", offset=(upper, 0, 0), joint=Joint.revolute("z")),
        ],
        {"HAND": ("lower", (lower, 0, 0))},
    )


def gantry() -> Skeleton:
    """Three sliders along x, y, z, one on the other."""
    return Skeleton.build(
        "gantry",
        [
            Bone("bridge", joint=Joint.prismatic("x", limits=(0, 2))),
            Bone("trolley", parent="bridge", joint=Joint.prismatic("y", limits=(-1, 1))),
            Bone("hoist", parent="trolley", joint=Joint.prismatic("z", limits=(-3, 0))),
        ],
        {"HOOK": ("hoist", (0, 0, -0.1))},
    )


def exp_map_arm() -> Skeleton:
    """A shoulder and a wrist as exponential maps, a hinge between them."""
    return Skeleton.build(
        "exponential-map arm",
        [
            Bone("upper", joint=Joint.exp_map()),
            Bone("lower", parent="upper", offset=(0.3, 0, 0), joint=Joint.revolute("y")),
            Bone("hand", parent="lower", offset=(0.25, 0, 0), joint=Joint.exp_map()),
        ],
        {"FINGER": ("hand", (0.15, 0.02, 0))},
    )


@cache
def recipe_tree() -> Skeleton:
    """The tree of the Jacobian recipe: floating root, 8 spherical joints, 6 end sites, 30 dofs."""
    joints = [
        Bone("trunk", offset=(0, 0, 1), joint=Joint.free("ZYX")),
        *(
            Bone(name, parent=parent, offset=offset, joint=Joint.euler("ZYX"))
            for name, parent, offset in [
                ("fork", "trunk", (0.0, 0.1, 0.5)),
                ("left", "fork", (0.1, 0.3, 0.2)),
                ("right", "fork", (0.1, -0.3, 0.2)),
                ("left_twig", "left", (0.0, 0.3, 0.3)),
                ("right_twig", "right", (0.0, -0.2, 0.3)),
                ("top", "fork", (-0.1, 0.0, 0.6)),
                ("crown", "top", (0.0, 0.1, 0.4)),
                ("low", "trunk", (0.3, 0.0, 0.2)),
            ]
        ),
    ]
    sites = [
        Bone(f"{parent}_end{k}", parent=parent, offset=offset)
        for k, (parent, offset) in enumerate(
            [
                ("left_twig", (0.1, 0.2, 0.2)),
                ("left", (-0.1, 0.2, 0.0)),
                ("right_twig", (0.0, -0.2, 0.1)),
                ("crown", (0.1, 0.0, 0.2)),
                ("crown", (-0.1, 0.0, 0.2)),
                ("low", (0.2, 0.1, 0.0)),
            ]
        )
    ]
    return Skeleton.build("recipe tree", [*joints, *sites])


def random_rotation(rng: np.random.Generator) -> Array:
    return matrix_from_wxyz(rng.normal(size=4))


def chain_of(joints: Sequence[Joint], seed: int = 0) -> Skeleton:
    """A chain b0, b1, … of these joints, with rotations before and after each."""
    rng = np.random.default_rng(seed)
    bones = [
        Bone(
            f"b{k}",
            parent=f"b{k - 1}" if k > 0 else None,
            offset=rng.normal(scale=0.3, size=3),
            pre=random_rotation(rng),
            joint=joint,
            post=random_rotation(rng),
        )
        for k, joint in enumerate(joints)
    ]
    return Skeleton.build("chain", bones, {"TIP": (bones[-1].name, rng.normal(size=3))})


def configuration(skeleton: Skeleton, seed: int = 0) -> Array:
    """Coordinates well away from zero: angles up to 3 rad, shifts about 1 m, any quaternion."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-3.0, 3.0, size=skeleton.nq)
    for k, bone in enumerate(skeleton.bones, start=1):
        at = int(skeleton.tree.first_q[k])
        q[at : at + int(skeleton.tree.shift_count[k])] = rng.normal(
            size=int(skeleton.tree.shift_count[k])
        )
        turning = slice(at + int(skeleton.tree.shift_count[k]), at + bone.joint.nq)
        if bone.joint.rotation_part.kind in ("exp_map", "swing_twist"):
            q[turning] *= 0.6  # rotation vectors below π
        elif bone.joint.rotation_part.kind == "quaternion":
            wxyz = rng.normal(size=4)
            q[turning] = wxyz / np.linalg.norm(wxyz)
    return q


@st.composite
def skeletons(
    draw: st.DrawFn,
    joints: Sequence[str] = tuple(INNER_JOINTS),
    roots: Sequence[str] = tuple(ROOT_JOINTS),
    max_bones: int = 7,
) -> Skeleton:
    """Trees with these kinds of joints, offsets and rotations anywhere, two or more markers."""
    count = draw(st.integers(2, max_bones))
    parents = [draw(st.integers(0, k - 1)) for k in range(1, count)]
    chosen = [EVERY_JOINT[draw(st.sampled_from(roots))]]
    chosen += [EVERY_JOINT[draw(st.sampled_from(joints))] for _ in parents]
    plain = draw(st.booleans())  # frames parallel to their parents'
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bones = [
        Bone(
            f"b{k}",
            parent=f"b{parents[k - 1]}" if k > 0 else None,
            offset=rng.normal(scale=0.3, size=3),
            pre=None if plain else random_rotation(rng),
            joint=joint,
            post=None if plain else random_rotation(rng),
        )
        for k, joint in enumerate(chosen)
    ]
    markers = {
        f"M{m}": (f"b{draw(st.integers(0, count - 1))}", rng.normal(scale=0.2, size=3))
        for m in range(draw(st.integers(2, 4)))
    }
    return Skeleton.build("drawn", bones, markers)
