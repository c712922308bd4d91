"""Which bone takes over which, and parts turned as the source's, as far as limits allow."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.anatomy import describe_body
from exactik.model import Joint
from exactik.model.motion import Motion
from exactik.retargeting import (
    BonePair,
    Correspondence,
    PartsCopy,
    copy_orientations,
    load_mapping,
    make_correspondence,
    make_target_figure,
    prepare_source,
    retarget,
    save_mapping,
)
from exactik.spatial import angle_between, axis_rotation
from exactik.typing import Array
from tests.support.retargeting_figures import make_character, make_robot

HUMAN = ik.human()


def match(target: ik.Skeleton) -> Correspondence:
    """Return which bone of a figure takes over which of the human."""
    return make_correspondence(
        describe_body(HUMAN, HUMAN.neutral()),
        describe_body(target, target.neutral()),
        HUMAN.forward(HUMAN.neutral()).positions,
        target.forward(target.neutral()).positions,
    )


# --- correspondence


def test_the_same_figure_corresponds_bone_by_bone():
    matched = match(HUMAN)
    pairs = {pair.target: pair.source for pair in matched.pairs}
    assert all(source == target for target, source in pairs.items())
    assert {"lower_back", "upper_neck", "l_fingers", "r_toes", "l_clavicle"} <= set(pairs)
    # The forearm is taken over by its lower half.
    assert set(HUMAN.bone_names) - set(pairs) == {"l_forearm", "r_forearm"}
    assert (matched.source_only, matched.target_only) == ((), ())


def test_bones_without_a_counterpart_are_listed():
    matched = match(make_character())
    assert matched.source_only == ("l_fingers", "r_fingers")
    assert matched.target_only == ("mixamorig:LeftHandIndex1", "mixamorig:RightHandIndex1")
    text = str(matched)
    assert re.search(r"^left_hand +l_hand +→  mixamorig:LeftHand$", text, re.MULTILINE)
    assert "2 bones of the source taken over by none: l_fingers and r_fingers" in text
    assert "left at rest: mixamorig:LeftHandIndex1 and mixamorig:RightHandIndex1" in text
    assert match(make_robot()).target_only == ()


def test_spines_of_different_lengths_correspond_by_how_far_along_they_are():
    """Without its lower back, the upper one takes over what is nearest."""
    bones = []
    for bone in make_character().bones:
        if bone.name != "mixamorig:Spine":
            parent = bone.parent
            moved = bone.name == "mixamorig:Spine1"
            bones.append(
                ik.Bone(
                    bone.name,
                    parent="mixamorig:Hips" if moved else parent,
                    offset=2.0 * np.array(bone.offset) if moved else bone.offset,
                    pre=bone.pre,
                    joint=bone.joint,
                )
            )
    matched = match(ik.Skeleton.build("short", bones))
    taken = {pair.target: pair.source for pair in matched.pairs}
    assert taken["mixamorig:Spine1"] == "upper_back"
    assert taken["mixamorig:Spine2"] == "thorax"
    assert matched.source_only == ("lower_back", "l_fingers", "r_fingers")


def test_pieces_of_a_forearm_are_taken_over_with_it():
    bones = list(make_character().bones)
    at = [bone.name for bone in bones].index("mixamorig:LeftForeArmTwist")
    piece = ik.Bone("mixamorig:LeftForeArmRoll", parent=bones[at].parent, joint=Joint.quaternion())
    bones[at : at + 1] = [piece, replace(bones[at], parent=piece.name)]
    assert piece.name not in match(ik.Skeleton.build("pieces", bones)).target_only


def test_no_more_than_a_dozen_bones_are_named():
    pair = BonePair(part="head", source_part="head", source="a", target="b")
    text = str(Correspondence((pair,), tuple(f"bone{k:02d}" for k in range(14)), ()))
    assert "14 bones of the source" in text
    assert "bone11" in text and "bone12" not in text


def test_a_mapping_that_is_saved_is_loaded(tmp_path: Path):
    matched = match(make_character())
    save_mapping(matched, tmp_path / "map.json")
    loaded = load_mapping(tmp_path / "map.json")
    assert loaded["left_hand"] == ("l_hand", "mixamorig:LeftHand")
    with pytest.raises(ik.FileError, match=r"none\.json: cannot be read: No such file"):
        load_mapping(tmp_path / "none.json")
    own = [pair for pair in matched.pairs if pair.part == pair.source_part]
    assert loaded == {pair.part: (pair.source, pair.target) for pair in own}


# --- turned as asked


def bow(frames: int = 3) -> Motion:
    """Return a human bent in hips, spine, arms and hands, each by 30°."""
    q = np.tile(HUMAN.neutral(), (frames, 1))
    index = {name: HUMAN.plain_q[k] for k, name in enumerate(HUMAN.dof_names)}
    for name in (
        "lower_back.ry",
        "l_thigh.ry",
        "head.ry",
        "l_hand.rx",
        "l_upper_arm.rz",
        "l_fingers.rx",
    ):
        q[:, index[name]] += np.radians(30.0) * (-1.0 if name.startswith("l_thigh") else 1.0)
    q[:, index["l_forearm.rz"]] = -1.0
    return Motion(HUMAN, HUMAN.clip(q), 30.0)


def test_the_rest_pose_holds_nothing_back():
    """Parts that are turned by 30° are turned as asked to within hundredths of a degree."""
    motion = bow()
    copied = retarget(motion, HUMAN, feet=False, hands=False).motion
    off = np.degrees(angle_between(motion.forward().rotations, copied.forward().rotations))
    bones = [HUMAN.bone_index(b) for b in ("lower_back", "thorax", "head", "l_upper_arm", "l_hand")]
    assert off[:, bones].max() < 0.05
    assert off[:, HUMAN.bone_index("l_fingers")].max() < 0.1


def test_what_nobody_asks_for_stays_at_rest():
    """A tail that the source does not have, turned at the start."""
    tail = ik.Bone("tail", parent="pelvis", joint=Joint.quaternion())
    figure = ik.Skeleton.build("tailed", [*HUMAN.bones, tail])
    copied = retarget(bow(), figure, feet=False, hands=False).motion
    rest = figure.forward(figure.neutral()).rotations
    pose = copied.forward().rotations
    k, pelvis = figure.bone_index("tail"), figure.bone_index("pelvis")
    seen = np.swapaxes(pose[:, pelvis], 1, 2) @ pose[:, k]
    assert angle_between(seen, rest[pelvis].T @ rest[k]).max() < 1e-6


def test_joints_that_share_a_turn_come_back_to_rest_together():
    """A knee of two hinges, of which one ends at 0.2 rad: what they share is open."""
    knee = HUMAN.bones[HUMAN.bone_index("l_shin")]
    short = replace(knee, joint=Joint.revolute("y", limits=(-0.5, 0.2)))
    second = ik.Bone("l_shin_2", parent="l_shin", joint=Joint.revolute("y"))
    bones = []
    for bone in HUMAN.bones:
        moved = replace(bone, parent="l_shin_2") if bone.parent == "l_shin" else bone
        bones += [short, second] if bone.name == "l_shin" else [moved]
    figure = ik.Skeleton.build("two hinges", bones)
    q = np.tile(HUMAN.neutral(), (21, 1))
    bend = 1.0 - np.abs(np.linspace(-1.0, 1.0, 21))
    q[:, HUMAN.plain_q[HUMAN.dof_names.index("l_shin.ry")]] = 0.2 + bend
    copied = retarget(Motion(HUMAN, q, 30.0), figure, feet=False, hands=False).motion
    dofs = [figure.dof_names.index(f"{name}.ry") for name in ("l_shin", "l_shin_2")]
    first, last = copied.q[[0, -1]][:, figure.plain_q[dofs]]
    np.testing.assert_allclose(first, (0.1, 0.1), atol=0.01)
    np.testing.assert_allclose(last, first, atol=0.01)


class FakeSolver:
    """Answers with what it was started from, at costs that are given one by one."""

    def __init__(self, costs: list[float]):
        self.costs, self.starts, self.cost = costs, list[Array](), np.nan

    def solve(self, q: Array, _: object) -> Array:
        self.starts.append(q)
        self.cost = self.costs.pop(0)
        return q


@pytest.mark.parametrize(
    ("costs", "tried", "taken"),
    [
        ([0.015], 1, "before"),  # near enough: rest is not tried
        ([0.03, 0.016], 2, "before"),  # tried, but not worth changing over
        ([0.03, 0.014], 2, "rest"),
    ],
)
def test_when_a_limb_begins_anew_from_rest(costs: list[float], tried: int, taken: str):
    figure = make_target_figure(HUMAN, {}, "z")
    arm = {"l_upper_arm", "l_forearm", "l_wrist", "l_hand"}
    turn = np.broadcast_to(axis_rotation("x", 0.1), (2, 3, 3))
    pair = BonePair("left_hand", "left_hand", "l_hand", "l_hand")
    copy = PartsCopy(figure, arm, [(pair, turn)], {}, None)
    solver = FakeSolver(costs)
    copy.solver = solver  # pyright: ignore[reportAttributeAccessIssue]
    before = HUMAN.neutral() + 0.01
    found = copy.solve(1, HUMAN.neutral(), before)
    assert len(solver.starts) == tried
    assert (found == solver.starts[0 if taken == "before" else 1]).all()
    assert copy.moves.any() and (found[~copy.moves] == HUMAN.neutral()[~copy.moves]).all()


def test_progress_counts_every_frame_once():
    motion, done = bow(130), list[tuple[int, int]]()
    source, _, _ = prepare_source(motion, {}, None)
    figure = make_target_figure(HUMAN, {}, "z")
    matched = match(HUMAN)
    still = [np.broadcast_to(np.eye(3), (130, 3, 3)) for _ in matched.pairs]
    counts = list[int]()
    hips = source.hip_centres()
    copy_orientations(figure, matched.pairs, still, {}, hips, counts.append)
    assert counts == [64, 64, 2]
    retarget(motion, HUMAN, feet=False, hands=False, progress=lambda n, of: done.append((n, of)))
    assert done == [(64, 130), (128, 130), (130, 130), (130, 130)]
