"""Which bone's origin is the centre of a joint that is several hinges after each other.

Hinges of a hip or wrist need not meet in a point. The centre is the origin that stays where it is
while all joints turn, which a few poses around the rest pose show.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from exactik.anatomy._bone_tree import SAME_PLACE
from exactik.model import Pose, Skeleton
from exactik.typing import Array

SAMPLED_POSES = 16  # to see which origin stays; more change nothing
SAMPLED_TURN = 0.5  # [rad] of the dofs from rest in these, so that 1 cm beside an axis shows
CENTRE_TOLERANCE = 0.003
"""Share of a stretch's length by which it may vary (standard deviation) for its end to be a joint
centre: a forearm that ends at the second of two hinges, 4 cm apart, varies by 0.009 of itself."""


class JointCentres:
    """Finds the centres of joints of one skeleton."""

    def __init__(self, skeleton: Skeleton, q_rest: Array):
        self.skeleton, self.q_rest = skeleton, q_rest

    @cached_property
    def pose(self) -> Pose:
        """The rest pose and others around it in which all joints are turned, shifts none."""
        skeleton = self.skeleton
        steps = np.random.default_rng(0).uniform(-1.0, 1.0, (SAMPLED_POSES, skeleton.nv))
        steps[0] = 0.0
        q = skeleton.integrate(self.q_rest, SAMPLED_TURN * steps * skeleton.turns)
        return skeleton.forward(skeleton.clip(q))

    def find_inner_centre(self, body: int, group: list[int], next_joint: int) -> int:
        """Return the bone of a hip or shoulder that stays both in the body and from the next."""
        if len(group) == 1:
            return group[0]
        R_world_body, p_world_body = self.pose.rotations[:, body], self.pose.positions[:, body]

        def measure_spread(k: int) -> float:
            seen = np.einsum("nji,nj->ni", R_world_body, self.pose.positions[:, k] - p_world_body)
            return float(np.linalg.norm(seen.std(axis=0)) + self._distances(next_joint, k).std())

        room = SAME_PLACE * self._distances(next_joint, body)[0]
        beside = [k for k in group if self._distances(k, body)[0] > room]
        return min(beside or group, key=measure_spread)

    def find_outer_centre(self, joint: int, group: list[int]) -> int:
        """Return the last bone of a wrist or ankle that keeps its distance from the joint above."""
        if len(group) == 1:
            return group[0]
        steady = []
        for k in group:
            distances = self._distances(k, joint)
            if distances.std() <= CENTRE_TOLERANCE * distances.mean():
                steady.append(k)
        return steady[-1] if len(steady) > 0 else group[0]

    def _distances(self, a: int, b: int) -> Array:
        """Return how far two bones are apart [m], (SAMPLED_POSES,); the first pose is the rest."""
        return np.linalg.norm(self.pose.positions[:, a] - self.pose.positions[:, b], axis=1)
