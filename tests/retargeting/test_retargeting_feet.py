"""Feet: when they stand, how flat they are, and who gives way for them to stand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance
from exactik.model.motion import Motion
from exactik.retargeting import (
    BodyFigure,
    Contact,
    ContactOptions,
    SourceBody,
    find_stances,
    make_target_figure,
    place_feet,
    prepare_source,
    shift_root,
)
from exactik.spatial import angle_between, axis_rotation
from exactik.typing import Array

HUMAN = ik.human()
Standing = tuple[SourceBody, list[Contact], BodyFigure]


@pytest.fixture(scope="module")
def walking() -> SourceBody:
    return prepare_source(simulate_performance(2.5, rate=30.0, acts=("walk",)), {}, None)[0]


@pytest.fixture(scope="module")
def standing() -> Standing:
    """Somebody who stands for 12 frames, and the same figure to take it over."""
    still = Motion(HUMAN, np.tile(HUMAN.neutral(), (12, 1)), 30.0)
    source, _, _ = prepare_source(still, {}, None)
    stances, source = find_stances(source, ContactOptions())
    return source, stances, make_target_figure(HUMAN, {}, "z")


def move_left_foot(source: SourceBody, by: Array) -> SourceBody:
    """Return the source with its left foot elsewhere [m], (3,) or (T, 3), and nothing else."""
    positions = source.positions.copy()
    for bone in ("l_foot", "l_toes"):
        positions[:, HUMAN.bone_index(bone)] += by
    return replace(source, positions=positions)


# --- stances


def test_steps_of_a_walk(walking: SourceBody):
    """Heels and balls of both feet stand by turns; a heel leaves the ground before its ball."""
    stances, source = find_stances(walking, ContactOptions())
    counts = {}
    for stance in stances:
        key = (stance.side, stance.point)
        counts[key] = counts.get(key, 0) + 1
    assert counts == {
        ("left", "ankle"): 2,
        ("left", "ball"): 2,
        ("right", "ankle"): 3,
        ("right", "ball"): 3,
    }
    heels = [s.frames for s in stances if (s.side, s.point) == ("left", "ankle")]
    balls = [s.frames for s in stances if (s.side, s.point) == ("left", "ball")]
    assert all(
        heel.first <= ball.first and heel.last < ball.last
        for heel, ball in zip(heels, balls, strict=True)
    )
    assert source.ground == pytest.approx(1.75 * 0.039, abs=0.01)


def test_a_foot_that_stands_is_flat(walking: SourceBody):
    """Whatever it is at rest: here its toes point 30° down."""
    pitch = axis_rotation("y", np.radians(30.0))
    frames = dict(walking.figure.part_frames)
    frames["left_foot"] = frames["left_foot"] @ pitch
    pitched = replace(walking, figure=replace(walking.figure, part_frames=frames))
    _, source = find_stances(pitched, ContactOptions())
    for side in ("left", "right"):
        found = source.figure.part_frames[f"{side}_foot"]
        usual = walking.figure.part_frames[f"{side}_foot"]
        assert np.degrees(angle_between(found, usual)) < 2.0


# --- who gives way


def test_hips_and_legs_share_what_a_foot_needs(standing: Standing):
    """A foot 20 cm before where the copied leg has it.

    Hips go along by a quarter of that, and the pelvis turns by some degrees.
    """
    source, stances, figure = standing
    ahead = move_left_foot(source, np.array((0.2, 0.0, 0.0)))
    q = np.tile(HUMAN.neutral(), (12, 1))
    placed = HUMAN.forward(place_feet(ahead, figure, stances, 1.0, q, 1))
    copied = HUMAN.forward(q)
    moved = (placed.positions - copied.positions)[0]
    np.testing.assert_allclose(moved[HUMAN.bone_index("l_foot")], (0.2, 0.0, 0.0), atol=1e-5)
    np.testing.assert_allclose(moved[HUMAN.bone_index("r_foot")], 0.0, atol=1e-5)
    assert 0.045 < moved[0, 0] < 0.07
    turn = np.degrees(angle_between(placed.rotations[0, 0], copied.rotations[0, 0]))
    assert 1.5 < turn < 3.5
    # Ankle and ball are placed: the foot stays flat, and what is above the hips goes with them.
    foot = HUMAN.bone_index("l_foot")
    pitch = placed.rotations[0, foot][:, 0]
    np.testing.assert_allclose(pitch, copied.rotations[0, foot][:, 0], atol=1e-4)
    head = HUMAN.bone_index("head")
    seen = (
        p.rotations[0, 0].T @ (p.positions[0, head] - p.positions[0, 0]) for p in (placed, copied)
    )
    np.testing.assert_allclose(*seen, atol=1e-9)


def test_hips_come_straight_down_for_a_foot_that_is_too_far(standing: Standing):
    """By what the leg of a foot lacks that is 6 cm lower, without leaning to its side."""
    source, stances, figure = standing
    below = move_left_foot(source, np.array((0.0, 0.0, -0.06)))
    q = np.tile(HUMAN.neutral(), (12, 1))
    placed = HUMAN.forward(place_feet(below, figure, stances, 1.0, q, 1))
    moved = (placed.positions - HUMAN.forward(q).positions)[0]
    np.testing.assert_allclose(moved[HUMAN.bone_index("l_foot")], (0.0, 0.0, -0.06), atol=1e-5)
    np.testing.assert_allclose(moved[0], (0.0, 0.0, -0.058), atol=0.003)


def test_roots_are_shifted_up_in_their_own_axes():
    """Those that are free; a root whose axes are turned goes up all the same."""
    turned = HUMAN.with_bones(
        [replace(HUMAN.bones[0], pre=axis_rotation("x", 0.5 * np.pi)), *HUMAN.bones[1:]]
    )
    for skeleton in (HUMAN, turned):
        q = np.tile(skeleton.neutral(), (2, 1))
        moved = skeleton.forward(shift_root(skeleton, q, np.array((0.0, 0.1)))).positions
        change = moved - skeleton.forward(q).positions
        np.testing.assert_allclose(change[0], 0.0, atol=1e-12)
        np.testing.assert_allclose(
            change[1], np.broadcast_to((0, 0, 0.1), change[1].shape), atol=1e-12
        )
    fixed = HUMAN.with_bones([replace(HUMAN.bones[0], joint=ik.Joint.fixed()), *HUMAN.bones[1:]])
    q = fixed.neutral()[None]
    assert shift_root(fixed, q, np.array([0.1])) is q
