"""Error bars of what is wrong with a fitted figure: by hand, and against known subjects."""

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.model import Bone, Joint, Skeleton
from exactik.model.motion import Motion
from exactik.recordings.tracking import Quality

SD_OF_95_PERCENT = 1.96
PLACING_SD = 0.012  # [m] of markers beside their places, along each axis


def swing_arm(reach: float) -> tuple[Skeleton, ik.Markers]:
    """Return an arm on a hinge with a marker this far out, and markers of its swing."""
    arm = Skeleton.build(
        "arm",
        [
            Bone("base", parent=None, joint=Joint.fixed()),
            Bone("arm", parent="base", joint=Joint.revolute((0.0, 0.0, 1.0))),
        ],
    )
    arm = arm.with_markers(
        {
            "A": ("arm", (reach, 0.0, 0.0)),
            "B": ("base", (0.0, 0.3, 0.0)),
            "C": ("base", (-0.3, 0.0, 0.1)),
        }
    )
    q = 0.6 * np.sin(np.linspace(0.0, 9.0, 80))[:, None]
    return arm, ik.Markers(arm.forward(q).markers, tuple(arm.markers), 50.0)


@pytest.mark.parametrize("reach", [0.2, 0.5])
def test_a_marker_beside_its_place_turns_a_hinge_by_its_share_of_the_lever(reach):
    # Nothing tells a turn of the arm from a shift of its marker: the prior alone does.
    arm, markers = swing_arm(reach)
    fit = ik.calibrate(arm, markers, scale=False, offset_sd=0.01, anatomical=("B", "C"))
    sd = fit.track.sd[~fit.track.at_limits]
    assert sd == pytest.approx(0.01 / reach, rel=0.02)
    assert (fit.track.noise_sd < 0.1 * fit.track.sd).all()


def test_bars_hold_the_truth_of_subjects_who_are_not_the_figure():
    inside, inside_of_noise, measured = [], [], 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        motion = simulate_performance(3.0, seed=seed)
        figure = motion.skeleton
        # What the subject wears is not where the figure has it.
        worn = {
            name: (bone, np.asarray(point) + PLACING_SD * rng.standard_normal(3))
            for name, (bone, point) in figure.markers.items()
        }
        person = figure.with_markers(worn)
        truth = Motion(person, motion.q, motion.rate, up_axis=motion.up_axis)
        markers = simulate_recording(truth, noise=0.001, gaps=0.0, swap=False, seed=seed).markers
        fit = ik.calibrate(figure, markers, offset_sd=PLACING_SD, frames=60)
        track = replace(ik.track(fit.skeleton, markers), figure_errors=fit.figure_errors)
        error = np.abs(figure.difference(track.motion.q, truth.q))
        # Distant ends of the body alone would have few markers: hips, knees, shoulders, elbows.
        named = [name.split(".")[0][2:] for name in figure.dof_names]
        limbs = np.isin(named, ["thigh", "shin", "upper_arm", "forearm"])
        cells = (track.quality == Quality.MEASURED) & limbs
        inside.append((error <= SD_OF_95_PERCENT * track.sd)[cells])
        inside_of_noise.append((error <= SD_OF_95_PERCENT * track.noise_sd)[cells])
        measured += int(cells.sum())
    assert measured > 5_000
    assert 0.9 < np.concatenate(inside).mean() <= 1.0
    assert np.concatenate(inside_of_noise).mean() < 0.6


def test_a_figure_that_was_not_fitted_is_taken_to_be_right():
    motion = simulate_performance(2.0)
    markers = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False).markers
    track = ik.track(motion.skeleton, markers)
    assert track.figure_errors is None
    assert (track.sd == track.noise_sd).all()


def test_angles_have_both_kinds_of_bars():
    motion = simulate_performance(2.0)
    markers = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False).markers
    angles = ik.calibrate(motion.skeleton, markers, frames=30).track.angles()
    knee = angles.names.index("knee_flexion_r")
    assert angles.sd is not None and angles.noise_sd is not None
    assert (angles.sd >= angles.noise_sd).all()
    assert np.degrees(np.median(angles.sd[:, knee])) > 5.0 * np.degrees(
        np.median(angles.noise_sd[:, knee])
    )
