"""Calibration finds what the markers tell, leaves what they do not, and says which is which."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from benchmarks.support.hdm05 import BONES
from exactik.errors import UnknownNameError
from exactik.recordings.calibration import Calibration, attach_markers, calibrate
from exactik.recordings.calibration.fitting import (
    align_shapes,
    choose_diverse_frames,
    make_scaled_skeleton,
)
from exactik.recordings.tracking import follow_frames, make_tracking_problem, solve_frames, track
from exactik.solvers import Auto
from tests.support.subjects import (
    Subject,
    joint_errors,
    make_densely_marked_human,
    make_smooth_motion,
    make_subject,
)


@pytest.fixture(scope="module")
def somebody() -> Subject:
    return make_subject(ik.human(), 0, frames=400)


@pytest.fixture(scope="module")
def fitted(somebody: Subject) -> Calibration:
    return calibrate(ik.human(), somebody.markers, frames=80)


def scale_errors(fit: Calibration, own: Subject) -> dict[str, float]:
    figure = own.figure
    return {
        group[0]: fit.scales[group[0]] / float(np.exp(own.theta[g])) - 1.0
        for g, group in enumerate(figure.scale_groups)
    }


# --- the model


def test_bones_grow_about_their_joints():
    figure = make_scaled_skeleton(ik.human(), ("LKNE", "LSHN"), "symmetric")
    theta = np.zeros(figure.parameter_count)
    thigh = next(g for g, group in enumerate(figure.scale_groups) if "l_thigh" in group)
    theta[thigh] = np.log(1.1)
    grown, old = figure.build(theta), ik.human()
    pose, before = (s.forward(s.neutral()) for s in (grown, old))
    for side in "lr":
        hip, knee, ankle = (old.bone_index(f"{side}_{b}") for b in ("thigh", "shin", "foot"))
        assert np.allclose(pose.positions[hip], before.positions[hip])
        one, two = (p.positions[knee] - p.positions[hip] for p in (pose, before))
        assert np.allclose(one, 1.1 * two)
        one, two = (p.positions[ankle] - p.positions[knee] for p in (pose, before))
        assert np.allclose(one, two)
    for name in ("LKNE", "RKNE"):  # used or not
        assert np.allclose(grown.markers[name][1], 1.1 * np.array(old.markers[name][1]))


def test_kinds_of_scales():
    symmetric, whole, each, none = (
        make_scaled_skeleton(ik.human(), tuple(ik.human().markers), kind).scale_groups
        for kind in ("symmetric", "global", "bone", "none")
    )
    assert ("l_shin", "r_shin") in symmetric and ("pelvis",) in symmetric
    assert len(whole) == 1 and none == ()
    assert all(len(group) == 1 for group in each)


# --- frames


def test_frames_are_as_different_as_can_be(somebody: Subject):
    chosen = choose_diverse_frames([somebody.markers], 20).frames
    assert len(set(chosen.tolist())) == 20
    assert (np.diff(chosen) > 0).all()

    def nearest(which):
        shapes = align_shapes(somebody.markers.positions[which])
        apart = np.linalg.norm(shapes[:, None] - shapes, axis=3).mean(axis=2)
        return apart[~np.eye(len(apart), dtype=bool)].min()

    even = [nearest(np.arange(first, 400, 20)) for first in range(20)]
    assert nearest(chosen) > 1.1 * max(even)  # random choices have a quarter of it


def test_shapes_do_not_depend_on_where_the_figure_stands(somebody: Subject):
    places = somebody.markers.positions[:5].copy()
    turned = places.copy()
    turned[3] = turned[1] @ np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]) + 3.0
    turned[2, 7] = np.nan
    shapes = align_shapes(turned)
    assert np.allclose(shapes[3], shapes[1], atol=1e-9)
    assert np.isfinite(shapes).all()


# --- the fit


def test_what_markers_tell_is_found(somebody: Subject, fitted: Calibration):
    """Long bones to half a per cent; nothing further off than its error bar allows."""
    errors = scale_errors(fitted, somebody)
    for bone in ("l_thigh", "l_shin", "l_upper_arm", "l_clavicle"):
        assert abs(errors[bone]) < 0.005
    for bone, error in errors.items():
        assert abs(error) < 2.5 * fitted.scale_sds[bone]
    true = somebody.figure.scaled_points(somebody.theta)
    for name, place in zip(somebody.figure.marker_names, true, strict=True):
        assert np.linalg.norm(fitted.offsets[name] - place) < 2.5 * fitted.offset_sds[name] + 1e-3
    assert fitted.settled
    assert 1e3 * np.nanmean(fitted.errors) < 1.2 < 1e3 * np.nanmean(fitted.errors_before)


def test_poses_fit_and_keep_the_limits(fitted: Calibration):
    assert (fitted.q >= fitted.skeleton.lower).all() and (fitted.q <= fitted.skeleton.upper).all()
    shown = fitted.skeleton.forward(fitted.q).markers
    away = np.linalg.norm(shown - fitted.markers.positions[fitted.frames], axis=2)
    assert np.allclose(away, fitted.errors, atol=1e-9)


@pytest.mark.full
def test_the_same_twice(somebody: Subject):
    one, two = (calibrate(ik.human(), somebody.markers, frames=24) for _ in range(2))
    assert one.skeleton == two.skeleton
    assert (one.q == two.q).all()


def test_what_no_marker_tells_stays(somebody: Subject):
    """Only the left leg has markers: the arms grow neither way, the head's markers stay on it."""
    leg = [n for n in somebody.markers.names if n[1:] in ("FWT", "BWT", "THI", "KNE", "SHN", "ANK")]
    fit = calibrate(ik.human(), somebody.markers.chosen(leg), scale="bone", frames=30)
    for bone in ("l_hand", "r_hand", "head", "l_forearm"):
        assert abs(fit.scales[bone] - fit.scales["r_upper_arm"]) < 1e-6
        assert abs(fit.scales[bone] - 1.0) < 0.05
        assert fit.scale_sds[bone] > 0.09
    assert set(fit.moved) == set(leg)


def test_markers_that_may_not_move(somebody: Subject):
    fit = calibrate(ik.human(), somebody.markers, anatomical=("LKNE", "RKNE"), frames=24)
    assert not fit.moved["LKNE"].any() and fit.moved["LTHI"].any()
    old = np.array(ik.human().markers["LKNE"][1])
    assert np.allclose(fit.offsets["LKNE"], fit.scales["l_thigh"] * old)
    still = calibrate(ik.human(), somebody.markers, scale=False, offsets=False, frames=8)
    assert still.skeleton.bones == ik.human().bones
    assert dict(still.skeleton.markers) == dict(ik.human().markers)


def test_one_scale_for_all():
    own = make_subject(ik.human(), 3, frames=120, kind="global", scale=0.0, away=0.0)
    own = own.figure.build(np.r_[np.log(0.7), own.theta[1:]])
    q = make_smooth_motion(own, 120, np.random.default_rng(0))
    markers = ik.Markers(own.forward(q).markers, tuple(own.markers), 120.0)
    fit = calibrate(ik.human(), markers, scale="global", offsets=False, frames=20)
    assert set(fit.scales.values()) <= {1.0, fit.scales["pelvis"]}
    assert fit.scales["pelvis"] == pytest.approx(0.7, abs=1e-3)
    each = calibrate(ik.human(), markers, frames=20)  # what is not told goes with the rest
    assert each.scales["l_fingers"] == pytest.approx(0.7, abs=0.05)


@pytest.mark.full
def test_gaps_do_no_harm(somebody: Subject):
    places = somebody.markers.positions.copy()
    rng = np.random.default_rng(0)
    places[rng.random(places.shape[:2]) < 0.1] = np.nan
    places[:, somebody.markers.names.index("LUPA")] = np.nan  # never seen
    markers = ik.Markers(places, somebody.markers.names, 120.0)
    fit = calibrate(ik.human(), markers, frames=40)
    assert abs(scale_errors(fit, somebody)["l_thigh"]) < 0.01
    assert fit.mapping["LUPA"].code == "never-seen" and "LUPA" not in fit.moved
    assert "LUPA" in fit.skeleton.markers  # for other recordings of the subject


@pytest.mark.full
def test_bones_alone_are_enough(somebody: Subject):
    """A skeleton without markers, and for each recorded one the name of its bone."""
    bare = ik.human().with_markers({})
    bones = {name: bone for name, (bone, _) in ik.human().markers.items()}
    fit = calibrate(bare, somebody.markers, bones=bones, frames=40)
    assert 1e3 * np.nanmean(fit.errors) < 4.0
    assert abs(scale_errors(fit, somebody)["l_thigh"]) < 0.05


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda fit: pickle.loads(pickle.dumps(fit))])
def test_a_calibration_can_be_pickled_and_copied(fitted: Calibration, twin_of):
    twin = twin_of(fitted)
    assert twin.skeleton == fitted.skeleton
    assert str(twin) == str(fitted)


def test_it_prints_what_moved(fitted: Calibration):
    text = str(fitted)
    assert "mean distance of a marker" in text and "l_thigh, r_thigh" in text
    assert all(name in text for name in fitted.moved)
    assert max(map(len, text.splitlines())) <= 100
    facts = json.loads(json.dumps(fitted.to_dict()))
    assert facts["scales"]["l_thigh"]["scale"] == fitted.scales["l_thigh"]
    assert facts["markers"]["LKNE"]["bone"] == "l_thigh"
    assert "→" in repr(fitted)


def test_progress_is_reported(somebody: Subject):
    told: list[tuple[int, int]] = []
    calibrate(
        ik.human(), somebody.markers, frames=8, progress=lambda done, all: told.append((done, all))
    )
    assert told[-1] == (100, 100)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_misuse_is_refused(somebody: Subject):
    sk, markers = ik.human(), somebody.markers
    with pytest.raises(ik.UsageError, match="scale is 'left'"):
        calibrate(sk, markers, scale="left")
    with pytest.raises(ik.UsageError, match="offset_sd is 0"):
        calibrate(sk, markers, offset_sd=0)
    with pytest.raises(ik.UsageError, match="frames is 0"):
        calibrate(sk, markers, frames=0)
    with pytest.raises(UnknownNameError, match="LKNEE"):
        calibrate(sk, markers, anatomical=("LKNEE",))
    with pytest.raises(ik.UsageError, match="no recorded marker can be used"):
        calibrate(ik.quadruped().with_markers({}), markers)


# --- the figures that it is measured by


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_subject_with_enough_markers_is_found_exactly(seed: int):
    """Scales to 0.5 %, places to 2 mm, angles to 0.5°, from ± 8 %, 30 mm and 1 mm of noise.

    Angles on the average over the frames, which is what calibration answers for.
    """
    skeleton, held = make_densely_marked_human()
    own = make_subject(skeleton, seed, fixed=held)
    # 200 frames leave too much of the noise: 0.56° in the neck of one subject of ten.
    fit = calibrate(skeleton, own.markers, anatomical=held, frames=400)
    assert max(map(abs, scale_errors(fit, own).values())) < 0.005
    places = own.figure.scaled_points(own.theta)
    away = [
        np.linalg.norm(fit.offsets[n] - p)
        for n, p in zip(own.figure.marker_names, places, strict=True)
    ]
    assert max(away) < 0.002
    errors = np.degrees(joint_errors(fit.skeleton, fit.q, own.skeleton, own.q[fit.frames]))
    assert np.linalg.norm(errors.mean(axis=0), axis=1).max() < 0.5
    # Noise of the markers turns joints in each frame; no more than with the true figure.
    recording = make_tracking_problem(own.skeleton, own.markers)
    options = Auto().options(recording.frame_problem)
    best = solve_frames(recording, options, fit.frames, own.q[fit.frames])
    floor = np.degrees(joint_errors(own.skeleton, best.q, own.skeleton, own.q[fit.frames]))
    assert np.sqrt((errors**2).mean()) < 1.1 * np.sqrt((floor**2).mean())


@pytest.mark.slow
@pytest.mark.parametrize("limits", ["hard", "off"])
def test_hdm05_from_the_built_in_human(shared_data: Path, limits: str):
    """After 10 s, no worse than 1.1 × the subject's own skeleton, on what was not seen.

    Both with limits or both without: those of either figure are narrower than this motion.
    """
    folder = shared_data / "data" / "asf_amc" / "hdm05_dg"
    files = [folder / f"HDM_dg_{take}_120.c3d" for take in ("03-05_02", "01-03_01")]
    one, two = (ik.load_markers(file).without_prefix() for file in files)
    fit = calibrate(ik.human(), one.between(0, 10), limits=limits)
    asf = ik.load_skeleton(folder / "HDM_dg.asf")
    motion = ik.load_motion(folder / "HDM_dg_03-05_02_120.amc", asf).between(0, 10)
    turned = one.turned("YZX")
    bones = {name: bone for bone, names in BONES.items() for name in names.split()}
    marked = attach_markers(asf, turned.between(0, 10), motion, bones)
    thumbs = ("lthumb*", "rthumb*")
    own = calibrate(marked, turned.between(0, 10), scale=False, limits=limits, lock=thumbs)
    for recording in (one.between(10.01, None), two):
        ours = track(fit.skeleton, recording, limits=limits).marker_errors
        theirs = track(
            own.skeleton, recording.turned("YZX"), limits=limits, lock=thumbs
        ).marker_errors
        assert np.nanmean(ours) < 1.1 * np.nanmean(theirs)


@pytest.mark.full
def test_the_track_is_of_the_whole_recording(somebody: Subject):
    fit = calibrate(ik.human(), somebody.markers.between(0, 0.5), frames=8)
    assert len(fit.track.motion) == len(fit.markers)
    recording = make_tracking_problem(fit.skeleton, fit.markers)
    path = follow_frames(recording, Auto().options(recording.frame_problem), np.arange(2), fit.q[0])
    assert len(path.q) == 2
