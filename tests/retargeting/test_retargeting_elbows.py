"""The way of the elbow: candidates all round its circle, and the shortest path through them."""

from __future__ import annotations

import numpy as np
import pytest

from exactik.lab.synthetic import simulate_performance
from exactik.retargeting import (
    ArmSearch,
    Retargeting,
    choose_candidates,
    extract_arm,
    find_elbow_circle,
    measure_hand_places,
    retarget,
)
from exactik.retargeting.body import find_limb
from exactik.spatial import axis_rotation
from exactik.typing import Array
from tests.support.retargeting_figures import make_robot


@pytest.fixture(scope="module")
def walked() -> Retargeting:
    """Half a second of walking, taken over by a robot of hinges."""
    walk = simulate_performance(2.0, rate=30.0, acts=("walk",)).between(0.0, 0.5)
    return retarget(walk, make_robot())


def test_candidates_have_their_wrist_in_place_and_their_elbow_where_limits_let_it(
    walked: Retargeting,
):
    """Elbows come before how hands are turned, wrists before elbows."""
    figure, q = walked.target_figure, walked.motion.q
    limb = find_limb(figure, "left_arm")
    pose = figure.skeleton.forward(q)
    places = measure_hand_places(walked.source_body, figure, pose)["left"].target
    arm, moves = extract_arm(figure, limb)
    own = q[:, moves]
    circle, wrists = find_elbow_circle(figure, limb, "left", q, places)
    search = ArmSearch(figure, limb, "left", arm, arm.forward(own).rotations, 1)
    candidates, misses = search.sweep(own, own, circle, wrists, 0.001)
    assert np.percentile(misses, 75) < 15e-6
    elbow = figure.anatomy.parts["left_forearm"].start
    found = arm.forward(candidates).point(elbow)
    off = np.linalg.norm(found - np.concatenate([circle, circle], axis=1), axis=2)
    assert np.percentile(off, 25) < 2e-3
    # Forwards and backwards in time.
    assert candidates.shape[:2] == misses.shape == (len(q), 48)


# --- the path


def make_candidates(angles: list[list[float]]) -> Array:
    """Return turns about z of one bone, (T, K, 1, 3, 3)."""
    return axis_rotation("z", np.array(angles))[:, :, None]


def choose(
    angles: list[list[float]],
    *,
    misses: list[list[float]] | None = None,
    coordinates: list[list[float]] | None = None,
    wanted: float = 0.0,
) -> list[int]:
    """Return the path through candidates that are turned by angles [rad]."""
    turned = make_candidates(angles)
    nothing = np.zeros(np.shape(angles))
    copied = make_candidates([[wanted]] * len(angles))[:, 0]
    moved = nothing if coordinates is None else np.array(coordinates)
    off = nothing if misses is None else np.array(misses)
    return choose_candidates(off, turned, moved[..., None], copied).tolist()


def test_the_arm_turns_least():
    assert choose([[0.0, 0.0], [0.1, 1.0], [0.2, 2.0]]) == [0, 0, 0]
    assert choose([[0.0], [1.0], [0.1]]) == [0, 0, 0]


def test_an_arm_rather_goes_all_round_than_lets_its_wrist_go():
    """By half a turn in a frame and back, for a wrist that is off by 1.2 times what it may be."""
    off, near = [[0.0, 0.0], [1.2, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.9, 0.0], [0.0, 0.0]]
    assert choose([[0.0, 0.0], [0.0, np.pi - 0.1], [0.0, 0.0]], misses=off)[1] == 1
    # Within what it may be off, it does not matter where a wrist is.
    assert choose([[0.0, 0.0], [0.0, 0.1], [0.0, 0.0]], misses=near)[1] == 0


@pytest.mark.parametrize(("turn", "chosen"), [(0.12, 1), (0.4, 0)])
def test_a_hinge_that_spins_counts_as_a_small_turn(turn: float, chosen: int):
    """One that turns by 1 rad while the arm stays, against an arm that turns by 0.22 rad."""
    angles = [[0.0, 0.0], [0.0, turn]]
    assert choose(angles, coordinates=[[0.0, 0.0], [1.0, 0.0]])[1] == chosen


@pytest.mark.parametrize(("frames", "chosen"), [(30, 0), (300, 1)])
def test_an_elbow_goes_back_to_the_copied_arm_if_it_has_time(frames: int, chosen: int):
    """From an arm that is turned by 1 rad to the copied one: worth it for some seconds."""
    angles = [[1.0, 1.0], *[[1.0, 0.0]] * frames, [1.0, 1.0]]
    path = choose(angles)
    assert path[frames // 2] == chosen
