"""The target turned as the source is, part by part, as far as its joints and limits allow.

A part of the target should have the anatomical frame of the source's part,

    R_world_target = R_world_source · R_source_part · R_target_partᵀ ,

which asks nothing of proportions. Trunk and legs are one problem a frame, then each arm on the
trunk as that leaves it, solved from the frame before: joints of any kind, hinges after each other
and limits need no special case. Arms come after the trunk because limits make them change over now
and then: clavicles and trunk would jump with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from exactik.anatomy import SIDES, find_stem
from exactik.goals import DirectionGoal, Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.problem import Problem
from exactik.retargeting._correspondence import BonePair
from exactik.retargeting.body import (
    BodyFigure,
    find_bones_below,
    find_limb,
    find_moving_coordinates,
    find_other_bones,
    find_root_dofs,
    find_stretching_dofs,
)
from exactik.solvers import Auto, Solver
from exactik.typing import Array, BoolArray

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
    arms = [find_bones_below(skeleton, find_limb(target, f"{side}_arm").moving) for side in SIDES]
    body = set(skeleton.bone_names) - set().union(*arms)
    turns = list(zip(pairs, rotations, strict=True))
    copies = []
    for bones in (body, *arms):
        own = [(pair, turned) for pair, turned in turns if pair.target in bones]
        places = hip_places if bones is body else None
        copies.append(PartsCopy(target, bones, own, directions, places))
    q = np.tile(target.q_rest, (len(hip_places), 1))
    for t in range(len(q)):
        for copy in copies:
            q[t] = copy.solve(t, q[t], q[t - 1] if t > 0 else None)
        if t % 64 == 63 or t == len(q) - 1:
            report_frames(t % 64 + 1)
    return q


class PartsCopy:
    """Some bones of the target, which turn as asked while all others stay as they are."""

    def __init__(
        self,
        target: BodyFigure,
        bones: set[str],
        turns: Sequence[tuple[BonePair, Array]],
        directions: Mapping[str, Array],
        hip_places: Array | None,
    ):
        skeleton, self.target = target.skeleton, target
        goals: list[Goal] = []
        self.targets: dict[str, Array] = {}
        if hip_places is not None:
            pelvis = target.bone_of("pelvis")
            goals.append(PositionGoal(pelvis, hip_places[0], target.hip_centre, name="hips"))
            self.targets["hips"] = hip_places
        for pair, turned in turns:
            stem = find_stem(pair.part)
            weight = PART_WEIGHTS.get(stem, OTHER_WEIGHT)
            if stem in LONG_PARTS:
                name, axis = f"{pair.part}.along", target.part_frames[pair.part][:, 0]
                along = directions.get(pair.part, turned @ axis)
                goals.append(DirectionGoal(pair.target, axis, along[0], name=name))
                self.targets[name], weight = along, TWIST_WEIGHT
            goals.append(OrientationGoal(pair.target, turned[0], name=pair.part, weight=weight))
            self.targets[pair.part] = turned
        rest_weight = np.where(find_root_dofs(skeleton), 0.0, REST_WEIGHT)
        goals.append(PostureGoal(target.q_rest, weight=rest_weight))
        others = find_other_bones(skeleton, bones)
        self.moves = find_moving_coordinates(skeleton, others)
        lock = [*others, *find_stretching_dofs(skeleton)]
        self.solver = Solver(Problem(skeleton, goals, lock=lock), solver=COPY_METHOD)
        self.restarts = find_restarts([turned for _, turned in turns])

    def solve(self, t: int, q: Array, q_before: Array | None) -> Array:
        """Return the pose q of a frame, (nq,), with these bones turned as asked."""
        now = {name: values[t] for name, values in self.targets.items()}
        solved, cost = q, np.inf
        if q_before is not None:
            solved = self.solver.solve(np.where(self.moves, q_before, q), now)
            cost = self.solver.cost
        if self.restarts[t] or cost > MISSED_COST:
            rest = _stand_at_rest(self.target, now) if "hips" in now else self.target.q_rest
            found = self.solver.solve(np.where(self.moves, rest, q), now)
            if self.solver.cost < BETTER_COST_RATIO * cost:
                return found
        return solved


def find_restarts(rotations: Sequence[Array]) -> BoolArray:
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
    pre, post = root.constant_rotations
    rotation = pre.T @ turn @ pose.rotations[0] @ post.T
    q[: root.joint.nq] = root.joint.coordinates_for(pre.T @ (place - root.offset), rotation)
    return q
