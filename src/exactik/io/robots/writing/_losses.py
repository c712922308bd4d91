"""What a URDF file does not keep of the skeleton that was written to it."""

from __future__ import annotations

import numpy as np

from exactik._text import count_noun, join_names
from exactik.io.robots import JointPlace, read_robot
from exactik.io.robots.writing._axes import is_ball
from exactik.io.robots.writing._tree import UrdfTree, compute_joint_values, make_urdf_tree
from exactik.model import Skeleton
from exactik.typing import Array

__all__ = ["find_urdf_losses"]

POSES = 100  # random ones in which places are compared, for a figure that is told to two digits
SPAN = 1.0  # rad or m about the neutral pose that they take where a dof has no limit
MAX_NAMES = 3  # in a sentence


def find_urdf_losses(old: Skeleton, new: Skeleton, path: str) -> list[str]:
    """Return what was lost, a sentence each.

    Args:
        old: what was written.
        new: what was read from the file.
        path: the file.
    """
    tree, lost = make_urdf_tree(old), []
    kept = [name for name in old.markers if name in new.bone_names]
    extra = [bone for bone in new.bone_names if bone not in (*old.bone_names, *kept)]
    if len(extra) > 0:
        count = count_noun(len(extra), "bone")
        lost.append(f"the number of bones: URDF needs {count} more, {_quote(extra)}")
    balls = [b.name for b in old.bones if is_ball(b.joint) and b.joint.kind != "free"]
    if len(balls) > 0:
        count = count_noun(len(balls), "ball joint")
        lost.append(f"the coordinates of {count}, {_quote(balls)}: they become three hinges each")
    held = [d for d in old.dof_names if d not in tree.carriers and not _is_of_ball(old, d)]
    if len(held) > 0:
        count = count_noun(len(held), "dof")
        lost.append(f"{count}, held: they move nothing on a line, {_quote(held)}")
    if tree.curves > 0:
        count = count_noun(tree.curves, "motion")
        off = _find_distance(old, new, tree, read_robot(path, None, floating=False).joints)
        text = f"curves of {count} that follow coordinates: URDF has lines"
        lost.append(f"{text}, and bones are up to {off:.2g} m from their places")
    limited = [
        dof
        for dof, low, high in zip(old.dof_names, old.lower, old.upper, strict=True)
        if np.isfinite([low, high]).any()
    ]
    unkept = [dof for dof in limited if dof not in tree.carriers]
    if len(unkept) > 0:
        which = f"{len(unkept)} of {len(limited)}" if len(unkept) < len(limited) else "all"
        lost.append(f"limits of {count_noun(len(unkept), 'dof')}, {which} that had some")
    for markers, what in (
        (kept, "as markers: they become bones that do not move"),
        ([name for name in old.markers if name not in kept], "of the skeleton"),
    ):
        if len(markers) > 0:
            lost.append(f"{count_noun(len(markers), 'marker')} {what}, {_quote(markers)}")
    return lost


def _find_distance(
    old: Skeleton, new: Skeleton, tree: UrdfTree, joints: dict[str, JointPlace]
) -> float:
    """Return how far bones are from their places [m], the most over random poses."""
    rng = np.random.default_rng(0)
    neutral = old.neutral()
    plain = old.plain_q >= 0
    low = np.maximum(old.lower[plain], neutral[old.plain_q[plain]] - SPAN)
    high = np.minimum(old.upper[plain], neutral[old.plain_q[plain]] + SPAN)
    index = [new.bone_index(bone) for bone in old.bone_names]
    worst = 0.0
    for _ in range(POSES):
        q = neutral.copy()
        q[old.plain_q[plain]] = rng.uniform(low, high)
        there = new.forward(_place_values(new, compute_joint_values(tree, old, q), joints))
        apart = old.forward(q).positions - there.positions[index]
        worst = max(worst, float(np.linalg.norm(apart, axis=-1).max()))
    return worst


def _place_values(
    skeleton: Skeleton, values: dict[str, Array], joints: dict[str, JointPlace]
) -> Array:
    q = skeleton.neutral()
    for name, value in values.items():
        place = joints[name]
        q[place.q : place.q + place.nq] = value
    return q


def _is_of_ball(skeleton: Skeleton, dof: str) -> bool:
    bone = skeleton.bones[skeleton.dof_bones[skeleton.dof_names.index(dof)]]
    return is_ball(bone.joint)


def _quote(names: list[str]) -> str:
    return join_names([repr(name) for name in names], MAX_NAMES, last=", ", rest=", …")
