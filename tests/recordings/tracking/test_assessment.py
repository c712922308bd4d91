"""What is said about a track, threshold by threshold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.model.functions import Linear
from exactik.model.motion import Markers
from exactik.recordings.tracking import (
    UNKNOWN_SD,
    Track,
    are_minima,
    compute_combination_deviations,
    compute_standard_deviations,
    estimate_noise,
    make_tracking_problem,
)
from exactik.typing import Array
from exactik.typing import BoolArray as Mask
from tests.support.chains import make_chain, make_problem, move_chain
from tests.support.models import planar_arm

FRAMES = 80


@pytest.fixture(scope="module")
def plain() -> Track:
    """A chain of eight bones that is solved without a doubt; tests say what else is the case."""
    chain = make_chain(8, 3)
    place = chain.forward(move_chain(chain, FRAMES)).markers
    markers = Markers(place, tuple(chain.markers), 60.0)
    return ik.track(chain, markers, branches=False, starts=2, smooth=None)


def told(track: Track, jumping: Mask | None = None, **fields: Any) -> Track:
    """The same with errors of a millimetre, all at rest, other fields, and jumps from frames."""
    usual: dict[str, Any] = {
        "marker_errors": np.full(track.marker_errors.shape, 1e-3),
        "ended": np.full(FRAMES, "converged", dtype="U15"),
        "projected_gradient": np.zeros(FRAMES),
        "undetermined": np.zeros((FRAMES, track.skeleton.nv), dtype=bool),
        "excess_cost": np.zeros(FRAMES),
        "marker_weights": np.ones(track.marker_errors.shape),
    }
    changed = replace(track, **(usual | fields))
    if jumping is not None:  # in place of what its poses say
        bones = np.zeros((FRAMES, len(track.skeleton.bones)), dtype=bool)
        bones[jumping, 2] = True
        vars(changed)["jumping_bones"] = bones
    return changed


def segments_of(track: Track, kind: str) -> list[tuple[int, int]]:
    entries = [entry for entry in track.attention if entry.kind == kind]
    return sorted((entry.first, entry.last) for entry in entries)


# --- the list


@pytest.mark.parametrize(
    ("kind", "joined", "apart"),
    [("gap", 2, 4), ("excess-cost", 4, 6), ("jump", 4, 6)],
)
def test_segments_of_a_kind_that_nearly_touch_are_one(
    plain: Track, kind: str, joined: int, apart: int
):
    def mark(free: int) -> Track:
        hit = np.zeros(FRAMES, dtype=bool)
        hit[20:25] = hit[25 + free : 30 + free] = True
        if kind == "gap":
            return told(plain, undetermined=hit[:, None] * np.ones(plain.skeleton.nv, dtype=bool))
        if kind == "jump":
            hit[[24, 29 + free]] = False  # the frame that is jumped to belongs to it
            return told(plain, jumping=hit)
        return told(plain, excess_cost=np.where(hit, 0.2, 0.0))

    assert segments_of(mark(joined), kind) == [(20, 29 + joined)]
    assert segments_of(mark(apart), kind) == [(20, 24), (25 + apart, 29 + apart)]


def with_all_kinds(track: Track, lengths: dict[str, int]) -> Track:
    """Each kind for so many frames, one after the other, ten frames apart."""
    fields = vars(told(track))
    errors, ended = fields["marker_errors"].copy(), fields["ended"].copy()
    gradient, jumping = fields["projected_gradient"].copy(), np.zeros(FRAMES, dtype=bool)
    open_dofs, excess_cost = fields["undetermined"].copy(), fields["excess_cost"].copy()
    weights = fields["marker_weights"].copy()
    for k, (kind, length) in enumerate(lengths.items()):
        frames = slice(10 * k, 10 * k + length)
        match kind:
            case "no-markers":
                errors[frames, 2:] = np.nan
            case "not-converged":
                ended[frames], gradient[frames] = "stalled", 1.0
            case "gap":
                open_dofs[frames, 10] = True
            case "jump":
                jumping[frames.start : frames.stop - 1] = True
            case "excess-cost":
                excess_cost[frames] = 0.3
            case "ignored-marker":
                weights[frames, 3] = 0.0
    return told(
        track,
        jumping=jumping,
        marker_errors=errors,
        ended=ended,
        projected_gradient=gradient,
        undetermined=open_dofs,
        excess_cost=excess_cost,
        marker_weights=weights,
    )


@pytest.mark.parametrize(
    "lengths",
    [
        # The gravest first: what is wrong before what is doubtful, at like length.
        {
            "no-markers": 3,
            "gap": 3,
            "jump": 3,
            "excess-cost": 4,
            "ignored-marker": 2,
        },
        # Longer ones before graver ones.
        {
            "ignored-marker": 9,
            "excess-cost": 8,
            "jump": 3,
            "gap": 1,
            "not-converged": 0,
        },
        {"not-converged": 4, "no-markers": 2, "gap": 2},
        {"jump": 8, "not-converged": 2, "excess-cost": 8, "no-markers": 0},
        {"gap": 4, "no-markers": 1},
    ],
)
def test_the_order_in_which_to_look(plain: Track, lengths: dict[str, int]):
    track = with_all_kinds(plain, lengths)
    expected = [kind for kind, length in lengths.items() if length > 0]
    assert [entry.kind for entry in track.attention] == expected
    for entry in track.attention:
        assert entry.last - entry.first + 1 == lengths[entry.kind]


def test_what_costs_more_than_the_best_is_said_from_a_hundredth_on(plain: Track):
    """And listed where it comes to a twentieth somewhere."""
    excess_cost = np.zeros(FRAMES)
    excess_cost[5], excess_cost[20:30], excess_cost[50:60] = 0.005, 0.03, 0.03
    excess_cost[55] = 0.2
    track = told(plain, excess_cost=excess_cost)
    assert segments_of(track, "excess-cost") == [(50, 59)]
    assert track.attention[0].value == 0.2 and "two poses fit" in track.attention[0].text
    said = ["Another costs" in sentence for sentence in track.why]
    assert np.flatnonzero(said).tolist() == [*range(20, 30), *range(50, 60)]
    assert "17 % less" in track.why[55]


def test_a_marker_is_left_out_below_a_fifth_of_its_weight(plain: Track):
    weights = np.ones(plain.marker_errors.shape)
    weights[10:20, 4], weights[40:50, 4] = 0.5, 0.1
    track = told(plain, marker_weights=weights)
    assert segments_of(track, "ignored-marker") == [(40, 49)]
    assert plain.names[4] in track.attention[0].text and "1 mm off" in track.attention[0].text
    assert told(plain, marker_weights=None).attention == []
    errors = np.full(plain.marker_errors.shape, 1e-3)
    errors[40:50, 4] = np.nan  # missing, not left out
    assert told(plain, marker_weights=weights, marker_errors=errors).attention == []


def test_a_gap_names_its_bones(plain: Track):
    undetermined = np.zeros((FRAMES, plain.skeleton.nv), dtype=bool)
    undetermined[10:20, 6:24] = True  # three dofs each of six bones
    track = told(plain, undetermined=undetermined)
    assert segments_of(track, "gap") == [(10, 19)]
    assert "b1, b2, b3, b4" in track.attention[0].text and "b5" not in track.attention[0].text
    assert "b1.r" in track.why[15] and "Not determined" in track.why[15]
    assert track.status[9] != "gap" and track.status[10] == "gap"


# --- words of a frame


def test_a_descent_that_stalled_near_its_end_has_converged(plain: Track):
    ended = np.full(FRAMES, "stalled", dtype="U15")
    ended[0] = "converged"
    gradient = np.full(FRAMES, 5e-4)
    gradient[0], gradient[10] = 1.0, 5e-3
    track = told(plain, ended=ended, projected_gradient=gradient)
    assert np.flatnonzero(~track.converged).tolist() == [10]
    assert track.status[10] == "not-converged" and "No pose was found" in track.why[10]
    assert not track.certified[10] and track.certified[20]


def test_limits_are_named_and_locked_dofs_are_not(plain: Track):
    arm = planar_arm()
    bones = [replace(bone, joint=replace(bone.joint, limits=((-1.0, 1.0),))) for bone in arm.bones]
    arm = ik.Skeleton("arm", tuple(bones), {"A": ("upper", (0.4, 0.1, 0.0)), **arm.markers})
    q = np.array([[0.5, 0.5], [0.5, 1.2], [-1.3, 0.5]])
    markers = Markers(arm.forward(q).markers, tuple(arm.markers), 60.0)
    track = ik.track(arm, markers, smooth=None, robust=None)
    assert track.at_limits.tolist() == [[False, False], [False, True], [True, False]]
    locked = ik.track(arm, markers, lock="upper", smooth=None, robust=None)
    assert not locked.at_limits[:, 0].any()
    assert "lower.rz" in track.why[1] or track.status[1] == "no-markers"


def test_a_track_is_saved_and_reported(plain: Track, tmp_path: Path):
    plain.save(tmp_path / "take.bvh")
    plain.report(tmp_path / "take.html")
    assert {path.name for path in tmp_path.iterdir()} == {"take.bvh", "take.html"}


# --- error bars


def test_noise_by_what_was_not_fitted():
    """3 · 4 coordinates less 6 dofs a frame; frames with too few markers tell nothing."""
    errors = np.full((10, 4), 0.002)
    errors[5:, 1:] = 0.5
    errors[5:, 2:] = np.nan
    assert estimate_noise(errors, 6) == pytest.approx(np.sqrt(4 * 0.002**2 / 6))
    assert estimate_noise(errors[:, :2], 6) == pytest.approx(0.002)
    assert estimate_noise(np.tile(errors[:5], (300, 1)), 6) == pytest.approx(
        estimate_noise(errors[:5], 6)
    )


def lever(length: float, frames: int = 30) -> tuple[ik.Skeleton, Array]:
    """A hinge with one marker so far from it [m], and the marker's places."""
    arm = planar_arm().with_markers({"HAND": ("lower", (length, 0.0, 0.0))})
    return arm, arm.forward(np.full((frames, 2), 0.3)).markers


def test_error_bars_are_noise_over_lever_and_end_where_nothing_is_known():
    arm, place = lever(0.1)
    problem = make_problem(arm, place)
    q = np.full((30, 2), 0.3)
    sd = compute_standard_deviations(problem, q, 0.001, 1)
    alone = np.sqrt(0.001**2 / 0.1**2 + 0.0)
    assert sd[0, 1] > alone and np.ptp(sd, axis=0).max() < 1e-12
    assert UNKNOWN_SD == pytest.approx(1.8138, abs=1e-3)
    unseen = make_problem(arm, np.full_like(place, np.nan))
    assert compute_standard_deviations(unseen, q, 0.001, 1) == pytest.approx(UNKNOWN_SD)
    # What fits exactly still has rounding: a micrometre.
    least = compute_standard_deviations(problem, q, 1e-6, 1)
    assert compute_standard_deviations(problem, q, 0.0, 1) == pytest.approx(least)
    assert compute_standard_deviations(problem, q, 1e-6 / 3, 2) == pytest.approx(least)
    assert least[0, 1] < 0.2 * compute_standard_deviations(problem, q, 1e-5, 1)[0, 1]


@pytest.mark.parametrize("coupled", [False, True])
def test_error_bars_are_those_of_dense_inverses(coupled: bool):
    """Where markers fit exactly: σ² (JᵀJ + P)⁻¹; also where a hinge follows another one."""
    names = ("a", "b", "c")
    bones = [
        ik.Bone(name, parent=above, offset=(0.3, 0, 0), joint=ik.Joint.revolute(axis))
        for name, above, axis in zip(names, (None, "a", "b"), ("z", "y", "z"), strict=True)
    ]
    places = {name.upper(): (name, (0.2, 0.1, 0.05)) for name in names}
    couplings = [ik.Coupling("c.rz", "b.ry", Linear(0.5))] if coupled else []
    figure, sigma = ik.Skeleton.build("three", bones, places, couplings), 0.002
    q = np.tile(np.linspace(0.2, 0.5, figure.nv), (2, 1))
    markers = ik.Markers(figure.forward(q).markers, tuple(figure.markers), 100.0)
    problem = make_tracking_problem(figure, markers, posture=0.0)
    goals = [ik.MarkerGoal(n, x) for n, x in zip(markers.names, markers.positions[0], strict=True)]
    curvature = ik.Problem(figure, goals).gauss_newton(q[0])
    covariance = sigma**2 * np.linalg.inv(curvature + (sigma / UNKNOWN_SD) ** 2 * np.eye(figure.nv))
    sd = compute_standard_deviations(problem, q, sigma, 1)
    np.testing.assert_allclose(sd, np.tile(np.sqrt(np.diag(covariance)), (2, 1)), rtol=1e-10)
    rows = np.random.default_rng(0).normal(size=(2, 4, figure.nv))
    actual = compute_combination_deviations(problem, q, sigma, 1, 4, lambda frames: rows[frames])
    expected = np.sqrt(np.einsum("tmi,ij,tmj->tm", rows, covariance, rows))
    np.testing.assert_allclose(actual, expected, rtol=1e-10)
    assert are_minima(problem, q).all()


def test_what_is_never_determined_is_known_to_half_a_radian_at_most():
    """A lever of 10 cm: cameras good to 2 cm leave 0.2 rad, such of 10 cm a whole radian."""
    arm = planar_arm().with_markers(
        {"A": ("upper", (0.4, 0.1, 0)), "B": ("upper", (0.4, -0.1, 0)), "C": ("lower", (0.1, 0, 0))}
    )
    place = arm.forward(np.full((30, 2), 0.3)).markers
    track = ik.track(arm, Markers(place, tuple(arm.markers), 60.0), smooth=None, sigma=0.02)
    assert track.never_determined == ()
    assert replace(track, sigma=0.1).never_determined == ("lower.rz",)
    # By frames all over the recording: at both ends the marker is missing.
    place[[0, -1], 2] = np.nan
    track = ik.track(arm, Markers(place, tuple(arm.markers), 60.0), smooth=None, sigma=0.02)
    assert track.never_determined == ()
    # By those with fewer than three markers where there are no others.
    place[:, 0] = np.nan
    track = ik.track(arm, Markers(place, tuple(arm.markers), 60.0), smooth=None, sigma=0.02)
    assert track.never_determined == ()


def test_a_pose_on_a_ridge_is_no_minimum():
    """A marker beyond reach: stretched towards it is the best, folded away from it the worst."""
    arm = planar_arm()
    target = np.array([[[2.0, 0.0, 0.0]]] * 2)
    poses = np.array([[0.0, 0.0], [np.pi, 0.0]])
    assert are_minima(make_problem(arm, target), poses).tolist() == [True, False]
    assert are_minima(make_problem(arm, target), poses[1:], np.array([1])).tolist() == [False]
