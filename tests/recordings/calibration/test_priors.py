"""What is assumed of bones and markers before a recording is looked at."""

from __future__ import annotations

import numpy as np

import exactik as ik
from exactik.recordings.calibration import calibrate
from exactik.recordings.calibration.fitting import Prior, make_scaled_skeleton

NOISE = 1e-3


def make_arm(markers: dict[str, tuple[str, tuple[float, float, float]]]) -> ik.Skeleton:
    """A trunk that moves freely, an upper arm with a ball joint, a forearm with a hinge."""
    ball = ik.Joint.euler("ZXY", [(-1.5, 1.5)] * 3)
    bones = [
        ik.Bone("trunk", joint=ik.Joint.free("ZXY")),
        ik.Bone("upper", parent="trunk", offset=(0, 0.2, 0.3), joint=ball),
        ik.Bone("lower", parent="upper", offset=(0, 0.3, 0), joint=ik.Joint.revolute("z", (-2, 0))),
        ik.Bone("hand", parent="lower", offset=(0, 0.25, 0), joint=ik.Joint.revolute("x", (-1, 1))),
    ]
    return ik.Skeleton.build("arm", bones, markers)


MARKERS = {
    "T1": ("trunk", (0.1, 0, 0.3)),
    "T2": ("trunk", (-0.1, 0, 0.3)),
    "T3": ("trunk", (0.1, 0.1, 0)),
    "T4": ("trunk", (-0.1, -0.1, 0)),
    "U1": ("upper", (0.05, 0.1, 0)),
    "U2": ("upper", (0, 0.2, 0.05)),
    "U3": ("upper", (-0.05, 0.15, 0)),
    "L1": ("lower", (0.04, 0.1, 0)),
    "L2": ("lower", (0, 0.2, 0.04)),
    "L3": ("lower", (-0.04, 0.15, 0)),
}


def record(skeleton: ik.Skeleton, frames: int, noise: float = NOISE, seed: int = 0) -> ik.Markers:
    rng = np.random.default_rng(seed)
    lower = np.where(np.isfinite(skeleton.lower), skeleton.lower, -0.3)
    upper = np.where(np.isfinite(skeleton.upper), skeleton.upper, 0.3)
    q = lower + (upper - lower) * rng.uniform(0.1, 0.9, (frames, skeleton.nv))
    places = skeleton.forward(q).markers
    # Poses of chance, a second apart: nothing of it is a spike.
    return ik.Markers(places + rng.normal(0.0, noise, places.shape), tuple(skeleton.markers), 1.0)


def test_the_pelvis_varies_by_half_of_what_other_bones_do():
    """5 % beside a tenth: a hip 1 cm off is nothing special, one 3 cm off is the belly's."""
    figure = make_scaled_skeleton(ik.human(), (), "symmetric")
    prior = Prior(scale_sd=0.1, offset_sd=np.empty(0), sigma=None)
    sds = dict(zip(figure.scale_groups, prior.scale_sds(figure).tolist(), strict=True))
    assert sds["l_thigh", "r_thigh"] == sds["head",] == 0.1
    assert 0.03 < sds["pelvis",] < 0.08


def test_no_marker_is_better_than_a_fifth_of_a_millimetre():
    arm = make_arm(MARKERS)
    fit = calibrate(arm, record(arm, 12, noise=1e-7), frames=12)
    assert 1e-4 < fit.fit.solution.sigma < 5e-4
    assert fit.settled


# --- what is left open, and why


def swing(arm: ik.Skeleton, upper: float, lower: float, hand: float) -> ik.Markers:
    """The arm and its trunk swing; ranges of its joints in degrees."""
    rng, t = np.random.default_rng(2), np.linspace(0.0, 1.0, 40)[:, None]
    joints = np.radians([upper, upper, upper, lower, hand])
    ranges = np.concatenate([[0.2, 0.2, 0.2, 0.6, 0.6, 0.6], joints])
    phase = rng.integers(1, 4, arm.nv) * t + rng.uniform(0.0, 1.0, arm.nv)
    q = np.r_[np.zeros(9), -0.8, 0.0] + 0.5 * ranges * np.sin(2.0 * np.pi * phase)
    places = arm.forward(q).markers
    places = places + rng.normal(0.0, NOISE, places.shape)
    return ik.Markers(places, tuple(arm.markers), 1.0)


def find_reasons(
    ranges: tuple[float, float, float], without: str = "", hand: bool = True
) -> dict[str, str]:
    """Why sizes are open, with a prior so narrow that all of them are: bone → code."""
    markers = {name: m for name, m in MARKERS.items() if without == "" or name[0] not in without}
    if hand:
        markers["H"] = ("hand", (0.0, 0.08, 0.03))
    arm = make_arm(markers)
    fit = calibrate(arm, swing(arm, *ranges), scale="bone", scale_sd=0.002, frames=40)
    return {e.names[0]: e.code for e in fit.undetermined if e.kind == "scale"}


def test_a_bone_is_seen_by_its_own_joint_and_those_of_its_children():
    """The trunk turns in the room, which tells nothing of it."""
    reasons = find_reasons((3.0, 3.0, 40.0))
    assert reasons == {
        "trunk": "not-moved",
        "upper": "not-moved",
        "lower": "loose",
        "hand": "loose",
    }
    assert find_reasons((60.0, 3.0, 6.0))["hand"] == "not-moved"
    assert find_reasons((60.0, 3.0, 6.0))["trunk"] == "loose"


def test_a_bone_without_markers_is_told_by_those_beyond():
    assert find_reasons((60.0, 60.0, 40.0), without="L")["lower"] == "loose"
    assert find_reasons((60.0, 60.0, 40.0), without="L", hand=False)["lower"] == "no-marker"


def test_an_arm_that_moves_is_not_static():
    """Markers are 8 cm from their usual places when it swings, 4 mm when it hardly does."""
    arm = make_arm(MARKERS)
    for degrees, is_static in ((60.0, False), (3.0, True)):
        fit = calibrate(arm, swing(arm, degrees, degrees, degrees), frames=12)
        assert fit.is_static == is_static
