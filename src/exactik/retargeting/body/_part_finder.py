"""Parts of limbs, trunk and head, looked for in one skeleton.

Along a limb, names that are known decide; where they are not ("arm_joint_L_2"), the three joints
with the longest two stretches between them are shoulder, elbow and wrist, or hip, knee and ankle.

A part may be several bones: a hip of three hinges, a forearm in halves. Its `bone` is the last of
them, which carries the next part rigidly and has its orientation; its `start` is the one whose
origin is the joint's centre.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, pairwise

import numpy as np

from exactik._text import join_names
from exactik.errors import ModelError
from exactik.model import Pose, Skeleton
from exactik.retargeting.body._anatomy import ARM_PARTS, LEG_PARTS, BodyPart
from exactik.retargeting.body._bone_names import BoneName, read_bone_name
from exactik.typing import Array

__all__ = ["HINT", "PartFinder", "one_bone"]

SAMPLED_POSES = 16  # of a limb, to see which joint centre stays; more change nothing
SAMPLED_TURN = 0.5  # [rad] of its dofs from rest in these, so that 1 cm beside an axis shows
HINT = "mapping= (on the command line --bones) says which bones its parts are"
CENTRE_TOLERANCE = 0.003
"""Share of a stretch's length by which it may vary (standard deviation) for its end to be a joint
centre: a forearm that ends at the second of two hinges, 4 cm apart, varies by 0.009 of itself."""
SAME_PLACE = 0.05
"""Share of a limb's stretch within which two joints are one: hinges of an ankle are 2 cm apart, a
foot or a hip's distance from the middle are more than a tenth of a leg."""


def one_bone(bone: str) -> BodyPart:
    """Return a part that is one bone."""
    return BodyPart(bone, bone)


class PartFinder:
    """Looks for parts in one skeleton."""

    def __init__(self, skeleton: Skeleton, q_rest: Array):
        self.skeleton = skeleton
        self.names: list[BoneName] = [read_bone_name(name) for name in skeleton.bone_names]
        self.parents = skeleton.parents.tolist()
        pose = _sample_poses(skeleton, q_rest)
        self.positions, self.rotations = pose.positions, pose.rotations

    def index(self, part: BodyPart) -> int:
        """Return the index of a part's bone."""
        return self.skeleton.bone_index(part.bone)

    # --- the tree

    def ancestors(self, bone: int) -> list[int]:
        """Return the bone and those above it, upwards."""
        path = [bone]
        while (bone := self.parents[bone]) >= 0:
            path.append(bone)
        return path

    def find_common_bone(
        self, left: list[int], right: list[int], given: Mapping[str, BodyPart], part: str
    ) -> int:
        """Return the bone that two limbs hang on: the lowest strictly above both."""
        if part in given:
            return self.index(given[part])
        above = set(self.ancestors(right[0])[1:])
        found = next((k for k in self.ancestors(left[0])[1:] if k in above), -1)
        if found < 0:
            raise ModelError(f"limbs of {self.skeleton.name!r} hang on no common bone, its {part}")
        return found

    def path_between(self, a: int, b: int) -> list[int]:
        """Return the bones from a to b, both included, over their common ancestor."""
        up, down = self.ancestors(a), self.ancestors(b)
        top = next(k for k in up if k in down)
        return [*up[: up.index(top) + 1], *reversed(down[: down.index(top)])]

    def is_bone(self, k: int) -> bool:
        """Whether it is no end of a chain and no dummy."""
        return not self.names[k].is_helper

    def drop_hinges(self, path: list[int]) -> list[int]:
        """Return a path without the first hinges of joints that are several at one place."""
        rest = self.positions[0]
        steps = [float(np.linalg.norm(rest[b] - rest[a])) for a, b in pairwise(path)]
        near = SAME_PLACE * max(steps, default=0.0)
        kept = [k for n, k in enumerate(path[1:-1], 1) if steps[n] > near]
        return [path[0], *kept, *path[1:][-1:]]

    # --- limbs

    def find_limb(
        self,
        side: str,
        parts: tuple[str, ...],
        order: tuple[str, ...],
        given: Mapping[str, BodyPart],
    ) -> list[int]:
        """Return the path of a limb that is given, else the longest one of bones named after it."""
        if all(f"{side}_{part}" in given for part in order):
            first, _, last = (self.index(given[f"{side}_{part}"]) for part in order)
            return self.path_between(first, last)
        named = [
            k
            for k, name in enumerate(self.names)
            if name.side == side and name.part in parts and self.is_bone(k)
        ]
        if len(named) == 0:
            return []
        last = max(named, key=lambda k: sum(a in named for a in self.ancestors(k)))
        path = self.ancestors(last)
        first = max(n for n, a in enumerate(path) if a in named)
        return path[: first + 1][::-1]

    def find_leg_parts(
        self, side: str, pelvis: int, limb: list[int], given: Mapping[str, BodyPart]
    ) -> dict[str, BodyPart]:
        """Return thigh, shin, foot and toes."""
        parts = {k: self.names[k].part for k in limb}
        kinds = set(parts.values())
        if "leg" in kinds and "thigh" in kinds and "shin" not in kinds:
            parts = {k: "shin" if part == "leg" else part for k, part in parts.items()}
        groups = self._group_as_given(side, LEG_PARTS, given)
        if groups is None:
            groups = self._group(limb, parts, LEG_PARTS)
        if groups is None:
            groups = self._group_by_lengths(limb, LEG_PARTS)
        found = self._make_parts(side, pelvis, limb, groups)
        after = limb[limb.index(groups["foot"][-1]) + 1 :]
        toes = [k for k in after if parts[k] == "toes"] or after
        toes = toes or self._only_child(groups["foot"][-1])
        if len(toes) > 0:
            found[f"{side}_toes"] = one_bone(self.skeleton.bone_names[toes[0]])
        return found

    def find_arm_parts(
        self, side: str, chest: int, limb: list[int], given: Mapping[str, BodyPart]
    ) -> dict[str, BodyPart]:
        """Return clavicle, upper arm, forearm and hand."""
        parts = {k: self.names[k].part for k in limb}
        kinds = set(parts.values())
        if "arm" in kinds and "forearm" in kinds and "upper_arm" not in kinds:
            parts = {k: "upper_arm" if part == "arm" else part for k, part in parts.items()}
        has_upper = "upper_arm" in parts.values()
        shoulder = "clavicle" if has_upper else "upper_arm"
        parts = {k: shoulder if part == "shoulder" else part for k, part in parts.items()}
        groups = self._group_as_given(side, ARM_PARTS, given)
        if groups is None:
            groups = self._group(limb, parts, ARM_PARTS)
        if groups is None:
            groups = self._group_by_lengths(limb, ARM_PARTS)
        groups["upper_arm"] = self._add_hinges(limb, groups["upper_arm"], groups["forearm"][0])
        found = self._make_parts(side, chest, limb, groups)
        before = limb[: limb.index(groups["upper_arm"][0])]
        before = [k for k in self.path_between(chest, limb[0])[1:-1] if self.is_bone(k)] + before
        if len(before) > 0:
            found[f"{side}_clavicle"] = one_bone(self.skeleton.bone_names[before[-1]])
        return found

    def _add_hinges(self, limb: list[int], group: list[int], next_joint: int) -> list[int]:
        """Return the bones of an upper arm with hinges of the shoulder that have other names."""
        rest, first = self.positions[0], limb.index(group[0])
        room = SAME_PLACE * float(np.linalg.norm(rest[next_joint] - rest[group[0]]))
        while first > 0 and np.linalg.norm(rest[limb[first - 1]] - rest[group[0]]) < room:
            first -= 1
        return [*limb[first : limb.index(group[0])], *group]

    def _only_child(self, bone: int) -> list[int]:
        """Return the child of a foot whose name is not known, if it is the only one."""
        children = [k for k, parent in enumerate(self.parents) if parent == bone]
        bones = [k for k in children if self.is_bone(k)]
        return bones if len(bones) == 1 else []

    def _group_as_given(
        self, side: str, order: tuple[str, ...], given: Mapping[str, BodyPart]
    ) -> dict[str, list[int]] | None:
        """Return the bones of each part if all are given, else None."""
        if any(f"{side}_{part}" not in given for part in order):
            return None
        row = [self.index(given[f"{side}_{part}"]) for part in order]
        for above, below in pairwise(row):
            if above not in self.ancestors(below)[1:]:
                names = self.skeleton.bone_names
                raise ModelError(
                    f"{names[below]} of {self.skeleton.name!r} does not hang on {names[above]}; "
                    f"expected {join_names(order)} in a row"
                )
        return {part: [k] for part, k in zip(order, row, strict=True)}

    def _group(
        self, limb: list[int], parts: Mapping[int, str], order: tuple[str, ...]
    ) -> dict[str, list[int]] | None:
        """Return the bones of each part by their names, None if one has no name of its own."""
        groups = {part: [k for k in limb if parts[k] == part] for part in order}
        if any(len(group) == 0 for group in groups.values()):
            return None
        if "hand" in groups:
            groups["hand"] = self._drop_forearm_twist(groups["forearm"][0], groups["hand"])
        return groups

    def _drop_forearm_twist(self, elbow: int, hand: list[int]) -> list[int]:
        """Return the bones of a hand without a wrist that turns in the middle of the forearm."""
        rest = self.positions[0]
        hands = [k for k in hand if self.names[k].stem != "wrist"]
        moving = [k for k in hands if self.skeleton.bones[k].joint.nv > 0]
        if len(moving) == 0 or len(moving) == len(hand):
            return hand
        room = SAME_PLACE * float(np.linalg.norm(rest[hands[0]] - rest[elbow]))
        apart = float(np.linalg.norm(rest[hands[0]] - rest[hand[0]])) > room
        return hands if apart else hand

    def _group_by_lengths(self, limb: list[int], order: tuple[str, ...]) -> dict[str, list[int]]:
        """Return the three joints of a limb with the longest two stretches between them."""
        if len(limb) < 3:
            names = self.skeleton.bone_names
            side = self.names[limb[-1]].side
            # Rigs for animators often have feet and hands that hang on the root, as handles.
            apart = [
                f"{names[k]} hangs on {names[self.parents[k]]}, not on {names[limb[-1]]}"
                for k, name in enumerate(self.names)
                if name.side == side and name.part in order and k not in limb
                if self.parents[k] >= 0
            ]
            raise ModelError(
                f"the limb {', '.join(names[k] for k in limb)} of {self.skeleton.name!r} has too "
                f"few bones for {', '.join(order)}; {apart[0] if len(apart) > 0 else HINT}"
            )
        rest = self.positions[0]

        def stretch(joints: tuple[int, ...]) -> float:
            a, b, c = (rest[k] for k in joints)
            return min(float(np.linalg.norm(b - a)), float(np.linalg.norm(c - b)))

        # Of equals the nearest to the body: combinations come in that order.
        best = max(combinations(limb, 3), key=stretch)
        groups = {part: [k] for part, k in zip(order, best, strict=True)}
        last, room = best[-1], SAME_PLACE * stretch(best)
        after = limb[limb.index(last) + 1 :]
        groups[order[-1]] += [k for k in after if np.linalg.norm(rest[k] - rest[last]) < room]
        return groups

    def _make_parts(
        self, side: str, body: int, limb: list[int], groups: Mapping[str, list[int]]
    ) -> dict[str, BodyPart]:
        """Return the three parts of a limb, with their joint centres."""
        names, order = self.skeleton.bone_names, list(groups)
        first, second, third = (groups[part] for part in order)
        # What comes before the next part carries it.
        carriers = [self.parents[group[0]] for group in (second, third)]
        outer = self._outer_centre(second[0], third)
        inner = self._inner_centre(body, first, second[0])
        return {
            f"{side}_{order[0]}": BodyPart(names[carriers[0]], names[inner]),
            f"{side}_{order[1]}": BodyPart(names[carriers[1]], names[second[0]]),
            f"{side}_{order[2]}": BodyPart(names[third[-1]], names[outer]),
        }

    def _inner_centre(self, body: int, group: list[int], next_joint: int) -> int:
        """Return the bone of a hip or shoulder that stays both in the body and from the next."""
        R_world_body, p_world_body = self.rotations[:, body], self.positions[:, body]

        def wander(k: int) -> float:
            seen = np.einsum("nji,nj->ni", R_world_body, self.positions[:, k] - p_world_body)
            distance = np.linalg.norm(self.positions[:, next_joint] - self.positions[:, k], axis=1)
            return float(np.linalg.norm(seen.std(axis=0)) + distance.std())

        rest = self.positions[0]
        room = SAME_PLACE * float(np.linalg.norm(rest[next_joint] - rest[body]))
        beside = [k for k in group if np.linalg.norm(rest[k] - rest[body]) > room]
        return min(beside or group, key=wander)

    def _outer_centre(self, joint: int, group: list[int]) -> int:
        """Return the last bone of a wrist or ankle that keeps its distance from the joint above."""
        steady = []
        for k in group:
            distance = np.linalg.norm(self.positions[:, k] - self.positions[:, joint], axis=1)
            if distance.std() <= CENTRE_TOLERANCE * distance.mean():
                steady.append(k)
        return steady[-1] if len(steady) > 0 else group[0]

    # --- head and the rest

    def find_head(self, chest: int) -> dict[str, BodyPart]:
        """Return neck and head: by their names, from the chest upwards."""
        names = self.skeleton.bone_names
        middle = [
            k
            for k, name in enumerate(self.names)
            if name.side == "" and name.part in ("neck", "head") and self.is_bone(k)
        ]
        middle = [k for k in middle if chest in self.ancestors(k)]
        if len(middle) == 0:
            return {}
        heads = [k for k in middle if self.names[k].part == "head"] or middle
        head = max(heads, key=lambda k: len(self.ancestors(k)))
        path = [k for k in self.path_between(chest, head) if self.is_bone(k)]
        necks = self.drop_hinges(path)[1:-1]
        found = {f"neck_{n}": one_bone(names[k]) for n, k in enumerate(necks, 1)}
        found["head"] = one_bone(names[head])
        return found

    def find_others(self, parts: Mapping[str, BodyPart], inside: list[int]) -> dict[str, str]:
        """Return bones that are no part and not inside the body, by side, stem and number.

        Only names that occur once.
        """
        used = {part.bone for part in parts.values()} | {part.start for part in parts.values()}
        used |= {self.skeleton.bone_names[k] for k in inside}
        found: dict[str, list[str]] = {}
        for bone, name in zip(self.skeleton.bones, self.names, strict=True):
            if bone.name in used or name.is_helper or bone.joint.nv == 0:
                continue
            stem = name.stem.removeprefix("inhand").removeprefix("hand") or name.stem
            words = [name.side, stem, "" if name.number < 0 else str(name.number)]
            found.setdefault("_".join(word for word in words if word != ""), []).append(bone.name)
        return {
            key: bones[0] for key, bones in found.items() if len(bones) == 1 and key not in parts
        }


def _sample_poses(skeleton: Skeleton, q_rest: Array) -> Pose:
    """Return the rest pose and others around it in which all joints are turned, shifts none."""
    steps = np.random.default_rng(0).uniform(-1.0, 1.0, (SAMPLED_POSES, skeleton.nv))
    steps[0] = 0.0
    q = skeleton.integrate(q_rest, SAMPLED_TURN * steps * skeleton.turns)
    return skeleton.forward(skeleton.clip(q))
