"""What is a jump, what it is charged, and which of two paths is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.descent.results import FRAME_RESULT_SIZE
from exactik.model import Bone, Joint
from exactik.model.motion import Markers
from exactik.recordings.tracking import (
    FramePoses,
    FrameSolutions,
    compute_step_charges,
    find_jumps,
    find_limbs,
    make_tracking_problem,
    take_better_segments,
)
from exactik.recordings.tracking._branches import MIN_LIMB_DOFS
from exactik.typing import Array
from tests.support.chains import make_rigid_body
from tests.support.two_elbows import ARM, RATE, WEIGHTS, make_run, place_arm, place_targets


def jumps_of(steps: list[float], marker_steps: list[float] | None = None) -> list[int]:
    """Frames from which an arm jumps whose shoulder makes steps [rad], its elbow's marker [m]."""
    q = np.zeros((len(steps) + 1, 2))
    q[1:, 0] = np.cumsum(steps)
    place = ARM.forward(q).markers
    if marker_steps is not None:
        place[1:, 0, 2] += np.cumsum(marker_steps)
    problem = make_tracking_problem(ARM, Markers(place, tuple(ARM.markers), RATE))
    return find_jumps(problem, q).tolist()


def test_a_bone_that_turns_faster_than_sixty_radians_a_second_jumps():
    assert jumps_of([0.0, 0.0, 0.4, 0.0, 0.0]) == []
    assert jumps_of([0.0, 0.0, 0.8, 0.0, 0.0]) == [2]


def test_what_the_steps_around_do_too_is_no_jump():
    assert jumps_of([0.5, 0.5, 1.2, 0.5, 0.5]) == []
    assert jumps_of([0.5, 0.5, 2.0, 0.5, 0.5]) == [2]
    assert jumps_of([0.0, 0.0, 0.8, -0.8, 0.0]) == [2, 3]  # there and back: the quiet side counts
    assert jumps_of([0.8, 0.0, 0.0]) == [0]  # at the end there is only one


def test_a_marker_that_leaves_its_place_faster_than_three_metres_a_second_jumps():
    assert jumps_of([0.0] * 5, [0.0, 0.0, 0.02, 0.0, 0.0]) == []
    assert jumps_of([0.0] * 5, [0.0, 0.0, 0.05, 0.0, 0.0]) == [2]


def test_a_marker_that_is_ignored_may_jump():
    place = np.tile(ARM.forward(np.zeros(2)).markers, (6, 1, 1))
    place[3:, 0, 2] += 0.05
    markers = Markers(place, tuple(ARM.markers), RATE)
    problem = make_tracking_problem(ARM, markers, robust="huber")
    assert find_jumps(problem, np.zeros((6, 2))).tolist() == [2]
    problem.targets.robust_weight[:, 0] = 0.01
    assert find_jumps(problem, np.zeros((6, 2))).tolist() == []


def choose(figure: ik.Skeleton, place: Array, q: Array, other: Array, **options: Any) -> bool:
    """Whether a path `other` is taken in place of q in the one segment in which they differ."""
    run = make_run(figure, place, **options)
    plain, branched = (
        FrameSolutions(each.copy(), np.zeros((len(q), FRAME_RESULT_SIZE))) for each in (q, other)
    )
    take_better_segments(run, run.problem, plain, branched, (q != other).any(axis=1))
    taken = np.array_equal(plain.q, other)
    assert taken or np.array_equal(plain.q, q)
    return taken


class Crossing:
    """An arm whose elbow fits a little better down than up; the hand does not tell.

    A change between the two costs as much as the elbow saves in `fair_frames` frames, at 4 ms.
    """

    def __init__(self) -> None:
        self.up, self.down = place_arm(0.9), place_arm(-0.9)
        self.targets = place_targets(np.array([0.01]))[0]
        costs = [self.cost(q) for q in (self.up, self.down, 0.5 * (self.up + self.down))]
        price = 2 * 0.004 * RATE * (costs[2] - 0.5 * (costs[0] + costs[1]))
        self.fair_frames = price / (costs[0] - costs[1])

    def cost(self, q: Array) -> float:
        square = ((ARM.forward(q).markers - self.targets) ** 2).sum(axis=1)
        return 0.5 * float(WEIGHTS["ELBOW"] * square[0] + WEIGHTS["HAND"] * square[1])

    def is_taken(self, frame_count: int) -> bool:
        """Whether a path with the elbow up takes it down for so many frames."""
        q = np.tile(self.up, (frame_count + 20, 1))
        other = q.copy()
        other[10:-10] = self.down
        return choose(ARM, np.tile(self.targets, (len(q), 1, 1)), q, other, weights=WEIGHTS)


def test_a_change_of_solution_has_to_save_what_the_way_costs():
    crossing = Crossing()
    assert crossing.fair_frames > 10
    assert not crossing.is_taken(round(0.4 * crossing.fair_frames))
    assert crossing.is_taken(round(2.5 * crossing.fair_frames))


@pytest.mark.parametrize(
    ("offsets", "shift", "taken"),
    [
        ((0.0, 0.0, 0.06), 0.02, False),  # squares of 36 and 24 cm², but 2.0 and 2.7 cm on average
        ((0.0, 0.06, 0.06), 0.04, True),  # both are less
        ((0.0, 0.06, 0.06), -0.01, False),  # both are more
    ],
)
def test_neither_mean_nor_square_of_the_errors_may_rise(
    offsets: tuple[float, float, float], shift: float, taken: bool
):
    body = make_rigid_body(np.diag([0.1, 0.2, 0.3]))
    place = body.forward(body.neutral()).markers + np.array([[x, 0.0, 0.0] for x in offsets])
    q = np.tile(body.neutral(), (40, 1))
    other = q.copy()
    other[10:30, 0] += shift
    assert choose(body, np.tile(place, (40, 1, 1)), q, other) == taken


def test_markers_that_the_loss_ignores_do_not_decide():
    """Two markers fit better by 1 cm, a third, half a metre off, by 1 cm worse."""
    body = make_rigid_body(np.diag([0.1, 0.2, 0.3]))
    place = body.forward(body.neutral()).markers
    place[:, 0] += [0.01, 0.01, -0.5]
    q = np.tile(body.neutral(), (40, 1))
    other = q.copy()
    other[10:30, 0] += 0.01
    place = np.tile(place, (40, 1, 1))
    assert choose(body, place, q, other, robust="tukey", width=0.02)
    assert not choose(body, place, q, other)


def test_steps_of_a_motion_are_not_charged():
    """However fast it is: markers half-way are met by the pose half-way."""
    body = make_rigid_body(np.diag([0.1, 0.2, 0.3]))
    q = np.tile(body.neutral(), (20, 1))
    q[:, 0], q[:, 5] = 0.1 * np.arange(20), 0.05 * np.arange(20)
    run = make_run(body, body.forward(q).markers)
    poses = FramePoses(np.arange(20), q, run.problem.residuals(q))
    charges = compute_step_charges(run, poses.take(slice(19)), poses.take(slice(1, 20)))
    assert charges.max() < 1e-6


def test_limbs_of_the_human():
    figure = ik.human()
    locked = np.zeros(figure.nv, dtype=bool)
    minimum = MIN_LIMB_DOFS
    limbs = [
        {figure.dof_names[i].rpartition(".")[0] for i in dofs}
        for dofs in find_limbs(figure, locked, minimum)
    ]
    for bones in (
        {"l_thigh", "l_shin", "l_foot", "l_toes"},
        {"r_thigh", "r_shin", "r_foot", "r_toes"},
        {"lower_neck", "upper_neck", "head"},
    ):
        assert bones in limbs
    assert len(limbs) == 6 and not any("pelvis" in bones for bones in limbs)


def test_a_thumb_is_no_limb_of_its_own():
    hinge = Joint.euler("XYZ")
    bones = [
        Bone("base"),
        Bone("arm", parent="base", offset=(0.1, 0.0, 0.0), joint=hinge),
        Bone("thumb", parent="arm", offset=(0.1, 0.0, 0.0), joint=hinge),
        Bone("palm", parent="arm", offset=(0.1, 0.1, 0.0), joint=hinge),
        Bone("finger", parent="palm", offset=(0.1, 0.0, 0.0), joint=hinge),
    ]
    hand = ik.Skeleton.build("hand", bones, {})
    (limb,) = find_limbs(hand, np.zeros(12, dtype=bool), MIN_LIMB_DOFS)
    assert limb.tolist() == list(range(12))


@pytest.mark.parametrize("branches", [False, True])
def test_nothing_changes_where_nothing_is_found(branches: bool):
    """A path whose every frame is solved exactly is the same with branches."""
    t = np.arange(60) / RATE
    q = np.stack([0.8 * np.sin(2 * t), 1.0 + 0.2 * np.cos(3 * t)], axis=1)
    markers = Markers(ARM.forward(q).markers, tuple(ARM.markers), RATE)
    track = ik.track(ARM, markers, branches=branches, smooth=None)
    assert np.abs(track.motion.q - q).max() < 1e-4 and not track.jumps.any()
