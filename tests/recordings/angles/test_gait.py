"""Gait events and strides: of feet with known steps, of a person in closed form, of real ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance
from exactik.model.motion import Motion
from exactik.recordings.angles import (
    CYCLE_POINTS,
    FootPaths,
    GaitEvents,
    Walker,
    compute_joint_angles,
    find_events_of,
    find_gait_cycles,
    find_gait_events,
)
from exactik.recordings.angles._feet import smooth_gaussian

RATE = 100.0
LEG = 0.85


def make_walker(
    *,
    seconds: float = 6.0,
    stride: float = 1.1,
    length: float = 1.2,
    stance: float = 0.62,
    lift: float = 0.15,
    drift: float = 0.0,
    phase: float = 0.5,
    upright: float = 1.0,
) -> Walker:
    """Feet that stand and swing in turn, of a pelvis that goes ahead evenly; x forward, z up."""
    times = np.arange(int(seconds * RATE)) / RATE
    pelvis = np.stack([length / stride * times, 0 * times, 0 * times + 0.9], axis=1)
    feet = {}
    for side, shift in (("r", 0.0), ("l", phase)):
        cycle, u = np.divmod(times / stride + shift, 1.0)  # 0 at the strike
        swing = np.clip((u - stance) / (1.0 - stance), 0.0, 1.0)
        stand = np.clip(u / stance, 0.0, 1.0)
        ahead = 10 * swing**3 - 15 * swing**4 + 6 * swing**5
        x = (cycle - shift + 0.5 * stance + ahead) * length
        z = lift * np.sin(np.pi * swing) ** 2 + drift * np.sin(2 * np.pi * stand)
        heel = smooth_gaussian(np.stack([x, 0 * x, z], axis=1), RATE, 0.01)
        toe = heel + np.array([0.2, 0.0, 0.0])
        feet[side] = FootPaths(
            heel=heel, toe=toe, heel_ahead=(heel - pelvis)[:, 0], toe_ahead=(toe - pelvis)[:, 0]
        )
    return Walker(
        feet=feet,
        pelvis=pelvis,
        ahead=np.tile([1.0, 0.0, 0.0], (len(times), 1)),
        up=np.array([0.0, 0.0, 1.0]),
        uprightness=np.full(len(times), upright),
        leg_length=LEG,
    )


def events_of(**changes: float) -> GaitEvents:
    return find_events_of(make_walker(**changes), RATE)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"stride": 0.5, "stance": 0.35, "length": 2.2},  # running
        {"stride": 2.4, "length": 0.4, "stance": 0.75, "lift": 0.05, "seconds": 12.0},  # shuffling
        {"phase": 0.35},  # limping
        {"lift": 0.25},
        {"drift": 0.01},
    ],
)
def test_steps_are_found_where_they_were_made(changes: dict[str, float]):
    found = events_of(**changes)
    assert found.code == "gait" and found.text == ""
    walk = {"seconds": 6.0, "stride": 1.1, "stance": 0.62, "phase": 0.5, **changes}
    for side, shift in (("r", 0.0), ("l", walk["phase"])):
        for kind, share in (("strike", 0.0), ("off", walk["stance"])):
            first = (share - shift) * walk["stride"]
            made = first + walk["stride"] * np.arange(30)
            made = made[(made > 0.3) & (made < walk["seconds"] - 0.3)]
            frames = np.array(found.frames(side, kind)) / RATE
            inside = frames[(frames > 0.2) & (frames < walk["seconds"] - 0.2)]
            assert np.abs(inside[:, None] - made).min(axis=0).max() < 0.06 * max(walk["stride"], 1)
            assert len(inside) <= len(made) + 2


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"length": 0.15, "seconds": 8.0}, "no-steps"),  # stepping on the spot
        ({"stride": 0.25, "length": 0.6}, "not-alternating"),  # trembling
        ({"lift": 0.01}, "not-lifted"),  # skating
        ({"drift": 0.15}, "not-lifted"),  # cycling
        ({"upright": 0.4}, "not-upright"),  # crawling
        ({"phase": 0.02}, "not-alternating"),  # hopping
    ],
)
def test_what_is_no_gait_is_said_and_nothing_invented(changes: dict[str, float], code: str):
    found = events_of(**changes)
    assert (found.code, found.events) == (code, ())
    assert found.text.endswith(".")


@pytest.fixture(scope="module")
def walk() -> Motion:
    """Five steps, of 0.6 m but for the first, one every 0.53 s."""
    return simulate_performance(3.8, acts=("walk",))


def test_a_person_who_walks_has_the_steps_of_the_performance(walk: Motion):
    cycles = find_gait_cycles(walk)
    lifted = 0.50 + 0.53 * np.arange(7)  # as `exactik.lab.synthetic._gait` lifts the feet
    for side, first in (("r", 0), ("l", 1)):
        offs = np.array(cycles.events.frames(side, "off")) / walk.rate
        strikes = np.array(cycles.events.frames(side, "strike")) / walk.rate
        assert np.abs(offs[:, None] - lifted[first::2]).min(axis=1).max() < 0.07
        assert np.abs(strikes[:, None] - lifted[first::2] - 0.41).min(axis=1).max() < 0.05
    said = {(p.name, p.side): p for p in cycles.parameters()}
    assert said["cadence", ""].mean == pytest.approx(60.0 / 0.53, rel=0.03)
    assert said["stride_time", "r"].mean == pytest.approx(1.06, abs=0.02)
    assert said["stride_length", "r"].mean == pytest.approx(1.2, abs=0.05)
    assert said["step_length", "r"].mean == pytest.approx(0.58, abs=0.05)
    assert said["step_time", "l"].mean == pytest.approx(0.53, abs=0.02)
    assert said["speed", ""].mean == pytest.approx(1.08, abs=0.12)
    assert 0.55 < said["stance_share", "l"].mean < 0.75
    assert cycles.belt_speed == 0.0


def test_strides_that_are_guessed_are_left_out(walk: Motion):
    cycles = find_gait_cycles(walk)
    first, *_, last = cycles.cycles
    known = np.ones(len(walk), dtype=bool)
    half = (first.first + first.last) // 2
    known[half : half + 3] = False  # a short gap is filled well
    assert find_gait_cycles(walk, known=known).cycles == cycles.cycles
    known[: round(first.first + 0.15 * (first.last - first.first))] = False
    kept = find_gait_cycles(walk, known=known)
    assert first not in kept.cycles and last in kept.cycles
    assert len(find_gait_cycles(walk, known=np.zeros(len(walk), dtype=bool))) == 0


def test_no_foot_strikes_where_the_subject_is_lost(walk: Motion):
    """The last pose is kept there, and the foot that swings is furthest ahead in it."""
    whole = find_gait_cycles(walk)
    swing = whole.cycles[-1]
    lost = (swing.off + swing.last) // 2
    q = np.array(walk.q)
    q[lost:] = q[lost]
    known = np.arange(len(walk)) < lost
    kept = find_gait_cycles(replace(walk, q=q), known=known)
    assert kept.events.frames("r", "strike") + kept.events.frames("l", "strike") != []
    assert max(event.frame for event in kept.events.events) < lost
    assert swing.last not in {cycle.last for cycle in kept.cycles}
    late = find_gait_cycles(replace(walk, q=q[30:]), known=known[30:])
    assert {c.first for c in find_gait_cycles(walk, known=np.arange(len(walk)) >= 30).cycles} == {
        c.first + 30 for c in find_gait_cycles(replace(walk, q=walk.q[30:])).cycles
    }
    assert len(late.cycles) > 0


def test_the_same_walk_on_a_treadmill_has_the_same_strides(walk: Motion):
    x = walk.skeleton.dof_names.index("pelvis.tx")
    walk = walk.between(0.6)  # on a belt nobody stands before the first step
    q = np.array(walk.q)
    speed = float(np.polyfit(walk.times[60:], q[60:, x], 1)[0])
    q[:, x] -= speed * walk.times
    ground, belt = find_gait_cycles(walk), find_gait_cycles(replace(walk, q=q))
    assert belt.belt_speed == pytest.approx(speed, rel=0.05)
    assert len(belt) == len(ground)
    for one, other in zip(ground.cycles, belt.cycles, strict=True):
        assert abs(one.first - other.first) <= 2 and abs(one.off - other.off) <= 2
        assert other.stride_length == pytest.approx(one.stride_length, abs=0.06)
        assert other.step_length == pytest.approx(one.step_length, abs=0.06)


def test_direction_does_not_matter(walk: Motion):
    turned = walk.turned("-YXZ")
    assert find_gait_events(turned).events == find_gait_events(walk).events
    upright = walk.turned("YZX")
    assert find_gait_events(upright).events == find_gait_events(walk).events


def test_curves_run_from_strike_to_strike_with_mean_and_band(walk: Motion):
    cycles, angles = find_gait_cycles(walk), compute_joint_angles(walk)
    curve = cycles.curve(angles, "knee_flexion_r")
    assert curve is not None and curve.cycles.shape == (len(cycles.of("r")), CYCLE_POINTS)
    first = cycles.of("r")[0]
    knee = angles.angle("knee_flexion_r")
    assert curve.cycles[0, 0] == knee[first.first] and curve.cycles[0, -1] == knee[first.last]
    np.testing.assert_allclose(curve.mean, curve.cycles.mean(axis=0))
    np.testing.assert_allclose(curve.sd, curve.cycles.std(axis=0, ddof=1))
    assert 60 < int(np.argmax(curve.mean)) < 90  # a knee bends most in swing
    assert cycles.curve(angles, "pelvis_tilt", side="l") is not None


@pytest.mark.parametrize("act", ["punch", "squat", "jack", "kick"])
def test_other_acts_are_no_gait(act: str):
    cycles = find_gait_cycles(simulate_performance(3.2, acts=(act,)))
    assert len(cycles) == 0 and cycles.text.endswith(".")
    assert cycles.parameters() == []


def test_a_figure_without_legs_does_not_walk():
    arm = ik.Skeleton.build("arm", [ik.Bone("a", joint=ik.Joint.revolute("x"))])
    assert find_gait_events(Motion(arm, np.zeros((10, 1)), 100.0)).code == "no-legs"


def test_a_standstill_has_no_steps():
    figure = ik.human()
    q = np.tile(figure.neutral(), (200, 1))
    assert find_gait_events(Motion(figure, q, 100.0)).code == "no-steps"
    one = Motion(figure, q[:1], 100.0)
    assert find_gait_events(one).code == "no-steps"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "worst"),
    [
        ("vicon_pig/PiG_Motion3_FF.c3d", 0.025),
        ("qualisys/Qualisys.c3d", 0.030),
        ("motion_analysis/motion_analysis_corporation.c3d", 0.040),
    ],
)
def test_events_are_those_that_laboratories_wrote_into_their_files(
    shared_data: Path, name: str, worst: float
):
    """Within two or three frames [s]; events at the very ends of a recording are not found."""
    from exactik.recordings.pipeline import solve_recording

    markers = ik.load_markers(shared_data / "data" / "c3d" / name)
    (solved,) = solve_recording(markers, ik.human())
    motion = solved.track.motion
    found = find_gait_events(motion)
    checked = 0
    for label, context, time in markers.metadata["events"]:
        word = f"{context} {label}".strip()
        side = "r" if word.startswith("R") else "l"
        kind = "off" if word.endswith(("Off", "TO")) else "strike"
        moment = time - (markers.first_frame - 1) / markers.rate
        if 0.1 < moment < motion.times[-1] - 0.1:
            frames = np.array(found.frames(side, kind))
            assert np.abs(frames / motion.rate - moment).min() < worst, (side, kind, moment)
            checked += 1
    assert checked >= 6
