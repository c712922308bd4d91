"""The packed problem of a recording, cold starts, threshold by threshold."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.errors import ModelError, ShapeError, UsageError
from exactik.model import Bone, Joint, Skeleton
from exactik.model.motion import Markers
from exactik.recordings.tracking import (
    COLD_START,
    TrackingOptions,
    _first_pass,
    align_to_markers,
    find_nearest_equivalents,
    make_tracking_problem,
    match_markers,
    solve_cold_start,
    solve_frames,
    track,
    unwrap_path,
)
from tests.support.chains import make_chain, make_problem, make_rigid_body, move_chain
from tests.support.models import planar_arm


def markers_called(*names: str) -> Markers:
    return Markers(np.zeros((1, len(names), 3)), names, 60.0)


def figure_with(*names: str) -> Skeleton:
    return make_rigid_body(np.eye(3)).with_markers(dict.fromkeys(names, ("body", (0, 0, 0))))


# --- names, weights, losses


def test_a_name_that_could_be_two_is_left_out():
    figure = figure_with("A", "a", "B", "C")
    assert match_markers(figure, markers_called("A", "x:B", "c")) == {
        "A": "A",
        "x:B": "B",
        "c": "C",
    }
    assert match_markers(figure, markers_called("x:a", "y:A")) == {"x:a": "a", "y:A": "A"}
    # Two recorded markers of one name, and one that two of the figure could be.
    assert match_markers(figure, markers_called("x:B", "y:B")) == {}
    assert match_markers(figure_with("Ab", "aB"), markers_called("ab")) == {}


def test_names_in_a_message_are_six_at_most():
    names = tuple(f"N{k}" for k in range(9))
    with pytest.raises(ModelError) as caught:
        make_tracking_problem(figure_with("A"), markers_called(*names))
    assert "N5" in str(caught.value) and "N6" not in str(caught.value)
    with pytest.raises(ModelError, match="the skeleton has none"):
        make_tracking_problem(figure_with(), markers_called(*names))


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        ([1.0, 2.0, 3.0], None),
        ([1.0, 0.0, 0.0], None),
        ([1.0, 2.0], ShapeError),
        ([1.0, 2.0, -1.0], UsageError),
        ([1.0, 2.0, np.inf], UsageError),
        ([0.0, 0.0, 0.0], UsageError),
    ],
)
def test_weights_are_numbers_from_0_on(weights: list[float], error: type[Exception] | None):
    body = make_rigid_body(np.eye(3))
    markers = Markers(np.zeros((1, 3, 3)), tuple(body.markers), 60.0)
    if error is None:
        problem = make_tracking_problem(body, markers, weights=weights)
        assert problem.targets.weight.tolist() == weights
    else:
        with pytest.raises(error, match="weights"):
            make_tracking_problem(body, markers, weights=weights)


@pytest.mark.parametrize("posture", [-1e-9, np.inf, np.nan])
def test_a_posture_that_cannot_be_is_refused(posture: float):
    body = make_rigid_body(np.eye(3))
    with pytest.raises(UsageError, match="posture"):
        make_tracking_problem(
            body, Markers(np.zeros((1, 3, 3)), tuple(body.markers), 60.0), posture=posture
        )


def test_postures_settle_what_is_open_and_move_nothing_else():
    """A lever of 1 cm in a figure of half a metre gives way by some 0.1 %, one of 30 cm not.

    The root is not pulled to neutral at all.
    """
    bones = [
        Bone("root", joint=Joint.free("ZYX")),
        Bone("long", parent="root", offset=(0.3, 0, 0), joint=Joint.revolute("z")),
        Bone("short", parent="long", offset=(0.3, 0, 0), joint=Joint.revolute("z")),
        Bone("blind", parent="short", offset=(0.1, 0, 0), joint=Joint.revolute("z")),
    ]
    markers = {
        "R0": ("root", (0.1, 0.0, 0.0)),
        "R1": ("root", (0.0, 0.1, 0.0)),
        "R2": ("root", (0.0, 0.0, 0.1)),
        "R3": ("root", (0.2, 0.1, 0.1)),
        "L": ("long", (0.3, 0.0, 0.0)),
        "S": ("short", (0.01, 0.0, 0.0)),
    }
    figure = Skeleton.build("levers", bones, markers)
    q = np.array([5.0, 5.0, 5.0, 1.0, 0.5, 0.5, 1.0, 1.0, 0.7])
    problem = make_problem(figure, figure.forward(q[None]).markers)
    options = ik.Auto(tolerance=1e-12).options(problem.frame_problem)
    found = solve_frames(problem, options, np.array([0]), q[None]).q[0]
    assert np.abs(found[:6] - q[:6]).max() < 1e-4
    assert abs(q[6] - found[6]) < 1e-4
    assert 2e-4 < q[7] - found[7] < 2e-3
    assert abs(found[8]) < 1e-9


def test_locked_dofs_and_roots_have_no_posture():
    chain = make_chain(3, 2)
    markers = Markers(np.zeros((1, 6, 3)), tuple(chain.markers), 60.0)
    weight = make_tracking_problem(chain, markers, lock="b1").targets.rest_weight[0]
    assert (weight[:9] == 0.0).all() and (weight[9:] > 0.0).all()


def test_a_robust_loss_begins_wide_from_afar():
    body = make_rigid_body(np.eye(3))
    markers = Markers(np.zeros((2, 3, 3)), tuple(body.markers), 60.0)
    robust = make_tracking_problem(body, markers, robust="huber", width=0.01)
    assert (robust.robust, robust.loss_width) == ("huber", 0.01)
    # A marker four times the width off counts in full at first.
    assert robust.with_wide_loss().targets.loss.tolist()[1:] == [0.01, 4.0]
    plain = make_tracking_problem(body, markers)
    assert plain.with_wide_loss() is plain


def test_robust_weights_are_those_of_the_loss():
    body = make_rigid_body(0.3 * np.eye(3))
    place = np.tile(0.3 * np.eye(3), (3, 1, 1))
    place[1, 0] += (0.05, 0.0, 0.0)
    place[2, 1] = np.nan
    markers = Markers(place, tuple(body.markers), 60.0)
    for robust, expected in (("huber", 0.2), ("tukey", 0.0)):
        problem = make_tracking_problem(body, markers, robust=robust, width=0.01)
        problem.update_robust_weights(np.zeros((3, 6)))
        weight = problem.targets.robust_weight
        assert weight[1, 0] == pytest.approx(expected, abs=0.01)
        assert weight[0] == pytest.approx(1.0, abs=0.03) and weight[2, 1] == 0.0
    quadratic = make_tracking_problem(body, markers)
    quadratic.update_robust_weights(np.zeros((3, 6)))
    assert quadratic.targets.robust_weight.shape == (0, 3)


def test_some_frames_are_the_same_problem():
    chain = make_chain(2, 3)
    q = move_chain(chain, 12)
    problem = make_problem(chain, chain.forward(q).markers)
    some = np.array([7, 2])
    assert problem.select(some).residuals(q[some]) == pytest.approx(0.0, abs=1e-12)
    assert np.abs(problem.select(some).residuals(q[:2])).max() > 0.01
    alone = problem.select(some[:1]).with_targets(confidence=np.full((1, 6), 0.5))
    assert alone.select(np.array([0, 0])).targets.confidence.shape == (2, 6)
    each = problem.with_targets(confidence=np.arange(72.0).reshape(12, 6))
    assert each.select(some).targets.confidence.tolist() == [
        list(np.arange(42.0, 48.0)),
        list(np.arange(12.0, 18.0)),
    ]


# --- cold starts


def test_cold_starts_are_spread_over_a_third_of_the_limits():
    joint = Joint.revolute("z", limits=(-2.0, 2.0))
    bones = [Bone("a", joint=joint)]
    bones += [Bone(f"b{k}", parent="a", offset=(0.1 * k, 0, 0), joint=joint) for k in range(9)]
    figure = Skeleton.build("fan", bones, {"M": ("b8", (0.1, 0, 0))})
    problem = make_problem(figure, np.zeros((1, 1, 3)))
    poses = _first_pass.make_start_poses(problem, 24)
    assert poses.shape == (24, 10) and not poses[0].any()
    assert 0.4 < np.abs(poses).max() <= 0.6
    assert _first_pass.make_start_poses(problem, 1).shape == (1, 10)


def test_a_cold_start_takes_the_best_or_the_first_that_is_good_enough():
    """An elbow that bends one way only: of several starts one fits."""
    chain = make_chain(4, 2)
    q = np.random.default_rng(1).uniform(-2.5, 2.5, (3, chain.nv))
    problem = make_problem(chain, chain.forward(q).markers)
    options, frames = COLD_START.options(problem.frame_problem), np.arange(3)
    one, many = (solve_cold_start(problem, options, frames, n).cost for n in (1, 12))
    assert (many <= one + 1e-9).all() and many.max() < 1e-6 < one.max()
    enough = solve_cold_start(problem, options, frames, 12, small_cost=1e-6).cost
    assert enough.max() <= 1e-6
    # None is good enough: all are tried, and the best is kept.
    none = solve_cold_start(problem, options, frames, 12, small_cost=1e-300).cost
    assert none == pytest.approx(many, abs=1e-7)
    first = solve_cold_start(problem, options, frames, 12, small_cost=1e3)
    assert first.cost.max() > 1e-6  # the first start was good enough


def test_poses_are_aligned_where_the_root_is_free():
    chain = make_chain(2, 3)
    q = move_chain(chain, 5)
    q[:, :3] += 2.0
    place = chain.forward(q).markers
    bent = np.zeros_like(q)
    bent[:, 6:] = q[:, 6:]
    frames = np.arange(5)
    problem = make_problem(chain, place)
    assert np.abs(problem.residuals(align_to_markers(problem, bent, frames))).max() < 1e-9
    few = place.copy()
    few[2, 2:] = np.nan
    few[3, 3:] = np.nan
    aligned = align_to_markers(make_problem(chain, few), bent, frames)
    assert np.array_equal(aligned[2], bent[2]) and not np.array_equal(aligned[3], bent[3])
    markers = Markers(place, tuple(chain.markers), 60.0)
    weights = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    lost = place.copy()
    lost[:, 3:] = np.nan
    lost[0] = place[0]
    weightless = make_tracking_problem(chain, Markers(lost, markers.names, 60.0), weights=weights)
    aligned = align_to_markers(weightless, bent, frames)
    assert np.array_equal(aligned[1:], bent[1:]) and not np.array_equal(aligned[0], bent[0])
    locked = make_tracking_problem(chain, markers, lock="b0.tx")
    assert np.array_equal(align_to_markers(locked, bent, frames), bent)
    arm = planar_arm()
    fixed = make_problem(arm, np.zeros((1, 1, 3)))
    assert np.array_equal(align_to_markers(fixed, np.ones((1, 2)), np.array([0])), np.ones((1, 2)))


def test_a_pose_has_the_coordinates_nearest_to_a_reference():
    chain = make_chain(2, 3)
    problem = make_problem(chain, np.zeros((1, 6, 3)))
    q = move_chain(chain, 3)
    turned = q.copy()
    turned[:, 6] += 2.0 * np.pi
    assert find_nearest_equivalents(problem, turned, q) == pytest.approx(q, abs=1e-9)
    path = np.concatenate([q[:1], turned[1:2], q[2:]])
    unwrap_path(problem, path)
    assert path == pytest.approx(q, abs=1e-9)


# --- seams


def test_every_seam_is_looked_at(monkeypatch: pytest.MonkeyPatch):
    seams: list[tuple[int, int]] = []
    monkeypatch.setattr(
        _first_pass, "join_two_segments", lambda run, path, a, b: seams.append((a.last, b.first))
    )
    chain = make_chain(2, 3)
    markers = Markers(chain.forward(move_chain(chain, 60)).markers, tuple(chain.markers), 60.0)
    options = TrackingOptions(segment_frames=20)
    track(chain, markers, starts=1, branches=False, smooth=None, options=options)
    assert seams == [(19, 20), (39, 40)]


# --- the stages of track


def test_a_wrong_method_or_sigma_is_refused():
    chain = make_chain(2, 3)
    markers = Markers(chain.forward(move_chain(chain, 3)).markers, tuple(chain.markers), 60.0)
    for sigma in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(UsageError, match="sigma"):
            track(chain, markers, sigma=sigma)
    assert track(chain, markers, sigma=0.5).sigma == 0.5
