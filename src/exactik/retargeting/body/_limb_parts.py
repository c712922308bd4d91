"""Parts of arms and legs, looked for in one skeleton.

Along a limb, names that are known decide; where they are not ("arm_joint_L_2"), the three joints
with the longest two stretches between them are shoulder, elbow and wrist, or hip, knee and ankle.

A part may be several bones: a hip of three hinges, a forearm in halves. Its `bone` is the last of
them, which carries the next part rigidly and has its orientation; its `start` is the one whose
origin is the joint's centre.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, pairwise

from exactik._text import join_names
from exactik.errors import ModelError
from exactik.retargeting.body._anatomy import ARM_PARTS, LEG_PARTS, BodyPart
from exactik.retargeting.body._bone_tree import SAME_PLACE, BoneTree
from exactik.retargeting.body._joint_centres import JointCentres

__all__ = ["HINT", "LimbParts"]

HINT = "mapping= (on the command line --bones) says which bones its parts are"


class LimbParts:
    """Looks for parts of limbs in one skeleton.

    Args:
        tree: of its bones.
        centres: of its joints.
        given: part → bones that it is, in place of what would be found.
    """

    def __init__(self, tree: BoneTree, centres: JointCentres, given: Mapping[str, BodyPart]):
        self.tree, self.centres, self.given = tree, centres, given

    def find_limb(self, side: str, parts: tuple[str, ...], order: tuple[str, ...]) -> list[int]:
        """Return the path of a limb that is given, else the longest one of bones named after it."""
        tree = self.tree
        if self._is_given(side, order):
            first, _, last = (tree.index(self.given[f"{side}_{part}"]) for part in order)
            return tree.find_path(first, last)
        named = [
            k
            for k, name in enumerate(tree.names)
            if name.side == side and name.part in parts and tree.is_bone(k)
        ]
        if len(named) == 0:
            return []
        last = max(named, key=lambda k: sum(a in named for a in tree.find_ancestors(k)))
        path = tree.find_ancestors(last)
        first = max(n for n, a in enumerate(path) if a in named)
        return path[: first + 1][::-1]

    def find_leg_parts(self, side: str, pelvis: int, limb: list[int]) -> dict[str, BodyPart]:
        """Return thigh, shin, foot and toes."""
        parts = {k: self.tree.names[k].part for k in limb}
        if "shin" not in parts.values():
            parts = {k: "shin" if part == "leg" else part for k, part in parts.items()}
        groups = self._group(side, limb, parts, LEG_PARTS)
        found = self._make_parts(side, pelvis, groups)
        after = limb[limb.index(groups["foot"][-1]) + 1 :]
        toes = [k for k in after if parts[k] == "toes"] or after
        toes = toes or self._find_only_child(groups["foot"][-1])
        if len(toes) > 0:
            found[f"{side}_toes"] = BodyPart.of_bone(self.tree.skeleton.bone_names[toes[0]])
        return found

    def find_arm_parts(self, side: str, chest: int, limb: list[int]) -> dict[str, BodyPart]:
        """Return clavicle, upper arm, forearm and hand."""
        tree = self.tree
        parts = {k: tree.names[k].part for k in limb}
        if "upper_arm" not in parts.values():
            parts = {k: "upper_arm" if part == "arm" else part for k, part in parts.items()}
        has_upper = "upper_arm" in parts.values()
        shoulder = "clavicle" if has_upper else "upper_arm"
        parts = {k: shoulder if part == "shoulder" else part for k, part in parts.items()}
        groups = self._group(side, limb, parts, ARM_PARTS)
        groups["upper_arm"] = self._add_hinges(limb, groups["upper_arm"], groups["forearm"][0])
        found = self._make_parts(side, chest, groups)
        before = limb[: limb.index(groups["upper_arm"][0])]
        before = [k for k in tree.find_path(chest, limb[0])[1:-1] if tree.is_bone(k)] + before
        if len(before) > 0:
            found[f"{side}_clavicle"] = BodyPart.of_bone(tree.skeleton.bone_names[before[-1]])
        return found

    def _add_hinges(self, limb: list[int], group: list[int], next_joint: int) -> list[int]:
        """Return the bones of an upper arm with hinges of the shoulder that have other names."""
        distance, first = self.tree.measure_distance, limb.index(group[0])
        room = SAME_PLACE * distance(next_joint, group[0])
        while first > 0 and distance(limb[first - 1], group[0]) < room:
            first -= 1
        return [*limb[first : limb.index(group[0])], *group]

    def _find_only_child(self, bone: int) -> list[int]:
        """Return the child of a foot whose name is not known, if it is the only one."""
        children = [k for k, parent in enumerate(self.tree.parents) if parent == bone]
        bones = [k for k in children if self.tree.is_bone(k)]
        return bones if len(bones) == 1 else []

    # --- which bones are a part

    def _group(
        self, side: str, limb: list[int], parts: Mapping[int, str], order: tuple[str, ...]
    ) -> dict[str, list[int]]:
        """Return the bones of each part: as given, else by their names, else by lengths."""
        if self._is_given(side, order):
            return self._group_as_given(side, order)
        groups = {part: [k for k in limb if parts[k] == part] for part in order}
        if any(len(group) == 0 for group in groups.values()):
            return self._group_by_lengths(limb, order)
        if "hand" in groups:
            groups["hand"] = self._drop_forearm_twist(groups["forearm"][0], groups["hand"])
        return groups

    def _is_given(self, side: str, order: tuple[str, ...]) -> bool:
        return all(f"{side}_{part}" in self.given for part in order)

    def _group_as_given(self, side: str, order: tuple[str, ...]) -> dict[str, list[int]]:
        row = [self.tree.index(self.given[f"{side}_{part}"]) for part in order]
        skeleton = self.tree.skeleton
        for above, below in pairwise(row):
            if above not in self.tree.find_ancestors(below)[1:]:
                names = skeleton.bone_names
                raise ModelError(
                    f"{names[below]} of {skeleton.name!r} does not hang on {names[above]}; "
                    f"expected {join_names(order)} in a row"
                )
        return {part: [k] for part, k in zip(order, row, strict=True)}

    def _drop_forearm_twist(self, elbow: int, hand: list[int]) -> list[int]:
        """Return the bones of a hand without a wrist that turns in the middle of the forearm."""
        tree = self.tree
        hands = [k for k in hand if tree.names[k].stem != "wrist"]
        moving = [k for k in hands if tree.skeleton.bones[k].joint.nv > 0]
        if len(moving) == 0 or len(moving) == len(hand):
            return hand
        room = SAME_PLACE * tree.measure_distance(hands[0], elbow)
        return hands if tree.measure_distance(hands[0], hand[0]) > room else hand

    def _group_by_lengths(self, limb: list[int], order: tuple[str, ...]) -> dict[str, list[int]]:
        """Return the three joints of a limb with the longest two stretches between them."""
        if len(limb) < 3:
            raise self._make_short_limb_error(limb, order)
        distance = self.tree.measure_distance

        def measure_stretch(joints: tuple[int, ...]) -> float:
            a, b, c = joints
            return min(distance(a, b), distance(b, c))

        # Of equals the nearest to the body: combinations come in that order.
        best = max(combinations(limb, 3), key=measure_stretch)
        groups = {part: [k] for part, k in zip(order, best, strict=True)}
        last, room = best[-1], SAME_PLACE * measure_stretch(best)
        after = limb[limb.index(last) + 1 :]
        groups[order[-1]] += [k for k in after if distance(k, last) < room]
        return groups

    def _make_short_limb_error(self, limb: list[int], order: tuple[str, ...]) -> ModelError:
        tree, names = self.tree, self.tree.skeleton.bone_names
        side = tree.names[limb[-1]].side
        # Rigs for animators often have feet and hands that hang on the root, as handles.
        apart = [
            f"{names[k]} hangs on {names[tree.parents[k]]}, not on {names[limb[-1]]}"
            for k, name in enumerate(tree.names)
            if name.side == side and name.part in order and k not in limb and tree.parents[k] >= 0
        ]
        return ModelError(
            f"the limb {', '.join(names[k] for k in limb)} of {tree.skeleton.name!r} has too "
            f"few bones for {', '.join(order)}; {apart[0] if len(apart) > 0 else HINT}"
        )

    def _make_parts(
        self, side: str, body: int, groups: Mapping[str, list[int]]
    ) -> dict[str, BodyPart]:
        """Return the three parts of a limb, with their joint centres."""
        names, order = self.tree.skeleton.bone_names, list(groups)
        first, second, third = (groups[part] for part in order)
        # What comes before the next part carries it.
        carriers = [self.tree.parents[group[0]] for group in (second, third)]
        outer = self.centres.find_outer_centre(second[0], third)
        inner = self.centres.find_inner_centre(body, first, second[0])
        return {
            f"{side}_{order[0]}": BodyPart(names[carriers[0]], names[inner]),
            f"{side}_{order[1]}": BodyPart(names[carriers[1]], names[second[0]]),
            f"{side}_{order[2]}": BodyPart(names[third[-1]], names[outer]),
        }
