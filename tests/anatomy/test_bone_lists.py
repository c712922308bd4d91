"""The bones of many figures: what each is, in a table, and the same for everybody who asks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import exactik as ik
from exactik.anatomy import (
    LIKELY,
    SIDES,
    describe_body,
    find_limbs,
    find_partners,
    find_stem,
    find_symmetry,
)
from exactik.errors import FileWarning, UsageError
from exactik.io import load_motion, load_skeleton
from exactik.recordings.angles import find_body_segments
from exactik.recordings.calibration.fitting import make_scaled_skeleton
from exactik.studio.viewer import Mirror
from exactik.studio.viewer.posing import choose_handles
from tests.support.retargeting_figures import make_character, make_robot

FOLDER = Path(__file__).parent
OWN = {
    "human": ik.human,
    "quadruped": ik.quadruped,
    "hand": ik.hand,
    "octopus": ik.octopus,
    "character": make_character,
    "robot": make_robot,
}
Role = tuple[str, str, str]  # limb, side, part


def read_table(name: str) -> dict[str, dict[str, Role]]:
    """Return figure → bone → what it is."""
    table: dict[str, dict[str, Role]] = {}
    roles: dict[str, Role] = {}
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            roles = {}
            table |= dict.fromkeys(line[1:-1].split(), roles)
        elif line != "" and line[0] != "#":
            what, _, bones = line.partition(": ")
            limb, side, part = what.replace("middle", "-").replace("-", " - ").split()
            role = (limb.strip("-"), side.strip("-"), part.strip("-"))
            roles |= dict.fromkeys(bones.split(), role)
    return table


OWN_TABLE, SHARED_TABLE = read_table("own_bone_lists.txt"), read_table("bone_lists.txt")


@cache
def read_skeleton(path: Path) -> ik.Skeleton:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)  # units are guessed
        if path.suffix == ".bvh":
            return load_motion(path, length_unit="auto").skeleton
        return load_skeleton(path)


@pytest.fixture(params=[*OWN_TABLE, *SHARED_TABLE])
def case(request: pytest.FixtureRequest) -> tuple[ik.Skeleton, dict[str, Role]]:
    """A figure, and what each of its bones is."""
    name = request.param
    if name in OWN:
        skeleton, told = OWN[name](), OWN_TABLE[name]
    else:
        path = request.getfixturevalue("shared_data") / "data" / name
        skeleton, told = read_skeleton(path), SHARED_TABLE[name]
    return skeleton, {bone: told[find_named(bone, told)] for bone in skeleton.bone_names}


def find_named(bone: str, told: dict[str, Role]) -> str:
    """Return the bone of the table that a bone is, or whose end it is."""
    return bone if bone in told else bone.removesuffix("_end")


def list_sided(skeleton: ik.Skeleton, roles: dict[str, Role]) -> Iterator[tuple[str, str]]:
    """Yield bones of arms and legs with their partners by place or name."""
    symmetry = find_symmetry(skeleton)
    for k, bone in enumerate(skeleton.bone_names):
        if symmetry is not None and roles[bone][0] not in ("", "trunk", "head"):
            yield bone, skeleton.bone_names[symmetry.partners[k]]


def test_each_bone_is_what_the_table_says(case: tuple[ik.Skeleton, dict[str, Role]]):
    skeleton, expected = case
    roles = describe_body(skeleton).roles
    found = {b: (r.limb, r.side, r.part) for b, r in zip(skeleton.bone_names, roles, strict=True)}
    assert found == expected
    told = [role.confidence > 0.0 for role in roles]
    assert told == [role.side + role.part != "" for role in roles]


def test_parts_that_are_retargeted_are_those_bones(case: tuple[ik.Skeleton, dict[str, Role]]):
    skeleton, expected = case
    body = describe_body(skeleton)
    for name, part in body.parts.items():
        side = next((s for s in SIDES if name.startswith(s)), "")
        for bone in {part.bone, part.start}:
            assert expected[bone][1:] == (side, find_stem(name))


def test_angles_are_between_those_bones(case: tuple[ik.Skeleton, dict[str, Role]]):
    skeleton, expected = case
    parts = {"shank": "shin", "radius": "forearm", "thorax": "chest"}
    try:
        segments = find_body_segments(skeleton).bones
    except UsageError:
        return
    for segment, bone in segments.items():
        name, _, letter = segment.rpartition("_") if segment[-2] == "_" else (segment, "", "")
        side = {"l": "left", "r": "right", "": ""}[letter]
        assert expected[bone][1:] == (side, parts.get(name, name))


def test_partners_are_of_the_other_side(case: tuple[ik.Skeleton, dict[str, Role]]):
    """In mirrored poses, in the verdict and where calibration scales both sides alike."""
    skeleton, expected = case
    other = {"left": "right", "right": "left", "": ""}
    named = find_partners(skeleton)
    for bone, partner in list_sided(skeleton, expected):
        if partner != bone:
            limb, side, part = expected[bone]
            mirrored = limb.replace(side, other[side])
            assert expected[partner] == (mirrored, other[side], part)
            assert named[bone] == partner
    groups = make_scaled_skeleton(skeleton, (), "symmetric").scale_groups
    for group in groups:
        assert all(named[bone] in group for bone in group[:1] if named.get(bone) in sum(groups, ()))


def test_mirrored_poses_exchange_those_sides(case: tuple[ik.Skeleton, dict[str, Role]]):
    skeleton, expected = case
    try:
        partners = Mirror(skeleton).partners
    except UsageError:
        return
    for k, j in enumerate(partners):
        sides = {expected[skeleton.bone_names[i]][1] for i in (k, j)}
        assert sides in ({"left", "right"}, {""}) or k == j


def test_limbs_that_are_judged_are_those_bones(case: tuple[ik.Skeleton, dict[str, Role]]):
    skeleton, expected = case
    limbs = find_limbs(skeleton)
    assert sorted(bone for limb in limbs for bone in limb) == sorted(skeleton.bone_names)
    for limb in limbs:
        assert len({expected[bone][0] for bone in limb}) == 1
    whole = [
        expected[limb[0]][0] for limb in limbs if expected[limb[0]][0].endswith(("arm", "leg"))
    ]
    assert len(whole) == len(set(whole))


def test_hands_and_feet_with_fingers_and_toes_are_dragged(
    case: tuple[ik.Skeleton, dict[str, Role]],
):
    """By one handle, and not by each finger."""
    skeleton, expected = case
    body = describe_body(skeleton)
    if not body.is_whole or all(bone.joint.nv < 2 for bone in skeleton.bones[1:]):
        return
    handles = choose_handles(skeleton, skeleton.neutral())
    for side in SIDES:
        for kind, end in (("arm", "fingers"), ("leg", "toes")):
            dragged = {
                expected[bone][2] for bone in handles if expected[bone][0] == f"{side}_{kind}"
            }
            assert end not in dragged
            assert dragged & {"hand", "foot"}


def test_confidence_is_of_names_and_tree():
    human = describe_body(ik.human())
    assert {role.confidence for role in human.roles} == {1.0, LIKELY}
    assert human.role_of("l_fingers") == ("left", "fingers", "left_arm", LIKELY)
    bare = ik.Skeleton.build("bare", [ik.Bone("a"), ik.Bone("b", parent="a")])
    assert [role.confidence for role in describe_body(bare).roles] == [0.0, 0.0]
