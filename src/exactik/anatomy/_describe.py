"""Which bones of a skeleton are the parts of a body, by their names and by the shape of the tree.

Names say which side a bone is on and roughly what it is; the tree says the rest. The pelvis is
where the legs meet, the chest where the arms do, whatever they are called.
"""

from __future__ import annotations

from collections.abc import Mapping

from exactik._text import join_names
from exactik.anatomy._bone_tree import (
    ARM_PARTS,
    CERTAIN,
    GUESSED,
    LEG_PARTS,
    LIKELY,
    LIMB_PARTS,
    NO_ROLE,
    SAME_PLACE,
    SIDES,
    Anatomy,
    BodyPart,
    BoneRole,
    BoneTree,
    JointCentres,
    find_stem,
    is_part_name,
)
from exactik.anatomy._limb_parts import LimbParts
from exactik.errors import ModelError
from exactik.model import Skeleton
from exactik.typing import Array

HINT = "mapping= (on the command line --bones) says which bones its parts are"
# Parts are listed in this order: goals of retargeting, sums over them and tables follow it.
_LIMBS_BY_SIDE = ("left_leg", "left_arm", "right_leg", "right_arm")
# What a name that means several parts may be.
_MEANINGS = {
    "shoulder": {"clavicle", "upper_arm"},
    "arm": {*ARM_PARTS},
    "leg": {*LEG_PARTS},
    "spine": {"spine", "chest", "pelvis"},
    "hand": {"forearm", "hand"},
    "root": {"pelvis"},
}


def describe_body(
    skeleton: Skeleton, q_rest: Array | None = None, given: Mapping[str, str] | None = None
) -> Anatomy:
    """Return what the bones of a skeleton are; of a figure that is no body, what names say.

    Args:
        q_rest: its rest pose, (nq,); the neutral one if None.
        given: part, or any other name → bone, in place of what would be found.
    """
    return _Description(skeleton, skeleton.neutral() if q_rest is None else q_rest, given).make()


def describe_whole_body(
    skeleton: Skeleton, q_rest: Array, given: Mapping[str, str] | None = None
) -> Anatomy:
    """Return the same of a figure with two legs and two arms.

    Raises:
        ModelError: a limb is missing or has too few bones, or limbs hang on no common bone.
    """
    body = describe_body(skeleton, q_rest, given)
    missing = [limb.replace("_", " ") for limb in _LIMBS_BY_SIDE if limb not in body.limbs]
    if len(missing) > 0:
        raise ModelError(
            f"no {join_names(missing)} found in {skeleton.name!r} by the names of its bones; {HINT}"
        )
    tree = BoneTree(skeleton, q_rest)
    firsts = [skeleton.bone_index(bones[0]) for bones in body.limbs.values()]
    if "pelvis" not in body.parts or not all(tree.is_joined(firsts[0], k) for k in firsts):
        raise ModelError(f"limbs of {skeleton.name!r} hang on no common bone, its pelvis")
    short = [limb for limb in _LIMBS_BY_SIDE if not body.has_whole_limb(limb)]
    if len(short) > 0:
        raise ModelError(_explain_short_limb(body, short[0]))
    return body


def _explain_short_limb(body: Anatomy, limb: str) -> str:
    """Return a sentence on a limb that has too few bones."""
    bones, side, order = body.limbs[limb], limb.split("_")[0], LIMB_PARTS[limb]
    # Rigs for animators often have feet and hands that hang on the root, as handles.
    apart = [
        f"{bone.name} hangs on {bone.parent}, not on {bones[-1]}"
        for bone, role in zip(body.skeleton.bones, body.roles, strict=True)
        if role.side == side
        and role.part in order
        and bone.name not in bones
        and bone.parent is not None
        and role.limb != limb
    ]
    return (
        f"the limb {', '.join(bones)} of {body.skeleton.name!r} has too few bones for "
        f"{', '.join(order)}; {apart[0] if len(apart) > 0 else HINT}"
    )


class _Description:
    """Finds the parts of one skeleton, and then what each bone is."""

    def __init__(self, skeleton: Skeleton, q_rest: Array, given: Mapping[str, str] | None):
        self.skeleton, self.tree = skeleton, BoneTree(skeleton, q_rest)
        self.fixed = {
            name: BodyPart.of_bone(skeleton.bones[skeleton.bone_index(bone)].name)
            for name, bone in ({} if given is None else given).items()
        }
        self.finder = LimbParts(self.tree, JointCentres(skeleton, q_rest), self.fixed)
        self.parts: dict[str, BodyPart] = {}
        self.roles: dict[int, tuple[str, str, str]] = {}  # bone → side, part, limb

    def make(self) -> Anatomy:
        """Return the body."""
        names = self.skeleton.bone_names
        limbs = {limb: self.finder.find_limb(*limb.split("_")) for limb in _LIMBS_BY_SIDE}
        limbs = {limb: path for limb, path in limbs.items() if len(path) > 0}
        if len(limbs) > 0:
            legs = [path for limb, path in limbs.items() if limb.endswith("leg")]
            arms = [path for limb, path in limbs.items() if limb.endswith("arm")]
            pelvis = self._find_centre("pelvis", legs)
            chest = self._find_centre("chest", arms)
            if chest < 0 and len(arms) == 0:
                chest = self._find_named_chest(pelvis)
            self._add_trunk(pelvis, chest)
            self._add_head(chest if chest >= 0 else pelvis)
            for limb, path in limbs.items():
                self._add_limb(limb, path, pelvis if limb.endswith("leg") else chest)
            self._add_parts_apart()
        extra = {name: part.bone for name, part in self.fixed.items() if not is_part_name(name)}
        for name, part in self.fixed.items():
            # Several hinges that are one part are found from the first of them.
            hinges = self.finder.given_hinges.get(name, [])
            if is_part_name(name) and (
                name not in self.parts or (self.parts[name].bone != part.bone and len(hinges) < 2)
            ):
                self.parts[name] = part
        return Anatomy(
            skeleton=self.skeleton,
            parts=self.parts,
            others=self._find_others() | extra,
            limbs={limb: tuple(names[k] for k in path) for limb, path in limbs.items()},
            roles=self._make_roles(len(limbs) > 0),
        )

    # --- trunk and head

    def _find_centre(self, part: str, limbs: list[list[int]]) -> int:
        """Return the bone that the legs or the arms hang on; −1 for none."""
        if part in self.fixed:
            return self.tree.index(self.fixed[part])
        if len(limbs) == 0:
            return -1
        bone = self.tree.find_bone_above(limbs)
        # What one limb hangs on may be any bone; its name tells.
        known = bone >= 0 and self.tree.names[bone].part in ("pelvis", "spine")
        return bone if len(limbs) > 1 or known else -1

    def _find_named_chest(self, pelvis: int) -> int:
        """Return the last bone of the spine of a body without arms, −1 for none."""
        tree = self.tree
        spine = [
            k
            for k, name in enumerate(tree.names)
            if (name.side, name.part) == ("", "spine") and tree.is_bone(k) and k != pelvis
        ]
        spine = [k for k in spine if pelvis in tree.find_ancestors(k)]
        return max(spine, key=lambda k: len(tree.find_ancestors(k)), default=-1)

    def _add_trunk(self, pelvis: int, chest: int) -> None:
        """Add pelvis, spine and chest, which may be one."""
        self._add_part_of_trunk("pelvis", pelvis)
        is_apart = min(pelvis, chest) >= 0 and pelvis != chest
        if is_apart and self.tree.is_joined(pelvis, chest):
            self._add_row("spine", "chest", self.tree.find_path(pelvis, chest), "trunk")
        if chest != pelvis:
            self._add_part_of_trunk("chest", chest)

    def _add_part_of_trunk(self, part: str, bone: int) -> None:
        if bone >= 0:
            self.parts[part] = BodyPart.of_bone(self.skeleton.bone_names[bone])
            self.roles[bone] = ("", part, "trunk")

    def _add_row(self, stem: str, end: str, path: list[int], limb: str) -> None:
        """Add the bones between two as "spine_1", …; hinges of its name belong to the end."""
        names, stems = self.skeleton.bone_names, [name.stem for name in self.tree.names]
        kept, start = self.tree.drop_hinges(path)[1:-1], 1
        for n, k in enumerate(kept, 1):
            self.parts[f"{stem}_{n}"] = BodyPart.of_bone(names[k])
        for k in (*kept, path[-1]):
            stop = path.index(k) + 1
            for hinge in path[start:stop]:
                is_end = k == path[-1] and stems[hinge] == stems[k]
                self.roles[hinge] = ("", end if is_end else stem, limb)
            start = stop

    def _add_head(self, chest: int) -> None:
        """Add neck and head: by their names, from the chest upwards."""
        tree = self.tree
        middle = [
            k
            for k, name in enumerate(tree.names)
            if name.side == "" and name.part in ("neck", "head") and tree.is_bone(k)
        ]
        middle = [k for k in middle if chest in tree.find_ancestors(k)[1:]]
        if len(middle) == 0:
            return
        heads = [k for k in middle if tree.names[k].part == "head"] or middle
        head = max(heads, key=lambda k: len(tree.find_ancestors(k)))
        path = [k for k in tree.find_path(chest, head) if tree.is_bone(k)]
        self._add_row("neck", "head", path, "head")
        self.parts["head"] = BodyPart.of_bone(self.skeleton.bone_names[head])

    # --- limbs

    def _add_limb(self, limb: str, path: list[int], body: int) -> None:
        side, kind = limb.split("_")
        names, finder = self.skeleton.bone_names, self.finder
        find_parts = finder.find_arm_parts if kind == "arm" else finder.find_leg_parts
        groups = find_parts(side, body, path)
        parts = finder.make_parts(side, body, groups)
        whole = path
        if body >= 0 and self.tree.is_joined(body, path[0]):
            whole = self.tree.find_path(body, path[0])[1:-1] + path
        starts = {group[0]: part for part, group in groups.items()}
        part = "clavicle" if kind == "arm" else "pelvis"
        for k in whole:
            part = starts.get(k, part)
            self.roles[k] = (side, part, limb)
        if kind == "leg":
            self._take_to_pelvis(side, body, groups)
            toes = finder.find_toes(path, groups)
            if toes >= 0:
                parts[f"{side}_toes"] = BodyPart.of_bone(names[toes])
                after = path[path.index(toes) :] if toes in path else [toes]
                self.roles |= dict.fromkeys(after, (side, "toes", limb))
        else:
            clavicles = finder.find_clavicles(body, path, groups)
            if len(clavicles) > 0:
                parts[f"{side}_clavicle"] = BodyPart.of_bone(names[clavicles[-1]])
        self.parts |= parts

    def _take_to_pelvis(self, side: str, pelvis: int, groups: Mapping[str, list[int]]) -> None:
        """Count what is called a thigh, but is where the pelvis is, to the pelvis.

        CMU's "LHipJoint" begins in the middle of the body and ends at the hip.
        """
        thigh, shin = groups.get("thigh", []), groups.get("shin", [])
        if pelvis >= 0 and len(shin) > 0:
            room = SAME_PLACE * self.tree.measure_distance(shin[0], pelvis)
            for k in thigh[:-1]:
                if self.tree.measure_distance(k, pelvis) <= room:
                    self.roles[k] = (side, "pelvis", f"{side}_leg")

    def _add_parts_apart(self) -> None:
        """Add feet and hands that hang elsewhere, as animators' handles do: only names tell."""
        for side in SIDES:
            for part in ("foot", "hand"):
                bones = [
                    k
                    for k, name in enumerate(self.tree.names)
                    if (name.side, name.part) == (side, part) and self.tree.is_bone(k)
                ]
                bones = [k for k in bones if k not in self.roles]
                if f"{side}_{part}" not in self.parts and len(bones) == 1:
                    bone = self.skeleton.bone_names[bones[0]]
                    self.parts[f"{side}_{part}"] = BodyPart.of_bone(bone)

    # --- all other bones

    def _find_others(self) -> dict[str, str]:
        """Return bones that have no place in the body, by side, stem and number.

        Only names that one bone has, or hinges in a row of which the last is meant.
        """
        used = {bone for part in self.parts.values() for bone in part}
        used |= {self.skeleton.bone_names[k] for k in self.roles}
        found: dict[str, list[str]] = {}
        for bone, name in zip(self.skeleton.bones, self.tree.names, strict=True):
            if bone.name in used or name.is_helper or bone.joint.nv == 0:
                continue
            stem = name.stem.removeprefix("inhand").removeprefix("hand") or name.stem
            words = [name.side, stem, "" if name.number < 0 else str(name.number)]
            bones = found.setdefault("_".join(word for word in words if word != ""), [])
            if bones == [bone.parent] and bone.joint.nv == 1:
                bones.clear()
            bones.append(bone.name)
        return {
            key: bones[0]
            for key, bones in found.items()
            if len(bones) == 1 and key not in self.parts
        }

    def _make_roles(self, is_body: bool) -> tuple[BoneRole, ...]:
        """Return what each bone is: by its place, else by its name, else as what it hangs on."""
        roles: list[BoneRole] = []
        given = {part.bone: name for name, part in self.fixed.items() if is_part_name(name)}
        for k, name in enumerate(self.tree.names):
            parent = self.tree.parents[k]
            above = roles[parent] if parent >= 0 and is_body else NO_ROLE
            if k in self.roles:
                side, part, limb = self.roles[k]
                agrees = part in _MEANINGS.get(name.part, {name.part}) and name.side in (side, "")
                role = BoneRole(side, part, limb, CERTAIN if agrees else LIKELY)
            elif name.part != "" and not (name.is_helper and above.part != ""):
                is_trunk = name.part in ("pelvis", "spine")
                limb = "" if above.limb == "trunk" and not is_trunk else above.limb
                role = BoneRole(name.side or above.side, name.part, limb, LIKELY)
            else:
                side = name.side or above.side
                told = LIKELY if name.part == above.part and side != "" else GUESSED
                role = BoneRole(side, above.part, above.limb, told if side + above.part else 0.0)
            if (bone := self.skeleton.bone_names[k]) in given:
                side = next((s for s in SIDES if given[bone].startswith(s)), "")
                role = role._replace(side=side, part=find_stem(given[bone]), confidence=CERTAIN)
            roles.append(role)
        return tuple(roles)


def find_limbs(skeleton: Skeleton) -> list[tuple[str, ...]]:
    """Return the bones of each limb, from the root outwards; every bone is in one.

    Pelvis, trunk, head, arms and legs of a body; what is none of these, and a figure that is no
    body, is taken apart where its tree forks.
    """
    children: dict[str | None, list[str]] = {}
    for bone in skeleton.bones:
        children.setdefault(bone.parent, []).append(bone.name)
    limbs: dict[str, list[str]] = {}
    limb_of: dict[str | None, str] = {}
    for bone, role in zip(skeleton.bones, describe_body(skeleton).roles, strict=True):
        goes_on = bone.parent is not None and len(children[bone.parent]) == 1
        limb = limb_of[bone.parent] if goes_on else bone.name
        if role.limb != "":
            limb = f" {'pelvis' if (role.limb, role.part) == ('trunk', 'pelvis') else role.limb}"
        elif limb.startswith(" "):
            limb = bone.name
        limb_of[bone.name] = limb
        limbs.setdefault(limb, []).append(bone.name)
    return [tuple(bones) for bones in limbs.values()]
