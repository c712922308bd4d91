"""The target turned as the source is, part by part, as far as its joints and limits allow.

A part of the target should have the anatomical frame of the source's part,

    R_world_target = R_world_source · R_source_part · R_target_partᵀ ,

which asks nothing of proportions. All parts together are one problem a frame, solved from the frame
before: joints of any kind, hinges after each other and limits need no special case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from exactik.goals import DirectionGoal, Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.retargeting._correspondence import BonePair
from exactik.retargeting._figure import BodyFigure
from exactik.solvers import Auto, Solver
from exactik.typing import Array, BoolArray

__all__ = ["compute_part_rotations", "copy_orientations", "find_root_dofs", "find_stretching_dofs"]

PART_WEIGHTS = {
    "pelvis": 4.0,
    "chest": 2.0,
    "head": 1.0,
    "clavicle": 1.0,
    "foot": 0.5,
    "spine": 0.3,
    "neck": 0.3,
    "toes": 0.1,
    "hand": 0.1,
}
OTHER_WEIGHT = 0.05
"""Of fingers and the like. Weights of how a part is turned, that of a limb's direction being 1:
where limits allow not all, the trunk goes first; bones between two that are asked for go where
these leave them; a hand does not take the arm with it."""
LONG_PARTS = ("upper_arm", "forearm", "thigh", "shin")
TWIST_WEIGHT = 0.1
"""Of the whole turn of a long part whose direction weighs 1: where a limb points matters more than
how it is twisted, which rigs do not agree on and limits often forbid."""
REST_WEIGHT = 1e-4
"""Of the rest pose, where a part's turn weighs 1: settles what no part asks for, and moves others
by less than a hundredth of a degree for each degree from rest."""
RESTART_STEP = 0.3
"""[rad] that a part of the source turns from one frame to the next for the target to be tried from
rest as well: files begin with a T-pose, and takes are cut together. Slower turns are followed."""
MISSED_COST = 0.02
"""Of a frame, above which it is tried from rest as well: a limb that points 11° aside, which a
limit makes it do. Other poses may then do better."""
BETTER_COST_RATIO = 0.5
"""Of the cost, below which a pose from rest is taken: to change over is not worth little."""
COPY_METHOD = Auto(metric="dof", tolerance=1e-7, detour=False, escape=False)


def compute_part_rotations(
    source: BodyFigure, target: BodyFigure, pair: BonePair, rotations: Array
) -> Array:
    """Return how a bone of the target should be turned in the world, (T, 3, 3).

    Args:
        source: the body that moves.
        target: the body that takes over.
        pair: which bone takes over which.
        rotations: R_world_bone of the source, (T, n_bones, 3, 3).
    """
    R_world_source = rotations[:, source.skeleton.bone_index(pair.source)]
    R_source_part = source.part_frames[pair.source_part]
    return R_world_source @ R_source_part @ target.part_frames[pair.part].T


def copy_orientations(
    target: BodyFigure,
    pairs: Sequence[BonePair],
    rotations: Sequence[Array],
    directions: Mapping[str, Array],
    hip_places: Array,
    report_frames: Callable[[int], None],
) -> Array:
    """Return poses of the target, (T, nq), turned as asked, its hips at their places.

    Args:
        target: the body that takes over.
        pairs: which bone takes over which.
        rotations: how the bone of each pair should be turned in the world, (T, 3, 3) each.
        directions: part → where it should point, if elsewhere than its rotation says, (T, 3).
        hip_places: of the middle of the hips [m, world], (T, 3).
        report_frames: is called with the number of frames done since its last call.
    """
    skeleton = target.skeleton
    hips = PositionGoal(target.bone_of("pelvis"), hip_places[0], target.hip_centre, name="hips")
    goals: list[Goal] = [hips]
    targets = {"hips": hip_places}
    for pair, turned in zip(pairs, rotations, strict=True):
        stem = _find_stem(pair.part)
        weight = PART_WEIGHTS.get(stem, OTHER_WEIGHT)
        if stem in LONG_PARTS:
            name, axis = f"{pair.part}.along", target.part_frames[pair.part][:, 0]
            targets[name] = directions.get(pair.part, turned @ axis)
            goals.append(DirectionGoal(pair.target, axis, targets[name][0], name=name))
            weight = TWIST_WEIGHT
        goals.append(OrientationGoal(pair.target, turned[0], name=pair.part, weight=weight))
        targets[pair.part] = turned
    rest_weight = np.where(find_root_dofs(skeleton), 0.0, REST_WEIGHT)
    goals.append(PostureGoal(target.q_rest, weight=rest_weight))
    problem = Problem(skeleton, goals, lock=find_stretching_dofs(skeleton))
    q = np.empty((len(hip_places), skeleton.nq))
    restarts = _find_restarts(rotations)
    solver = Solver(problem, solver=COPY_METHOD)
    for t in range(len(q)):
        now = {name: values[t] for name, values in targets.items()}
        cost = np.inf
        if t > 0:
            q[t], cost = solver.solve(q[t - 1], now), solver.cost
        if restarts[t] or cost > MISSED_COST:
            found = solver.solve(_stand_at_rest(target, now), now)
            if solver.cost < BETTER_COST_RATIO * cost:
                q[t] = found
        if t % 64 == 63 or t == len(q) - 1:
            report_frames(t % 64 + 1)
    return q


def _find_restarts(rotations: Sequence[Array]) -> BoolArray:
    """Return the frames that do not follow from the one before, (T,): the first, and cuts."""
    restarts = np.zeros(len(rotations[0]), dtype=bool)
    restarts[0] = True
    for turned in rotations:
        step = np.swapaxes(turned[:-1], 1, 2) @ turned[1:]
        cosine = 0.5 * (np.trace(step, axis1=1, axis2=2) - 1.0)
        restarts[1:] |= cosine < np.cos(RESTART_STEP)
    return restarts


def _stand_at_rest(target: BodyFigure, targets: dict[str, Array]) -> Array:
    """Return the rest pose, (nq,), turned and shifted as a whole to where the pelvis should be."""
    skeleton, q = target.skeleton, target.q_rest.copy()
    root, pose = skeleton.bones[0], skeleton.forward(q)
    pelvis = target.index_of("pelvis")
    turn = targets["pelvis"] @ pose.rotations[pelvis].T
    middle = pose.positions[pelvis] + pose.rotations[pelvis] @ target.hip_centre
    place = targets["hips"] + turn @ (pose.positions[0] - middle)
    pre = np.eye(3) if root.pre is None else np.array(root.pre)
    post = np.eye(3) if root.post is None else np.array(root.post)
    rotation = pre.T @ turn @ pose.rotations[0] @ post.T
    q[: root.joint.nq] = root.joint.coordinates_for(pre.T @ (place - root.offset), rotation)
    return q


def find_root_dofs(skeleton: Skeleton) -> BoolArray:
    """Return which dofs place the whole figure, (nv,)."""
    return np.asarray(skeleton.parents[skeleton.dof_bones] < 0)


def find_stretching_dofs(skeleton: Skeleton) -> list[str]:
    """Return the names of dofs that shift bones against their parents: they stay as at rest."""
    stretching = ~skeleton.turns & ~find_root_dofs(skeleton)
    return [skeleton.dof_names[i] for i in np.flatnonzero(stretching)]


def _find_stem(part: str) -> str:
    return part.removeprefix("left_").removeprefix("right_").rstrip("_0123456789")
