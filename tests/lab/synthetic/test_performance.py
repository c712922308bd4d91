"""The performer keeps to the floor, to its limits and to what its acts promise."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.errors import UnknownNameError, UsageError
from exactik.lab.synthetic import (
    ACTS,
    HEEL,
    TIP,
    compute_arm_angles,
    interpolate_quintic,
    simulate_performance,
    simulate_recording,
)

EVERY = ("walk", "punch", "kick", "squat", "jack", "wave")


@pytest.fixture(scope="module")
def whole() -> ik.Motion:
    return simulate_performance()


@pytest.fixture(scope="module")
def long() -> list[ik.Motion]:
    """Four rounds of everything, so both sides and both ways to walk, by some performers."""
    return [simulate_performance(90.4, 60.0, seed, acts=EVERY) for seed in range(4)]


def soles(motion: ik.Motion) -> dict[str, np.ndarray]:
    """Heel and tip of the toes, and the joint of the toes less its height when flat, (T, 3)."""
    pose, paths = motion.forward(), {}
    for side in ("l", "r"):
        paths[f"{side} heel"] = pose.point(f"{side}_foot", HEEL)
        paths[f"{side} tip"] = pose.point(f"{side}_toes", TIP)
        paths[f"{side} joint"] = pose.point(f"{side}_toes") + np.array([0.0, 0.0, TIP[2]])
    return paths


def runs(mask: np.ndarray) -> np.ndarray:
    """First frame and end of each run of True, (n, 2)."""
    return np.flatnonzero(np.diff(np.r_[False, mask, False].astype(int))).reshape(-1, 2)


# --- the whole performance


def test_it_is_what_was_asked_for(whole: ik.Motion):
    assert len(whole) == 2401 and whole.rate == 120.0 and whole.skeleton is ik.human()
    acts = whole.metadata["acts"]
    assert [name for name, _, _ in acts] == ["walk", "punch", "kick", "squat", "jack"]
    assert acts[0][1] == 0.0 and acts[-1][2] == 20.0


def test_every_dof_stays_within_its_limits(long: list[ik.Motion]):
    """With room to spare, so that the clip at the end never did anything."""
    for motion in long:
        figure = motion.skeleton
        room = np.minimum(motion.q - figure.lower, figure.upper - motion.q).min(axis=0)
        assert np.degrees(room.min()) > 0.3, figure.dof_names[int(room.argmin())]


def test_no_knee_is_locked(long: list[ik.Motion]):
    """A leg stretched to its end would be one that could not reach, and its knee would jump."""
    for motion in long:
        knees = [motion.skeleton.dof_names.index(f"{side}_shin.ry") for side in "lr"]
        assert np.degrees(motion.q[:, knees].min()) > 8.0


def test_no_sole_goes_below_the_floor(long: list[ik.Motion]):
    for motion in long:
        for name, path in soles(motion).items():
            assert path[:, 2].min() > -1e-9, name


def test_planted_feet_stay_where_they_are(long: list[ik.Motion]):
    """Points within 0.5 mm of the floor keep within 5 mm of their place, for as long as they do."""
    for motion in long:
        for name, path in soles(motion).items():
            for first, end in runs(path[:, 2] < 5e-4):
                place = np.median(path[first:end, :2], axis=0)
                assert np.linalg.norm(path[first:end, :2] - place, axis=1).max() < 0.005, name


def test_someone_always_stands_except_in_a_jump(long: list[ik.Motion]):
    for motion in long:
        lowest = np.min([path[:, 2] for path in soles(motion).values()], axis=0)
        jumps = [(start, end) for name, start, end in motion.metadata["acts"] if name == "jack"]
        jumping = np.any([(motion.times > a) & (motion.times < b) for a, b in jumps], axis=0)
        assert lowest[~jumping].max() < 1e-3
        assert lowest[jumping].max() > 0.02


def test_speeds_are_those_of_people(long: list[ik.Motion]):
    for motion in long:
        speeds = np.abs(np.diff(motion.q, axis=0)) * motion.rate
        assert speeds[:, 3:].max() < 25.0
        assert speeds[:, :3].max() < 2.5


def test_accelerations_are_continuous():
    """A jump of the acceleration would stay when frames come closer; here it goes with them."""
    jumps = []
    for rate in (500.0, 1000.0, 2000.0):
        q = simulate_performance(8.0, rate, acts=("walk", "kick")).q
        jumps.append(np.abs(np.diff(q, 3, axis=0)).max() * rate**2)
    assert jumps[1] < 0.6 * jumps[0] and jumps[2] < 0.6 * jumps[1]
    assert jumps[2] < 15.0  # rad/s², of some 300


def test_the_head_looks_ahead(whole: ik.Motion):
    pose = whole.forward()
    look = pose.rotations[:, whole.skeleton.bone_index("head"), :, 0]
    assert look[:, 0].min() > np.cos(np.radians(25.0))


def test_rounds_vary_and_stay_in_the_room(long: list[ik.Motion]):
    q = long[0].q
    first, second = q[: int(22.6 * 60)], q[int(22.6 * 60) : int(45.2 * 60)]
    assert np.abs(first - second[: len(first)])[:, 6:].max() > 0.5
    assert np.abs(q[:, :2]).max() < 6.0
    hand = long[0].skeleton.bone_names.index("r_hand")
    assert not np.allclose(
        long[0].forward().positions[:, hand], long[1].forward().positions[:, hand]
    )


def test_the_same_seed_makes_the_same_motion(whole: ik.Motion):
    assert np.array_equal(whole.q, simulate_performance().q)
    assert not np.array_equal(whole.q, simulate_performance(seed=1).q)


def test_other_rates_are_the_same_motion(whole: ik.Motion):
    assert np.allclose(simulate_performance(rate=30.0).q, whole.q[::4], atol=1e-9)
    assert simulate_performance(2.0, 10.0).q.shape == (21, 58)


@pytest.mark.parametrize(
    "arguments",
    [{"seconds": 1.0}, {"rate": 5.0}, {"acts": ()}, {"acts": "walk"}, {"seconds": float("nan")}],
)
def test_misuse_is_named(arguments):
    with pytest.raises(UsageError, match=next(iter(arguments))):
        simulate_performance(**arguments)
    with pytest.raises(UnknownNameError, match="squat"):
        simulate_performance(acts=("squad",))


# --- one act alone


def alone(act: str) -> ik.Motion:
    return simulate_performance(ACTS[act].seconds, 120.0, acts=(act,))


def test_walk_travels_and_its_feet_alternate():
    motion = alone("walk")
    pelvis = motion.forward().point("pelvis")
    assert pelvis[-1, 0] - pelvis[0, 0] > 2.5
    speed = np.diff(pelvis[:, 0]) * motion.rate
    assert 0.9 < speed.max() < 1.6 and speed.min() > -0.05
    paths = soles(motion)
    swings = []
    for side in ("l", "r"):
        height = np.minimum(paths[f"{side} heel"][:, 2], paths[f"{side} joint"][:, 2])
        swings += [(int(first), side) for first, _ in runs(height > 0.01)]
    assert "".join(side for _, side in sorted(swings)) == "rlrlrlr"
    # Arms swing against the legs.
    pose = motion.forward()
    arms = pose.point("l_hand")[:, 0] - pose.point("r_hand")[:, 0]
    legs = pose.point("l_foot")[:, 0] - pose.point("r_foot")[:, 0]
    assert np.corrcoef(arms, legs)[0, 1] < -0.7


def test_punches_are_fast_and_end_with_a_straight_arm():
    motion = alone("punch")
    pose = motion.forward()
    for side, times in (("l", 2), ("r", 2)):
        fist, shoulder = pose.point(f"{side}_fingers"), pose.point(f"{side}_upper_arm")
        assert np.linalg.norm(np.diff(fist, axis=0), axis=1).max() * motion.rate > 3.0
        elbow = np.abs(motion.q[:, motion.skeleton.dof_names.index(f"{side}_forearm.rz")])
        ahead = fist[:, 0] - shoulder[:, 0]
        assert len(runs(ahead > 0.55)) == times
        assert np.degrees(elbow[ahead > 0.55].min()) < 12.0


def test_kicks_raise_the_knee_and_then_the_foot():
    motion = alone("kick")
    pose = motion.forward()
    for side, frames in (("r", slice(0, 240)), ("l", slice(240, 481))):
        foot, knee = pose.point(f"{side}_foot")[frames], pose.point(f"{side}_shin")[frames]
        hip = pose.point(f"{side}_thigh")[frames]
        bent = motion.q[frames, motion.skeleton.dof_names.index(f"{side}_shin.ry")]
        chamber, strike = bent.argmax(), (foot[:, 0] - hip[:, 0]).argmax()
        assert chamber < strike
        assert hip[chamber, 2] - knee[chamber, 2] < 0.1 and np.degrees(bent[chamber]) > 90.0
        assert foot[strike, 2] > 0.75 * hip[strike, 2] and np.degrees(bent[strike]) < 25.0
        assert np.linalg.norm(np.diff(foot, axis=0), axis=1).max() * motion.rate > 4.0


def test_squats_go_down_twice_over_planted_feet():
    motion = alone("squat")
    height = motion.forward().point("pelvis")[:, 2]
    assert height[0] - height.min() > 0.25
    assert len(runs(height < height[0] - 0.25)) == 2
    planted = slice(int(0.9 * 120), int(3.6 * 120))
    for path in soles(motion).values():
        assert np.abs(path[planted] - path[planted][0]).max() < 1e-6


def test_jacks_spread_arms_and_legs_together():
    motion = alone("jack")
    pose = motion.forward()
    hands = 0.5 * (pose.point("l_hand") + pose.point("r_hand"))[:, 2]
    apart = pose.point("l_foot")[:, 1] - pose.point("r_foot")[:, 1]
    assert len(runs(hands > pose.point("head")[:, 2])) == 3 == len(runs(apart > 0.45))
    assert apart.min() > 0.15


def test_wave_raises_one_hand():
    pose = alone("wave").forward()
    assert (pose.point("r_hand")[:, 2] - pose.point("r_upper_arm")[:, 2]).max() > 0.15
    assert pose.point("l_hand")[:, 2].max() < 1.0


# --- what it is made of


def test_curves_pass_their_keys_and_never_overshoot():
    random = np.random.default_rng(0)
    times = np.cumsum(random.uniform(0.1, 1.0, 40))
    values = random.standard_normal(40)
    values[10:13] = values[10]  # a hold
    assert np.allclose(interpolate_quintic(times, values, times), values, atol=1e-12)
    for k in range(39):
        piece = np.diff(
            interpolate_quintic(times, values, np.linspace(times[k], times[k + 1], 200))
        )
        assert (piece * np.sign(values[k + 1] - values[k]) >= -1e-12).all()


def test_arm_angles_point_where_they_say():
    figure = ik.human()
    for raised, spread, way in ((0, 0, (0, 0, -1)), (90, 0, (1, 0, 0)), (0, 90, (0, 1, 0))):
        q = figure.neutral()
        first = figure.dof_names.index("l_upper_arm.rz")
        q[first : first + 3] = np.radians(compute_arm_angles(raised, spread, 0.0))
        pose = figure.forward(q)
        arm = pose.point("l_forearm") - pose.point("l_upper_arm")
        assert np.allclose(arm / np.linalg.norm(arm), way, atol=1e-9)


# --- as recorded by cameras


def test_faults_are_those_asked_for(whole: ik.Motion):
    recording = simulate_recording(whole, noise=0.002, gaps=0.08, outliers=0.01, seed=3)
    seen = recording.markers.positions
    assert recording.markers.names == tuple(whole.skeleton.markers)
    assert np.allclose(recording.clean, whole.forward().markers)
    assert np.array_equal(recording.missing, recording.markers.missing)
    assert recording.missing.mean() == pytest.approx(0.08, rel=0.05)
    lengths = np.concatenate([np.diff(runs(column)).ravel() for column in recording.missing.T])
    assert lengths.max() <= 121 and np.sort(lengths)[1] >= 12  # one may be cut to fit the share
    good = ~recording.missing & ~recording.outliers & ~recording.swapped_frames[:, None]
    error = (seen - recording.clean)[good]
    assert error.std() == pytest.approx(0.002, rel=0.05)
    assert recording.outliers.mean() == pytest.approx(0.01 * 0.92, rel=0.2)
    assert np.linalg.norm((seen - recording.clean)[recording.outliers], axis=1).min() > 0.05


@pytest.mark.parametrize("swap", [True, ("LTHI", "LKNE")])
def test_the_swap_is_reported(whole: ik.Motion, swap):
    recording = simulate_recording(whole, swap=swap, gaps=0.3)
    assert recording.swapped is not None and recording.swapped_frames.sum() == 96
    assert swap is True or recording.swapped == swap
    a, b = (recording.markers.names.index(name) for name in recording.swapped)
    swapped = recording.swapped_frames
    seen = recording.markers.positions
    assert np.linalg.norm(seen[swapped, a] - recording.clean[swapped, b], axis=1).max() < 0.01
    assert np.linalg.norm(seen[swapped, b] - recording.clean[swapped, a], axis=1).max() < 0.01
    assert np.nanmax(np.linalg.norm(seen - recording.clean, axis=2)[~swapped]) < 0.01
    if swap is True:
        assert np.linalg.norm(recording.clean[:, a] - recording.clean[:, b], axis=1).mean() < 0.1


def test_tissue_is_systematic_and_as_large_as_asked(whole: ik.Motion):
    recording = simulate_recording(whole, noise=0.0, gaps=0.0, swap=False, tissue=0.006)
    offset = recording.markers.positions - recording.clean
    assert np.allclose(np.sqrt((offset**2).sum(axis=2).mean(axis=0)), 0.006, rtol=1e-6)
    steps = np.linalg.norm(np.diff(offset, axis=0), axis=2)
    assert np.median(steps) < 0.1 * 0.006  # smooth in time, unlike noise
    assert recording.swapped is None and not recording.swapped_frames.any()


def test_recording_at_another_rate_without_faults(whole: ik.Motion):
    recording = simulate_recording(whole, noise=0.0, gaps=0.0, swap=False, rate=60.0)
    assert recording.markers.rate == 60.0 and len(recording.truth) == 1201
    assert np.array_equal(recording.markers.positions, recording.clean)
    again = simulate_recording(whole, seed=5).markers.positions
    assert np.array_equal(
        again, simulate_recording(whole, seed=5).markers.positions, equal_nan=True
    )


@pytest.mark.parametrize(
    "arguments", [{"noise": -1.0}, {"gaps": 0.9}, {"outliers": float("nan")}, {"tissue": -0.1}]
)
def test_misuse_of_a_recording_is_named(whole: ik.Motion, arguments):
    with pytest.raises(UsageError, match=next(iter(arguments))):
        simulate_recording(whole, **arguments)
    with pytest.raises(UnknownNameError, match="LKNE"):
        simulate_recording(whole, swap=("LKNE", "LKN"))
    with pytest.raises(UsageError, match="two different"):
        simulate_recording(whole, swap=("LKNE", "LKNE"))
