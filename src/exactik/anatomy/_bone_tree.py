"""A skeleton as a body: what each bone is; and as a tree, with names and places at rest.

Hinges of a hip or wrist need not meet in a point. The centre of their joint is the origin that
stays where it is while all joints turn, which a few poses around the rest pose show.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from exactik.anatomy._names import BoneName, read_bone_name
from exactik.model import Pose, Skeleton
from exactik.typing import Array

SIDES = ("left", "right")
ARM_PARTS = ("upper_arm", "forearm", "hand")
LEG_PARTS = ("thigh", "shin", "foot")
LIMBS = ("left_arm", "right_arm", "left_leg", "right_leg")
LIMB_PARTS = {limb: ARM_PARTS if limb.endswith("arm") else LEG_PARTS for limb in LIMBS}
_PART_NAMES = {"pelvis", "spine", "chest", "neck", "head", "clavicle", "toes"}
_PART_NAMES |= {*ARM_PARTS} | {*LEG_PARTS}

CERTAIN, LIKELY, GUESSED = 1.0, 0.7, 0.4
"""Confidence of what a bone is: name and tree agree, one of the two tells, its parent does."""
SAME_PLACE = 0.05
"""Share of a limb's stretch within which two joints are one: hinges of an ankle are 2 cm apart, a
foot or a hip's distance from the middle are more than a tenth of a leg."""
SAMPLED_POSES = 16  # to see which origin stays; more change nothing
SAMPLED_TURN = 0.5  # [rad] of the dofs from rest in these, so that 1 cm beside an axis shows
CENTRE_TOLERANCE = 0.003
"""Share of a stretch's length by which it may vary (standard deviation) for its end to be a joint
centre: a forearm that ends at the second of two hinges, 4 cm apart, varies by 0.009 of itself."""


class BodyPart(NamedTuple):
    """One part of a body."""

    bone: str  # that has its orientation and carries the next part
    start: str  # whose origin is the centre of its joint

    @classmethod
    def of_bone(cls, bone: str) -> BodyPart:
        """Return a part that is one bone, which begins at its own origin."""
        return cls(bone, bone)


class BoneRole(NamedTuple):
    """What a bone is."""

    side: str  # "left", "right" or ""
    # "pelvis", "spine", "chest", "neck", "head", "clavicle", "upper_arm", "forearm", "hand",
    # "fingers", "thigh", "shin", "foot", "toes", …; "" if nothing tells
    part: str
    limb: str  # one of `LIMBS`, "trunk", "head" or ""
    confidence: float  # from 0 to 1, of side and part


NO_ROLE = BoneRole("", "", "", 0.0)


@dataclass(frozen=True, eq=False)
class Anatomy:
    """A skeleton as a body, as far as it is one."""

    skeleton: Skeleton  # the figure
    # Name of the part ("pelvis", "left_thigh", "spine_1") → its bones; those that it has
    parts: Mapping[str, BodyPart]
    # Bones that are no part but have a name of their own ("left_index_1") → the bone
    others: Mapping[str, str]
    # Limb → its bones that are named after it, from the trunk outwards
    limbs: Mapping[str, tuple[str, ...]]
    roles: tuple[BoneRole, ...]  # what each bone is, (n_bones,)

    def bone_of(self, name: str) -> str:
        """Return the bone that has the orientation of a part, or of another bone by its name."""
        part = self.parts.get(name)
        return self.others[name] if part is None else part.bone

    def start_of(self, name: str) -> int:
        """Return the index of the bone whose origin is the joint centre of a part."""
        return self.skeleton.bone_index(self.parts[name].start)

    def role_of(self, bone: str) -> BoneRole:
        """Return what a bone is."""
        return self.roles[self.skeleton.bone_index(bone)]

    def chain(self, stem: str) -> list[str]:
        """Return the parts "stem_1", "stem_2", … from below."""
        count = sum(name.startswith(f"{stem}_") for name in self.parts)
        return [f"{stem}_{k}" for k in range(1, count + 1)]

    @property
    def is_whole(self) -> bool:
        """Whether it has all parts of two arms and two legs."""
        return "pelvis" in self.parts and all(self.has_whole_limb(limb) for limb in LIMBS)

    def has_whole_limb(self, limb: str) -> bool:
        """Whether it has all parts of a limb, in a row."""
        parts = [self.parts.get(f"{limb.split('_')[0]}_{part}") for part in LIMB_PARTS[limb]]
        bones = self.limbs.get(limb, ())
        return all(part is not None and part.start in bones for part in parts)


def find_stem(name: str) -> str:
    """Return the name of a part without side and number: "hand" of "left_hand"."""
    return re.sub(r"_\d+$", "", name.removeprefix("left_").removeprefix("right_"))


def is_part_name(name: str) -> bool:
    """Whether a name is that of a part of the body, such as "left_hand" or "spine_2"."""
    return find_stem(name) in _PART_NAMES


class BoneTree:
    """One skeleton; bones are told by their index.

    Attributes:
        skeleton: the figure.
        names: what the name of each bone says.
        parents: of each bone; −1 for a root.
        positions: of the bones at rest [m, world], (n_bones, 3).
    """

    def __init__(self, skeleton: Skeleton, q_rest: Array):
        self.skeleton = skeleton
        self.names: list[BoneName] = [read_bone_name(name) for name in skeleton.bone_names]
        self.parents: list[int] = skeleton.parents.tolist()
        self.positions = skeleton.forward(q_rest).positions

    def index(self, part: BodyPart) -> int:
        """Return the index of a part's bone."""
        return self.skeleton.bone_index(part.bone)

    def is_bone(self, k: int) -> bool:
        """Whether it is no end of a chain and no dummy."""
        return not self.names[k].is_helper

    def measure_distance(self, a: int, b: int) -> float:
        """Return how far two bones are apart at rest [m]."""
        return float(np.linalg.norm(self.positions[a] - self.positions[b]))

    def find_ancestors(self, bone: int) -> list[int]:
        """Return the bone and those above it, upwards."""
        path = [bone]
        while (bone := self.parents[bone]) >= 0:
            path.append(bone)
        return path

    def find_bone_above(self, limbs: list[list[int]]) -> int:
        """Return the bone that limbs hang on: the lowest strictly above all; −1 for none."""
        above = [self.find_ancestors(limb[0])[1:] for limb in limbs if len(limb) > 0]
        return next((k for k in above[0] if all(k in other for other in above)), -1)

    def is_joined(self, a: int, b: int) -> bool:
        """Whether two bones hang on the same root."""
        return self.find_ancestors(a)[-1] == self.find_ancestors(b)[-1]

    def find_path(self, a: int, b: int) -> list[int]:
        """Return the bones from a to b, both included, over their common ancestor."""
        up, down = self.find_ancestors(a), self.find_ancestors(b)
        top = next(k for k in up if k in down)
        return [*up[: up.index(top) + 1], *reversed(down[: down.index(top)])]

    def drop_hinges(self, path: list[int]) -> list[int]:
        """Return a path without the first hinges of joints that are several at one place."""
        steps = [self.measure_distance(a, b) for a, b in pairwise(path)]
        near = SAME_PLACE * max(steps, default=0.0)
        kept = [k for n, k in enumerate(path[1:-1], 1) if steps[n] > near]
        return [path[0], *kept, *path[1:][-1:]]


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
        """Return the bone of a hip or shoulder that keeps its distance from the next joint.

        Of several the one that stays most in the body: a hinge beside the joint, as the first of
        Talos' and Atlas' arms, carries it as a clavicle does.
        """
        if len(group) == 1:
            return group[0]
        R_world_body, p_world_body = self.pose.rotations[:, body], self.pose.positions[:, body]

        def measure_spread(k: int) -> tuple[bool, float]:
            seen = np.einsum("nji,nj->ni", R_world_body, self.pose.positions[:, k] - p_world_body)
            distances = self._distances(next_joint, k)
            varies = bool(distances.std() > CENTRE_TOLERANCE * distances.mean())
            return varies, float(np.linalg.norm(seen.std(axis=0)) + distances.std())

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
