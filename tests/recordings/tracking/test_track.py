"""Tracking a performance that is known: what comes out, and what is said about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import SyntheticRecording, simulate_performance, simulate_recording
from exactik.model.motion import choose_even_frames, cut_into_segments
from exactik.recordings.tracking import TrackingOptions, find_jumps
from tests.support.models import planar_arm
from tests.support.selection import first_quick
from tests.support.tracking import find_determined_dofs, is_within_limits, make_moving_menagerie

STATUSES = {"no-markers", "not-converged", "gap", "at-limits", "converged"}


def cut(rec: SyntheticRecording, first: int, end: int) -> ik.Markers:
    return replace(rec.markers, positions=rec.markers.positions[first:end])


@pytest.fixture(scope="module")
def rec() -> SyntheticRecording:
    """Seven seconds of punches and kicks, seen by good cameras."""
    motion = simulate_performance(7.0, 60.0, seed=3, acts=("punch", "kick"))
    return simulate_recording(motion, noise=0.001, gaps=0.0, swap=False, seed=1)


@pytest.fixture(scope="module")
def solved(rec: SyntheticRecording) -> ik.Track:
    return ik.track(rec.truth.skeleton, rec.markers)


# --- what comes out


def test_angles_are_as_near_the_truth_as_noise_allows(rec: SyntheticRecording, solved: ik.Track):
    q, truth = np.array(solved.motion.q), np.array(rec.truth.q)
    error = solved.skeleton.difference(q, truth)
    free = ~solved.at_limits & find_determined_dofs(solved.skeleton)
    scaled = (error / np.where(free, solved.sd, 1.0))[free]
    assert 0.9 < np.sqrt(np.mean(scaled**2)) < 1.1
    assert solved.sigma == pytest.approx(0.001, rel=0.1)
    # The figure is nearer to the truth than its markers are; at the truth they are 1.6 mm off.
    places = np.linalg.norm(solved.motion.forward().markers - rec.clean, axis=2)
    assert places.mean() < 0.0007 and 0.8e-3 < solved.mean_error < 1e-3 * np.sqrt(8.0 / np.pi)


def test_rounding_does_not_choose_the_pose():
    """Nor does the processor: three joints of a neck, which one head's markers hardly tell apart.

    Stopped at a relative gradient of 1e-4, 334 of the 481 frames are others, by up to 0.9 rad.
    """
    rec = simulate_recording(simulate_performance(4.0, seed=0), noise=0.001, gaps=0.05)
    figure, there = rec.truth.skeleton, rec.markers.positions
    moved = replace(rec.markers, positions=np.nextafter(there, np.inf))
    with_it, without = (ik.track(figure, m, robust=None, smooth=None) for m in (moved, rec.markers))
    assert np.abs(np.array(with_it.motion.q) - without.motion.q).max() < 1e-4
    np.testing.assert_array_equal(with_it.certified, without.certified)


def test_without_noise_it_is_the_truth():
    motion = simulate_performance(2.0, 60.0, acts=("wave",))
    rec = simulate_recording(motion, noise=0.0, gaps=0.0, swap=False)
    solver = ik.Auto(tolerance=1e-9, initial_damping=1e-3, small_cost=0.0, detour=False)
    result = ik.track(motion.skeleton, rec.markers, solver=solver, posture=0.0, smooth=None)
    error = motion.skeleton.difference(result.motion.q, motion.q)
    assert np.abs(error[:, find_determined_dofs(motion.skeleton)]).max() < 1e-6
    assert np.nanmax(result.marker_errors) < 1e-6


def test_limits_are_never_left(rec: SyntheticRecording, solved: ik.Track):
    assert is_within_limits(solved.skeleton, solved.motion.q)
    # Tighter than what the person did: the answer must stop there, to the last digit.
    figure = rec.truth.skeleton
    bones = []
    for bone in figure.bones:
        if bone.name.endswith(("forearm", "shin")):
            limits = tuple((0.6 * low, 0.6 * high) for low, high in bone.joint.limits or ())
            bone = replace(bone, joint=replace(bone.joint, limits=limits))
        bones.append(bone)
    stiff = ik.Skeleton("stiff", tuple(bones), dict(figure.markers))
    for smooth in (None, 8.0):
        result = ik.track(stiff, cut(rec, 0, 150), smooth=smooth)
        assert is_within_limits(stiff, result.motion.q)
        assert result.at_limits.any()
    assert (result.status != "not-converged").mean() > 0.95


def test_whatever_the_start_the_clip_is_the_same(rec: SyntheticRecording):
    figure, markers = rec.truth.skeleton, cut(rec, 0, 200)
    dofs = find_determined_dofs(figure)
    answers = [ik.track(figure, markers, starts=n, smooth=None) for n in (1, 5, 24)]
    for other in answers[1:]:
        gap = figure.difference(other.motion.q, answers[0].motion.q)
        assert np.quantile(np.abs(gap[:, dofs]), 0.99) < 2e-3
        assert other.cost.sum() == pytest.approx(answers[0].cost.sum(), rel=0.01)
    # Begun elsewhere: the same poses in the frames that both have.
    late = ik.track(figure, cut(rec, 60, 200), smooth=None)
    gap = figure.difference(late.motion.q[20:], answers[0].motion.q[80:])
    assert np.quantile(np.abs(gap[:, dofs]), 0.97) < 2e-3


def test_the_order_of_frames_does_not_matter_but_for_gaps(rec: SyntheticRecording):
    """Every frame has one best pose: a recording shuffled at its start leads to the same ones."""
    figure, count = rec.truth.skeleton, 60
    order = np.arange(200)
    order[:count] = np.random.default_rng(0).permutation(count)
    full = replace(rec.markers, positions=rec.clean[:200])
    mixed = replace(rec.markers, positions=rec.clean[order])
    one = ik.track(figure, full, branches=False, smooth=None)
    two = ik.track(figure, mixed, branches=False, smooth=None)
    apart = two.motion.forward().markers - one.motion.forward().markers[order]
    assert np.quantile(np.linalg.norm(apart, axis=2), 0.95) < 2e-3
    gap = figure.difference(two.motion.q, one.motion.q[order])
    assert np.quantile(np.abs(gap[:, find_determined_dofs(figure)]), 0.98) < 0.01


def test_angles_go_on_without_whole_turns():
    skeleton, _, markers = make_moving_menagerie(200)
    result = ik.track(skeleton, markers, limits="off")
    assert np.abs(np.diff(result.motion.q, axis=0)).max() < 1.0
    turning = simulate_performance(4.0, 60.0, acts=("walk",))
    figure = turning.skeleton
    # The person walks round and round: the heading of the root passes ± π several times.
    angle = np.linspace(0.0, 14.0, len(turning))
    place = simulate_recording(turning, noise=0.0, gaps=0.0, swap=False).clean
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    x, y = place[..., 0].copy(), place[..., 1].copy()
    place = np.stack([c * x - s * y, s * x + c * y, place[..., 2]], axis=-1)
    result = ik.track(figure, ik.Markers(place, tuple(figure.markers), 60.0))
    steps = np.abs(np.diff(result.motion.q, axis=0))
    assert steps.max() < 0.6
    assert np.ptp(result.motion.q[:, 3:6], axis=0).max() > 12.0


def test_jumps_are_listed_and_smoothing_leaves_none(rec: SyntheticRecording):
    """A jump may stay where every way between two solutions fits worse; it is never hidden."""
    figure = rec.truth.skeleton
    unsmoothed = ik.track(figure, rec.markers, smooth=None)
    jumps = find_jumps(unsmoothed.problem, np.array(unsmoothed.motion.q))
    assert 0 < len(jumps) < 10 and np.array_equal(np.flatnonzero(unsmoothed.jumps), jumps)
    listed = [entry for entry in unsmoothed.attention if entry.kind == "jump"]
    assert all(any(e.first <= t and t + 1 <= e.last for e in listed) for t in jumps)
    assert not ik.track(figure, rec.markers, smooth=10.0).jumps.any()


@pytest.mark.full
@pytest.mark.parametrize("options", first_quick([{"robust": "huber"}, {}, {"smooth": 6.0}]))
def test_threads_change_nothing(rec: SyntheticRecording, options):
    markers, figure = rec.markers, rec.truth.skeleton
    short = TrackingOptions(segment_frames=120)
    assert len(cut_into_segments(len(markers), short.segment_frames)) == 4
    answers = [ik.track(figure, markers, threads=n, options=short, **options) for n in (1, 2, 3)]
    for other in answers[1:]:
        assert np.array_equal(other.motion.q, answers[0].motion.q)
        assert np.array_equal(other.marker_errors, answers[0].marker_errors, equal_nan=True)
        assert np.array_equal(other.sd, answers[0].sd)
        assert list(other.status) == list(answers[0].status)
    # Cut into segments or not: the same motion, but not to the last bit.
    whole = ik.track(figure, markers, **options)
    apart = whole.motion.forward().markers - answers[0].motion.forward().markers
    assert np.quantile(np.linalg.norm(apart, axis=2), 0.95) < 1e-3


def test_locked_joints_stay_and_the_others_make_up_for_it(rec: SyntheticRecording):
    figure, markers = rec.truth.skeleton, cut(rec, 0, 60)
    result = ik.track(figure, markers, lock=("l_hand*", "lower_neck.ry"))
    dofs = [i for i, n in enumerate(figure.dof_names) if n.startswith("l_hand")]
    dofs.append(figure.dof_names.index("lower_neck.ry"))
    assert (result.motion.q[:, dofs] == figure.neutral()[dofs]).all()
    assert (result.sd[:, dofs] == 0.0).all()
    assert result.mean_error < 0.01


def test_weights_matter(rec: SyntheticRecording):
    figure = rec.truth.skeleton
    place = np.array(rec.clean[:40])
    m = list(figure.markers).index("RFIN")
    place[:, m] += (0.05, 0.0, 0.0)
    markers = ik.Markers(place, tuple(figure.markers), 60.0)
    errors = [
        ik.track(figure, markers, weights={"RFIN": w}).marker_errors[:, m].mean()
        for w in (0.1, 1.0, 10.0)
    ]
    assert errors[0] > 1.2 * errors[1] and errors[1] > 1.2 * errors[2]
    weights = np.ones(len(markers.names))
    weights[m] = 10.0
    same = ik.track(figure, markers, weights=weights)
    assert same.marker_errors[:, m].mean() == pytest.approx(errors[2], rel=1e-12)
    without = ik.track(figure, markers, weights={"RFIN": 0.0}, smooth=None)
    names = [n for n in markers.names if n != "RFIN"]
    none = ik.track(figure, markers.chosen(names), smooth=None)
    apart = without.motion.forward().positions - none.motion.forward().positions
    assert np.linalg.norm(apart, axis=2).max() < 1e-3


@pytest.mark.parametrize(
    "options", [{}, {"branches": False}, {"smooth": 5.0}, {"robust": "tukey"}, {"threads": 2}]
)
def test_progress_goes_up_and_ends_at_the_end(rec: SyntheticRecording, options):
    told: list[tuple[int, int]] = []
    markers = cut(rec, 0, 90)
    ik.track(rec.truth.skeleton, markers, progress=lambda *d: told.append(d), **options)
    done = [n for n, _ in told]
    assert {total for _, total in told} == {90}
    assert done == sorted(done) and done[0] >= 0 and done[-1] == 90


# --- what is said about it


def test_status_why_attention_and_certificates(rec: SyntheticRecording, solved: ik.Track):
    count = len(rec.markers)
    assert len(solved) == count == len(solved.why) == len(solved.status)
    assert set(solved.status) <= STATUSES
    assert np.isin(solved.status, ["converged", "at-limits"]).mean() > 0.95
    assert not np.isin(solved.status, ["gap", "no-markers", "not-converged"]).any()
    assert all(text.endswith(".") and "\n" not in text for text in solved.why)
    assert solved.converged.mean() > 0.99 and solved.certified.mean() > 0.97
    assert (solved.projected_gradient[solved.ended == "converged"] <= 1e-4).all()
    assert (solved.certified <= solved.converged).all()
    assert solved.names == rec.markers.names and solved.markers is rec.markers
    assert solved.sd.shape == (count, solved.skeleton.nv) == solved.at_limits.shape
    assert repr(solved).startswith("<Track of ") and f"{count} frames" in repr(solved)
    assert solved.marker_weights is None and solved.swaps == ()
    worst = [item.severity for item in solved.attention]
    assert worst == sorted(worst, reverse=True)
    assert (np.isnan(solved.marker_errors) == rec.missing).all()
    r = np.nan_to_num(solved.marker_errors)
    assert solved.cost == pytest.approx(0.5 * (r**2).sum(axis=1), rel=1e-12)


def test_a_poor_stretch_is_named(rec: SyntheticRecording):
    place = np.array(rec.markers.positions[:120])
    m = rec.markers.names.index("LANK")
    place[50:60, m] += 0.25
    spoilt = ik.Markers(place, rec.markers.names, 60.0)
    result = ik.track(rec.truth.skeleton, spoilt, robust=None)
    far = next(item for item in result.attention if "LANK" in item.names)
    assert far.kind == "far-marker" and "LANK" in far.text
    assert abs(far.first - 50) <= 12 and abs(far.last - 59) <= 12


def test_frames_without_markers_are_passed_over_and_said_so(rec: SyntheticRecording):
    place = np.array(rec.clean[:90])
    place[30:40] = np.nan
    place[60, 2:] = np.nan  # two are left
    result = ik.track(rec.truth.skeleton, ik.Markers(place, rec.markers.names, 60.0))
    assert (result.status[30:40] == "no-markers").all() and result.status[60] == "no-markers"
    assert "guess" in result.why[35]
    assert np.isfinite(result.motion.q).all()
    assert is_within_limits(result.skeleton, result.motion.q)
    moved = np.linalg.norm(np.diff(result.motion.forward().positions, axis=0), axis=2)
    assert moved[29:41].max() < 2.0 * moved.max(initial=0.02, where=moved < 0.2)
    assert [(item.first, item.last) for item in result.attention if item.kind == "no-markers"]
    assert np.isfinite(result.sd).all() and result.sd[35, 6:].max() > 0.5


@pytest.mark.parametrize("branches", [False, True])
def test_recordings_of_a_single_frame_and_of_two(rec: SyntheticRecording, branches: bool):
    for count in (1, 2, 3):
        markers = ik.Markers(rec.clean[:count], rec.markers.names, 60.0)
        result = ik.track(rec.truth.skeleton, markers, branches=branches)
        assert len(result) == count and result.mean_error < 1e-3
        assert result.converged.all() and len(result.why) == count
        assert result.sd.shape == (count, 58) and result.attention == []
        robust = ik.track(rec.truth.skeleton, markers, branches=branches, robust="huber")
        assert robust.mean_error < 1e-3


def test_a_single_frame_is_smooth_already(rec: SyntheticRecording):
    markers = ik.Markers(rec.clean[:1], rec.markers.names, 60.0)
    assert ik.track(rec.truth.skeleton, markers, smooth=5.0).mean_error < 1e-3


def test_names_are_matched_with_prefix_and_whatever_case(rec: SyntheticRecording):
    figure, place = rec.truth.skeleton, np.array(rec.clean[:5])
    plain = ik.track(figure, ik.Markers(place, rec.markers.names, 60.0), starts=4)
    for rename in (str.lower, lambda n: f"Subject 1:{n}", lambda n: f"me:{n.title()}"):
        other = ik.Markers(place, tuple(map(rename, rec.markers.names)), 60.0)
        result = ik.track(figure, other, starts=4)
        assert sorted(result.names) == sorted(rec.markers.names)
        assert np.abs(figure.difference(result.motion.q, plain.motion.q)).max() < 1e-3
    more = np.concatenate([place, place[:, :1]], axis=1)
    other = ik.Markers(more, (*rec.markers.names, "wand"), 60.0)
    assert np.array_equal(ik.track(figure, other, starts=4).motion.q, plain.motion.q)


def test_the_order_of_markers_is_that_of_the_recording(rec: SyntheticRecording):
    """Weights and offsets are given in that order, so it must not depend on spelling."""
    names = [name if m % 2 else f"me:{name}" for m, name in enumerate(rec.markers.names)]
    result = ik.track(rec.truth.skeleton, ik.Markers(rec.clean[:2], tuple(names), 60.0))
    assert result.names == rec.markers.names


# --- other figures


def test_roots_and_joints_of_every_kind():
    skeleton, q, markers = make_moving_menagerie(120, noise=0.001)
    result = ik.track(skeleton, markers)
    apart = result.motion.forward().positions - skeleton.forward(q).positions
    assert np.linalg.norm(apart, axis=2).mean() < 0.004
    norms = np.linalg.norm(result.motion.q[:, 3:7], axis=1)
    assert np.abs(norms - 1.0).max() < 1e-12
    assert (np.einsum("ij,ij->i", result.motion.q[1:, 3:7], result.motion.q[:-1, 3:7]) > 0.9).all()
    assert is_within_limits(skeleton, result.motion.q)
    smooth = ik.track(skeleton, markers, smooth=6.0)
    assert np.abs(np.linalg.norm(smooth.motion.q[:, 3:7], axis=1) - 1.0).max() < 1e-9
    assert is_within_limits(skeleton, smooth.motion.q)


def test_a_robot_on_a_fixed_base():
    arm = planar_arm().with_markers(
        {
            "ELBOW": ("upper", (0.4, 0.0, 0.05)),
            "UPPER": ("upper", (0.2, 0.05, 0.0)),
            "HAND": ("lower", (0.3, 0.0, 0.0)),
            "WRIST": ("lower", (0.2, 0.04, 0.02)),
        }
    )
    t = np.arange(120) / 60.0
    q = np.stack([0.8 * np.sin(2 * t) + 3.0, -1.2 + 0.5 * np.cos(3 * t)], axis=1)
    place = arm.forward(q).markers + np.random.default_rng(0).normal(0, 0.001, (120, 4, 3))
    result = ik.track(arm, ik.Markers(place, tuple(arm.markers), 60.0))
    assert np.abs(arm.difference(result.motion.q, q)).max() < 0.02
    # Angles beyond a turn are told from the neutral pose, not from the truth: they may differ.
    assert np.abs(np.diff(result.motion.q, axis=0)).max() < 0.1
    assert result.certified.all()


def test_frames_are_spread_evenly_first_and_last_among_them():
    assert choose_even_frames(9, 3).tolist() == [0, 4, 8]
    assert choose_even_frames(3, 9).tolist() == [0, 1, 2]
    assert choose_even_frames(0, 9).tolist() == []
