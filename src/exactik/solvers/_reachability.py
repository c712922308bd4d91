"""Proof that a place is out of reach: how far a point can get from where its chain starts.

From the last joint centre c on the way to the bone that nothing can move, the point is no farther
than the sum of the distances between the joint centres after it; sliders add their longest throw.
Two links in a row are no longer than what the joint between them allows: with a hinge,

    |a + R(θ) b|² = |a|² + |b|² + 2 (a·n)(b·n) + 2 |a⊥||b⊥| cos(θ − θ₀)

so that taking links by ones or twos, whichever way gives the smallest sum, tightens the bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from exactik.model import Bone, Skeleton
from exactik.problem import Problem
from exactik.typing import Array


class ReachBound(NamedTuple):
    """A ball that a point cannot leave."""

    centre: Array  # in the world [m], (3,)
    radius: float  # [m]; infinite where nothing is proven
    moves: bool  # whether any free dof moves the point; if not, the ball is the point itself


def bound_reach(problem: Problem, bone: str, point: Array, q: Array) -> ReachBound:
    """Return where a point of a bone can be.

    Args:
        problem: its locks and limits count.
        bone: name of the bone.
        point: in the bone's frame [m], (3,).
        q: any configuration, (nq,): locked dofs are taken where they are.
    """
    skeleton = problem.skeleton
    path = skeleton.find_ancestors(bone)[::-1]
    moving = [k for k in path if _joint_moves(problem, k)]
    if len(moving) == 0:
        return ReachBound(skeleton.forward(q).point(bone, point), 0.0, moves=False)
    first = moving[0]
    links = [np.asarray(skeleton.bones[k].offset) for k in path[path.index(first) + 1 :]]
    links.append(point)
    joints = path[path.index(first) :]
    slides = sum(_bound_slides(problem, k, q) for k in joints)
    radius = math.inf
    if math.isfinite(slides):
        radius = _bound_links(problem, joints, links, q) + slides
    return ReachBound(_locate_joint(skeleton, first, q), radius, moves=True)


def bone_moves(problem: Problem, bone: str, other: str | None = None) -> bool:
    """Return whether a free dof moves or turns the bone, against another one if one is given."""
    skeleton = problem.skeleton
    joints = set(skeleton.find_ancestors(bone))
    if other is not None:
        joints ^= set(skeleton.find_ancestors(other))
    return any(_joint_moves(problem, k) for k in joints)


def _joint_moves(problem: Problem, k: int) -> bool:
    """Return whether a dof of the bone's joint is free, or follows one that is."""
    skeleton = problem.skeleton
    if not problem.locked[_joint_dofs(skeleton, k)].all():
        return True
    if not _has_driven_dofs(skeleton, k):
        return False
    bone = skeleton.bones[k]
    drivers = {coupling.driven: coupling.driver for coupling in skeleton.couplings}
    for dof in (f"{bone.name}.{name}" for name in bone.joint.dof_names):
        driver: str | None = dof
        while driver in drivers:
            driver = drivers[driver]
        if driver is not None and not problem.locked[skeleton.dof_names.index(driver)]:
            return True
    return False


def _joint_dofs(skeleton: Skeleton, k: int) -> slice:
    tree = skeleton.tree
    return slice(int(tree.first_v[k + 1]), int(tree.first_v[k + 2]))


def _has_driven_dofs(skeleton: Skeleton, k: int) -> bool:
    """Whether dofs of a joint follow others."""
    dofs = _joint_dofs(skeleton, k)
    return dofs.stop - dofs.start < skeleton.bones[k].joint.nv


def _bound_slides(problem: Problem, k: int, q: Array) -> float:
    """Return how far [m] the joint's slides can take the bone from its joint centre."""
    skeleton = problem.skeleton
    joint = skeleton.bones[k].joint
    if joint.translates and (_has_driven_dofs(skeleton, k) or len(joint.shift_axes) == 0):
        return math.inf  # by a function: its bounds are not those of a dof
    count = int(skeleton.tree.shift_count[k + 1])
    dofs = np.arange(count) + _joint_dofs(skeleton, k).start
    now = q[skeleton.plain_q[dofs]]
    low = np.where(problem.locked[dofs], now, problem.lower[dofs])
    high = np.where(problem.locked[dofs], now, problem.upper[dofs])
    return float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high)))) if count > 0 else 0.0


def _locate_joint(skeleton: Skeleton, k: int, q: Array) -> Array:
    """Return the joint centre of a bone in the world [m]; its parent does not move."""
    offset, parent = np.asarray(skeleton.bones[k].offset, float), int(skeleton.parents[k])
    if parent < 0:
        return offset
    pose = skeleton.forward(q)
    return pose.positions[parent] + pose.rotations[parent] @ offset


def _bound_links(problem: Problem, joints: list[int], links: list[Array], q: Array) -> float:
    """Return a bound on the length [m] of the links; link i follows joint i."""
    best = [0.0]
    for i, link in enumerate(links):
        total = best[i] + float(np.linalg.norm(link))
        if i > 0:
            bone = problem.skeleton.bones[joints[i]]
            limits = _find_first_dof_range(problem, joints[i], q)
            total = min(total, best[i - 1] + _bound_two_links(bone, links[i - 1], link, *limits))
        best.append(total)
    return best[-1]


def _find_first_dof_range(problem: Problem, k: int, q: Array) -> tuple[float, float]:
    """Return how far the first dof of a joint can go; a locked one stays where it is."""
    dof = _joint_dofs(problem.skeleton, k).start
    skeleton = problem.skeleton
    if dof >= skeleton.nv or skeleton.plain_q[dof] < 0 or _has_driven_dofs(skeleton, k):
        return -np.inf, np.inf
    if problem.locked[dof]:
        angle = float(q[problem.skeleton.plain_q[dof]])
        return angle, angle
    return float(problem.lower[dof]), float(problem.upper[dof])


def _bound_two_links(bone: Bone, before: Array, after: Array, low: float, high: float) -> float:
    """Return the greatest length of a link, a joint and a link after it, slides left out."""
    plain = float(np.linalg.norm(before) + np.linalg.norm(after))
    pre, post = bone.constant_rotations
    a, b = pre.T @ before, post @ after  # both in the axes between `pre` and the joint
    if bone.joint.kind in ("fixed", "prismatic"):  # the throw of a slide is counted apart
        return float(np.linalg.norm(a + b))
    if bone.joint.kind != "revolute":
        return plain
    n = np.asarray(bone.joint.axis, float)
    a1, b1 = float(a @ n), float(b @ n)
    a2, b2 = a - a1 * n, b - b1 * n
    across = float(np.linalg.norm(a2) * np.linalg.norm(b2))
    # Angle from b⊥ to a⊥ about n: there the two are in line.
    best = math.atan2(float(n @ np.cross(b2, a2)), float(b2 @ a2))
    turns = math.ceil((low - best) / (2.0 * math.pi)) if math.isfinite(low) else 0
    inside = not math.isfinite(low) or best + 2.0 * math.pi * turns <= high
    cosine = 1.0 if inside else max(math.cos(low - best), math.cos(high - best))
    square = float(a @ a + b @ b) + 2.0 * a1 * b1 + 2.0 * across * cosine
    return math.sqrt(max(square, 0.0))
