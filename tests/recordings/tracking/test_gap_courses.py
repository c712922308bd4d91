"""Joints that have lost their markers: from when on they go by their course, and how firmly."""

from __future__ import annotations

import numpy as np
import pytest

from exactik.model import Bone, Joint, Skeleton
from exactik.recordings.tracking import (
    COLD_START,
    DEFAULT_OPTIONS,
    WARM_START,
    FramePostures,
    FrameSolutions,
    TrackingOptions,
    TrackingProblem,
    TrackingRun,
    combine_postures,
    compute_marker_information,
    make_postures,
    solve_frames,
    solve_gap_frames,
)
from exactik.typing import Array
from tests.support.chains import make_chain, make_problem, move_chain

OPTIONS = DEFAULT_OPTIONS
FRAMES = 30


def lever(lengths: tuple[float, ...]) -> Skeleton:
    """A hinge about z with one marker at each distance [m]: that says its square of the angle."""
    markers = {f"M{k}": ("bar", (length, 0.0, 0.0)) for k, length in enumerate(lengths)}
    return Skeleton.build("lever", [Bone("bar", joint=Joint.revolute("z"))], markers)


def swinging(skeleton: Skeleton) -> tuple[Array, Array]:
    q = 0.3 * np.linspace(0.0, 1.0, FRAMES)[:, None] * np.ones(skeleton.nq)
    return q, skeleton.forward(q).markers


def solved(problem: TrackingProblem, q: Array) -> tuple[TrackingRun, FrameSolutions]:
    run = TrackingRun(
        problem=problem,
        warm_start=WARM_START.options(problem.frame_problem),
        cold_start=COLD_START.options(problem.frame_problem),
        options=TrackingOptions(),
        threads=1,
    )
    return run, solve_frames(problem, run.warm_start, np.arange(len(q)), q)


def postures_of(problem: TrackingProblem, q: Array) -> FramePostures:
    information = compute_marker_information(problem, q)
    return make_postures(problem, q, information, OPTIONS)


@pytest.mark.parametrize(("lost", "on_course"), [(1, False), (0, True)])
def test_a_dof_goes_by_its_course_when_six_tenths_of_what_tells_it_are_lost(
    lost: int, on_course: bool
):
    """Levers of 0.8 and 0.6 m say 64 and 36 % of the angle."""
    bar = lever((0.8, 0.6))
    q, place = swinging(bar)
    place[10:20, lost] = np.nan
    postures = postures_of(make_problem(bar, place), q)
    assert postures.undetermined[10:20].all() == on_course
    assert not postures.undetermined[:10].any() and not postures.undetermined[20:].any()
    assert postures.frames.tolist() == (list(range(10, 20)) if on_course else [])


def test_how_firmly_it_is_pulled_to_its_course():
    """Of 64 % lost, the 36 % that are left and the course settle it about three to one."""
    bar = lever((0.8, 0.6))
    q, place = swinging(bar)
    place[10:20, 0] = np.nan
    turned = bar.forward(q[10:20] + 0.1).markers
    place[10:20, 1] = turned[:, 1]  # what is left says 0.1 rad more
    problem = make_problem(bar, place)
    start = q.copy()
    start[10:20] += 0.1
    run, path = solved(problem, start)
    assert path.q[10:20] - q[10:20] == pytest.approx(0.1, abs=1e-3)
    solve_gap_frames(run, path, postures_of(problem, path.q))
    off = path.q[:, 0] - q[:, 0]
    assert 0.06 < off[10:20].min() and off[10:20].max() < 0.085
    assert np.abs(np.delete(off, np.s_[10:20])).max() < 1e-3


def test_a_course_leads_straight_from_before_to_after():
    bar = lever((0.8,))
    q, place = swinging(bar)
    place[10:20] = np.nan
    bent = q.copy()
    bent[10:20] = -2.0
    problem = make_problem(bar, place)
    postures = postures_of(problem, bent)
    assert postures.course == pytest.approx(q[10:20], abs=1e-12)
    run, path = solved(problem, bent)
    solve_gap_frames(run, path, postures)
    assert path.q == pytest.approx(q, abs=2e-3)
    # A gap at the end stays at the last pose that is known, one of all frames where it is.
    place[20:] = np.nan
    assert postures_of(make_problem(bar, place), bent).course == pytest.approx(q[9, 0])
    place[:] = np.nan
    assert postures_of(make_problem(bar, place), bent).course == pytest.approx(bent)


def test_quaternions_have_a_course_too():
    bones = [Bone("body", joint=Joint.quaternion())]
    figure = Skeleton.build("ball", bones, {"A": ("body", (1, 0, 0)), "B": ("body", (0, 1, 0))})
    angle = 0.5 * np.linspace(0.0, 1.0, FRAMES)
    q = np.stack([np.cos(angle), 0 * angle, 0 * angle, np.sin(angle)], axis=1)
    place = figure.forward(q).markers
    place[10:20] = np.nan
    postures = postures_of(make_problem(figure, place), q)
    assert np.linalg.norm(postures.course, axis=1) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(postures.course - q[10:20]).max() < 1e-3
    place[:] = np.nan  # nothing is known of any frame
    assert postures_of(make_problem(figure, place), q).course == pytest.approx(q)


def test_what_markers_say_is_averaged_over_the_recording():
    """Folded at both ends of the recording, stretched in between: the shoulder feels the hand."""
    bones = [
        Bone("upper", joint=Joint.revolute("z")),
        Bone("lower", parent="upper", offset=(0.3, 0, 0), joint=Joint.revolute("z")),
    ]
    arm = Skeleton.build("arm", bones, {"HAND": ("lower", (0.3, 0.0, 0.0))})
    t = np.linspace(0.0, 1.0, 200)
    q = np.stack([0.0 * t, 3.0 * np.cos(np.pi * t) ** 2], axis=1)
    problem = make_problem(arm, arm.forward(q).markers)
    said = compute_marker_information(problem, q)[0]
    levers = np.linalg.norm(arm.forward(q).markers[:, 0], axis=1)
    assert said[0] == pytest.approx((levers**2).mean(), rel=0.1)
    assert said[1] == pytest.approx(0.3**2)


def test_two_pulls_are_one():
    chain = make_chain(2, 3)
    one, two = np.zeros((1, chain.nq)), np.full((1, chain.nq), 0.4)
    weight = np.full((1, chain.nv), 1.0)
    posture, total = combine_postures(chain, one, weight, two, 3.0 * weight)
    assert posture[0, 6:] == pytest.approx(0.3) and total == pytest.approx(4.0)
    posture, total = combine_postures(chain, one, 0.0 * weight, two, 0.0 * weight)
    assert posture == pytest.approx(one) and not total.any()


def test_postures_of_a_part_are_counted_from_its_first_frame():
    bar = lever((0.8, 0.6))
    q, place = swinging(bar)
    place[10:20, 0] = np.nan
    postures = postures_of(make_problem(bar, place), q)
    part = postures.between(12, 25)
    assert part.frames.tolist() == list(range(8)) and len(part.undetermined) == 13
    assert part.course == pytest.approx(postures.course[2:])
    posture, weight = postures.combine(np.array([5, 10, 19, 20]))
    pulled = weight[:, 0] > 10 * postures.neutral_weight[0]
    assert pulled.tolist() == [False, True, True, False]
    assert posture[1:3, 0] == pytest.approx(q[[10, 19], 0], abs=1e-3)


def test_nothing_is_lost_where_nothing_is_missing():
    chain = make_chain(3, 3)
    q = move_chain(chain, 12)
    postures = postures_of(make_problem(chain, chain.forward(q).markers), q)
    assert len(postures.frames) == 0 and not postures.undetermined.any()
