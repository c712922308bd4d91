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
from exactik.anatomy._bone_tree import (
    ARM_PARTS,
    LEG_PARTS,
    SAME_PLACE,
    BodyPart,
    BoneTree,
    JointCentres,
)
from exactik.errors import ModelError

_ARM_NAMES = ("clavicle", "shoulder", "upper_arm", "arm", "forearm", "hand")
_LEG_NAMES = ("thigh", "leg", "shin", "foot", "toes")


class LimbParts:
    """Looks for parts of limbs in one skeleton.

    Args:
        given: part → bones that it is, in place of what would be found.
    """

    def __init__(self, tree: BoneTree, centres: JointCentres, given: Mapping[str, BodyPart]):
        self.tree, self.centres, self.given = tree, centres, given
        self.given_hinges: dict[str, list[int]] = {}  # bones of parts that are given

    def find_limb(self, side: str, kind: str) -> list[int]:
        """Return the path of a limb that is given, else the longest one of bones named after it.

        Nothing where several are as long and apart: of two left legs none is the left leg.
        """
        tree, order = self.tree, ARM_PARTS if kind == "arm" else LEG_PARTS
        if self._is_given(side, order):
            first, _, last = (tree.index(self.given[f"{side}_{part}"]) for part in order)
            return tree.find_path(first, last)
        parts = _ARM_NAMES if kind == "arm" else _LEG_NAMES
        named = [
            k
            for k, name in enumerate(tree.names)
            if name.side == side and name.part in parts and tree.is_bone(k)
        ]
        if len(named) == 0:
            return []
        counts = {k: sum(a in named for a in tree.find_ancestors(k)) for k in named}
        paths = [tree.find_ancestors(k) for k in named if counts[k] == max(counts.values())]
        paths = [path[: max(n for n, a in enumerate(path) if a in named) + 1] for path in paths]
        if any(path[-1] != paths[0][-1] for path in paths):
            begins = ("clavicle", "shoulder", "upper_arm", "arm", "thigh", "leg")
            paths = [path for path in paths if tree.names[path[-1]].part in begins]
        is_one = len(paths) > 0 and all(path[-1] == paths[0][-1] for path in paths)
        return paths[0][::-1] if is_one else []

    def find_leg_parts(self, side: str, pelvis: int, limb: list[int]) -> dict[str, list[int]]:
        """Return the bones of thigh, shin and foot."""
        parts = {k: self.tree.names[k].part for k in limb}
        known = set(parts.values())
        if "shin" not in known:
            is_whole = "thigh" not in known and len(limb) < len(LEG_PARTS)
            leg = "thigh" if is_whole else "shin"
            parts = {k: leg if part == "leg" else part for k, part in parts.items()}
        groups = self._group(side, limb, parts, LEG_PARTS)
        if "toes" not in known and len(groups) == len(LEG_PARTS):
            groups["foot"] = self._drop_ball(groups["shin"][0], groups["foot"])
        return groups

    def find_arm_parts(self, side: str, chest: int, limb: list[int]) -> dict[str, list[int]]:
        """Return the bones of upper arm, forearm and hand."""
        parts = {k: self.tree.names[k].part for k in limb}
        if "upper_arm" not in parts.values():
            parts = {k: "upper_arm" if part == "arm" else part for k, part in parts.items()}
        shoulder = "clavicle" if "upper_arm" in parts.values() else "upper_arm"
        parts = {k: shoulder if part == "shoulder" else part for k, part in parts.items()}
        groups = self._group(side, limb, parts, ARM_PARTS)
        if len(groups) == len(ARM_PARTS):
            upper = self._add_hinges(limb, groups["upper_arm"], groups["forearm"][0])
            groups["upper_arm"] = upper
        return groups

    def make_parts(
        self, side: str, body: int, groups: Mapping[str, list[int]]
    ) -> dict[str, BodyPart]:
        """Return the parts of a limb that hangs on a bone of the body, with their joint centres."""
        names, parts = self.tree.skeleton.bone_names, {}
        rows = list(groups.items())
        for n, (part, bones) in enumerate(rows):
            after = rows[n + 1][1] if n + 1 < len(rows) else []
            start = bones[0]
            if part in ("thigh", "upper_arm") and len(after) > 0 and body >= 0:
                start = self.centres.find_inner_centre(body, bones, after[0])
            elif part in ("foot", "hand") and n > 0:
                start = self.centres.find_outer_centre(rows[n - 1][1][0], bones)
            # What comes before the next part carries it.
            last = self.tree.parents[after[0]] if len(after) > 0 else bones[-1]
            parts[f"{side}_{part}"] = BodyPart(names[last], names[start])
        return parts

    def find_toes(self, limb: list[int], groups: Mapping[str, list[int]]) -> int:
        """Return the first bone of the toes, −1 for none."""
        if "foot" not in groups:
            return -1
        after = limb[limb.index(groups["foot"][-1]) + 1 :]
        toes = [k for k in after if self.tree.names[k].part == "toes"] or after
        toes = toes or self._find_only_child(groups["foot"][-1])
        return toes[0] if len(toes) > 0 else -1

    def find_clavicles(
        self, chest: int, limb: list[int], groups: Mapping[str, list[int]]
    ) -> list[int]:
        """Return the bones between the chest and an upper arm."""
        if "upper_arm" not in groups or chest < 0:
            return []
        before = limb[: limb.index(groups["upper_arm"][0])]
        path = self.tree.find_path(chest, limb[0])[1:-1]
        return [k for k in path if self.tree.is_bone(k)] + before

    def _add_hinges(self, limb: list[int], group: list[int], next_joint: int) -> list[int]:
        """Return the bones of an upper arm with hinges of the shoulder that have other names."""
        distance, first = self.tree.measure_distance, limb.index(group[0])
        room = SAME_PLACE * distance(next_joint, group[0])
        while first > 0 and distance(limb[first - 1], group[0]) < room:
            first -= 1
        return [*limb[first : limb.index(group[0])], *group]

    def _find_only_child(self, bone: int) -> list[int]:
        """Return the child of a foot whose name is not known, if it moves and is the only one."""
        children = [k for k, parent in enumerate(self.tree.parents) if parent == bone]
        bones = [k for k in children if self.tree.is_bone(k)]
        moves = len(bones) == 1 and self.tree.skeleton.bones[bones[0]].joint.nv > 0
        return bones if moves else []

    # --- which bones are a part

    def _group(
        self, side: str, limb: list[int], parts: Mapping[int, str], order: tuple[str, ...]
    ) -> dict[str, list[int]]:
        """Return the bones of each part: as given, else by their names, else by lengths.

        A limb whose names leave no gap may have some of the parts only.
        """
        if self._is_given(side, order):
            return self._group_as_given(side, order)
        groups = {part: [k for k in limb if parts[k] == part] for part in order}
        known = {part: group for part, group in groups.items() if len(group) > 0}
        if len(known) < len(order):
            is_told = len(limb) < len(order) or self._is_told(limb, known, order)
            return known if is_told else self._group_by_lengths(limb, order, groups[order[-1]])
        if "hand" in groups:
            groups["hand"] = self._drop_forearm_twist(groups["forearm"][0], groups["hand"])
        return groups

    def _is_told(
        self, limb: list[int], known: Mapping[str, list[int]], order: tuple[str, ...]
    ) -> bool:
        """Whether names tell the parts of a limb that lacks the first or the last of them."""
        if len(known) == 0 or sum(self.tree.names[k].part in ("arm", "leg") for k in limb) > 1:
            return False
        first = order.index(next(iter(known)))
        begins = first == 0 or limb[0] in known[order[first]]
        is_row = tuple(known) == order[first : first + len(known)]
        return is_row and begins and limb[-1] in known[[*known][-1]]

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
        rows = [self._find_hinges(above, below) for above, below in pairwise(row)]
        groups = dict(zip(order, [*rows, row[-1:]], strict=True))
        self.given_hinges |= {f"{side}_{part}": group for part, group in groups.items()}
        return groups

    def _find_hinges(self, joint: int, next_joint: int) -> list[int]:
        """Return the hinges from a joint to the next, which are one part; else the joint alone."""
        between = self.tree.find_path(joint, next_joint)[:-1]
        bones = self.tree.skeleton.bones
        return between if all(bones[k].joint.nv == 1 for k in between) else [joint]

    def _drop_ball(self, knee: int, foot: list[int]) -> list[int]:
        """Return the bones of a foot without one that is its ball, as SMPL's below the ankle is."""
        tree, stems = self.tree, [self.tree.names[k].stem for k in foot]
        if stems[0] != "ankle" or "foot" not in stems:
            return foot
        ball = stems.index("foot")
        room = SAME_PLACE * tree.measure_distance(foot[0], knee)
        moves = tree.skeleton.bones[foot[ball]].joint.nv > 0
        is_apart = tree.measure_distance(foot[ball], foot[0]) > room
        return foot[:ball] if moves and is_apart else foot

    def _drop_forearm_twist(self, elbow: int, hand: list[int]) -> list[int]:
        """Return the bones of a hand without a wrist that turns the forearm about its axis.

        One in the middle of the forearm does, and a single one before a hand that moves by itself.
        """
        tree = self.tree
        hands = [k for k in hand if tree.names[k].stem != "wrist"]
        moving = [k for k in hands if tree.skeleton.bones[k].joint.nv > 0]
        if len(moving) == 0 or len(moving) == len(hand):
            return hand
        room = SAME_PLACE * tree.measure_distance(hands[0], elbow)
        is_single = len(hands) == len(hand) - 1
        is_apart = tree.measure_distance(hands[0], hand[0]) > room
        return hands if is_single or is_apart else hand

    def _group_by_lengths(
        self, limb: list[int], order: tuple[str, ...], last: list[int]
    ) -> dict[str, list[int]]:
        """Return the three joints of a limb with the longest two stretches between them.

        The third is that of the last part where names tell its bones.
        """
        distance = self.tree.measure_distance

        def measure_stretch(joints: tuple[int, ...]) -> float:
            a, b, c = joints
            return min(distance(a, b), distance(b, c))

        # Of equals the nearest to the body: combinations come in that order.
        triples = list(combinations(limb, 3))
        told = [joints for joints in triples if joints[2] in last[:1]]
        best = max(told or triples, key=measure_stretch)
        groups = {part: [k] for part, k in zip(order, best, strict=True)}
        groups[order[0]] = self._find_hinges(best[0], best[1])
        if len(told) > 0:
            return groups | {order[-1]: last}
        room = SAME_PLACE * measure_stretch(best)
        after = limb[limb.index(best[-1]) + 1 :]
        groups[order[-1]] += [k for k in after if distance(k, best[-1]) < room]
        return groups
