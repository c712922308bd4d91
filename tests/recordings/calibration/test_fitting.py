"""What a calibration assumes and when it ends, constant by constant, on figures of a few bones."""

from __future__ import annotations

import numpy as np
import pytest

from exactik.errors import UsageError
from exactik.model import Bone, Joint, Skeleton
from exactik.model.motion import Markers, Motion
from exactik.recordings.calibration import (
    Calibration,
    attach_markers,
    calibrate,
    distance_from_bone,
    find_marker_bones,
)
from exactik.recordings.calibration.fitting import (
    FitFrames,
    Prior,
    ScaledSkeleton,
    choose_diverse_frames,
    fit_parameters,
    make_fit_problem,
    make_scaled_skeleton,
)
from exactik.recordings.tracking import make_tracking_problem
from exactik.typing import Array
from tests.support.chains import make_chain, move_chain

RATE = 60.0


def record(
    skeleton: Skeleton, frames: int = 120, noise: float = 0.0, bend: float = 0.8, seed: int = 0
) -> Markers:
    """What cameras see of a figure that moves."""
    place = skeleton.forward(move_chain(skeleton, frames, bend=bend)).markers
    place = place + noise * np.random.default_rng(seed).normal(size=place.shape)
    return Markers(place, tuple(skeleton.markers), RATE)


def grown(skeleton: Skeleton, scales: dict[str, float]) -> Skeleton:
    """The figure with bones of other sizes."""
    scaled = make_scaled_skeleton(skeleton, tuple(skeleton.markers), "bone")
    theta = np.zeros(scaled.parameter_count)
    for bone, scale in scales.items():
        theta[scaled.scale_groups.index((bone,))] = np.log(scale)
    return scaled.build(theta)


def fit(skeleton: Skeleton, markers: Markers, frames: int = 30, **options) -> Calibration:
    return calibrate(
        skeleton,
        markers,
        bones={name: bone for name, (bone, _) in skeleton.markers.items()},
        frames=frames,
        **options,
    )


def scaled_chain(kind: str = "bone") -> ScaledSkeleton:
    chain = make_chain(4, 3)
    return make_scaled_skeleton(chain, tuple(chain.markers), kind)


# --- the prior


def test_people_differ_by_a_fifth_in_size_and_their_bones_by_a_tenth_from_that():
    scaled = scaled_chain()
    P = Prior(scale_sd=0.1, offset_sd=np.full(12, 0.03), sigma=None).precision(scaled)
    groups = len(scaled.scale_groups)
    whole, one = np.zeros(len(P)), np.zeros(len(P))
    whole[:groups], one[0] = 0.2, 0.1
    assert whole @ P @ whole == pytest.approx(0.94, abs=0.02)  # one standard deviation, squared
    assert 0.7 < one @ P @ one < 1.0
    point = np.zeros(len(P))
    point[groups] = 0.03
    assert point @ P @ point == pytest.approx(1.0)


def test_a_bone_at_the_end_is_longer_or_its_markers_are_elsewhere():
    """Both explain the same: by default some of it is size, some of it the four markers."""
    chain = make_chain(3, 4)
    own = grown(chain, {"b2": 1.15})
    assert 1.07 < fit(chain, record(own), frames=16, scale="bone").scales["b2"] < 1.12


def test_markers_of_which_only_the_bone_is_known_may_be_anywhere_on_it():
    """They begin at the bone's origin and end 10 cm away, where others would pay for 3 cm."""
    chain = make_chain(3, 4)
    bones = {name: bone for name, (bone, _) in chain.markers.items()}
    bare = calibrate(chain.with_markers({}), record(chain), bones=bones, frames=12, scale=False)
    away = [
        np.linalg.norm(bare.offsets[name] - point) for name, (_, point) in chain.markers.items()
    ]
    assert np.median(away) < 0.05
    assert 1e3 * np.nanmean(bare.errors) < 1.0
    sds = list(bare.offset_sds.values())
    assert max(sds) < 0.3


# --- how sure it is


def test_all_frames_together_count_as_eight():
    """Noise of 2 mm in 32 frames is taken for 4 mm: skin moves the same way again and again."""
    chain = make_chain(3, 4)
    answer = fit(chain, record(chain, noise=0.002), frames=32, robust=False).fit.solution
    assert answer.sigma == pytest.approx(0.002 * np.sqrt(32 / 8), rel=0.15)
    few = fit(chain, record(chain, noise=0.002), frames=6, robust=False).fit.solution
    assert few.sigma == pytest.approx(0.002, rel=0.3)
    perfect = fit(chain, record(chain), frames=32).fit.solution
    assert perfect.sigma == pytest.approx(2e-4)
    given = fit(chain, record(chain, noise=0.002), frames=32, sigma=0.003).fit.solution
    assert given.sigma == 0.003


def test_in_the_end_all_frames_are_fitted():
    chain = make_chain(3, 4)
    answer = fit(chain, record(grown(chain, {"b1": 1.1})), frames=60)
    assert len(answer.q) == len(answer.errors) == len(answer.frames) == 60
    assert answer.scales["b1"] == pytest.approx(1.1, abs=0.02)  # sizes are fitted by default
    assert 1e3 * np.nanmean(answer.errors) < 0.1


def test_the_pull_to_neutral_is_a_tenth_of_that_of_tracking():
    scaled = scaled_chain()
    markers = record(scaled.skeleton, 4)
    frames = FitFrames(markers, "hard", (), robust=False)
    problem = make_fit_problem(scaled, np.zeros(scaled.parameter_count), frames)
    usual = make_tracking_problem(scaled.skeleton, markers)
    ratio = problem.targets.rest_weight[0, 6:] / usual.targets.rest_weight[0, 6:]
    assert ratio == pytest.approx(0.1)


# --- when it ends


def test_a_figure_far_off_comes_to_rest():
    """All bones a third smaller, the last one half as long as that, markers 2 cm off."""
    chain = make_chain(4, 4)
    own = grown(chain, {"b0": 0.7, "b1": 0.7, "b2": 0.7, "b3": 0.4})
    answer = fit(chain, record(own, bend=1.2), frames=16, scale="bone")
    assert answer.settled and 4 < answer.fit.solution.steps + 5
    assert 1e3 * np.nanmean(answer.errors) < 0.1
    for bone in ("b0", "b1", "b2"):
        assert answer.scales[bone] == pytest.approx(0.7, abs=0.02)


def test_at_rest_no_step_promises_more():
    """From another start the same parameters, to a tenth of their standard deviations."""
    scaled = scaled_chain()
    rng = np.random.default_rng(3)
    theta = np.concatenate([rng.normal(0, 0.05, 4), rng.normal(0, 0.01, 36)])
    own = scaled.build(theta)
    markers = record(own, 16, noise=0.002)
    q = move_chain(own, 16, bend=0.8)
    prior = Prior(scale_sd=0.1, offset_sd=np.full(12, 0.03), sigma=0.002)
    frames = FitFrames(markers, "hard", (), robust=False)
    answers = [
        fit_parameters(scaled, start, prior, frames, q)
        for start in (np.zeros(40), theta, 2.0 * theta)
    ]
    sd = np.sqrt(np.diag(answers[0].covariance))
    for other in answers[1:]:
        assert other.converged and other.steps < 12
        assert np.abs((other.theta - answers[0].theta) / sd).max() < 0.1


def test_weights_follow_the_residuals_until_they_settle():
    """A marker that is off in a tenth of the frames hardly counts there; sizes are as without."""
    chain = make_chain(3, 4)
    own = grown(chain, {"b1": 1.1})
    markers = record(own, 40, noise=0.001)
    place = np.array(markers.positions)
    place[::10, 5] += (0.3, 0.0, 0.1)
    spoilt = fit(chain, Markers(place, markers.names, RATE), frames=40)
    clean = fit(chain, markers, frames=40)
    assert (spoilt.fit.solution.weights[::10, 5] < 0.01).all()
    assert spoilt.scales["b1"] == pytest.approx(clean.scales["b1"], abs=2e-3)
    assert (clean.fit.solution.weights > 0.3).all()
    trusting = fit(chain, markers, frames=40, robust=False)
    assert (trusting.fit.solution.weights == 1.0).all()


def test_the_sum_falls_and_poses_are_at_their_best():
    """From parameters a tenth off: E of the prior's and the markers' part, by their own formula."""
    scaled = scaled_chain()
    markers = record(scaled.skeleton, 24, noise=0.002)
    frames = FitFrames(markers, "hard", (), robust=False)
    prior = Prior(scale_sd=0.1, offset_sd=np.full(12, 0.03), sigma=0.002)
    P, q = prior.precision(scaled), move_chain(scaled.skeleton, 24, bend=0.8)

    def objective(theta: Array, poses: Array) -> float:
        away = scaled.build(theta).forward(poses).markers - markers.positions
        return 0.5 * float((away**2).sum()) / 0.002**2 + 0.5 * float(theta @ P @ theta)

    start = np.full(scaled.parameter_count, 0.02)
    answer = fit_parameters(scaled, start, prior, frames, q)
    least = objective(answer.theta, answer.solutions.q)
    assert answer.converged and least < 0.1 * objective(start, q)
    rng = np.random.default_rng(0)
    for _ in range(20):
        theta = answer.theta + rng.normal(0.0, 1e-3, len(start))
        step = rng.normal(0.0, 1e-3, (24, scaled.skeleton.nv))
        assert objective(theta, answer.solutions.q) > least
        assert objective(answer.theta, scaled.skeleton.integrate(answer.solutions.q, step)) > least


def test_a_fit_does_not_depend_on_the_threads():
    """To the last bit."""
    chain = make_chain(3, 4)
    markers = record(grown(chain, {"b1": 1.1}), 70, noise=0.002)
    one, two = (fit(chain, markers, frames=70, threads=n).fit.solution for n in (1, 2))
    assert np.array_equal(one.theta, two.theta)
    assert np.array_equal(one.solutions.q, two.solutions.q)
    assert np.array_equal(one.covariance, two.covariance)


# --- frames


def test_frames_with_few_markers_are_not_used():
    """Of ten markers seven must be seen, and three at least."""
    chain = make_chain(5, 2)
    markers = record(chain, 60)
    place = np.array(markers.positions)
    place[:20, :4] = np.nan  # six are left
    place[20:40, :2] = np.nan  # eight are left
    chosen = choose_diverse_frames([Markers(place, markers.names, RATE)], 100)
    assert chosen.frames.tolist() == list(range(20, 60))
    place[:, 2:] = np.nan
    with pytest.raises(UsageError, match="three"):
        choose_diverse_frames([Markers(place, markers.names, RATE)], 100)


def test_among_many_frames_some_are_looked_at():
    """Every pair of shapes is compared: of 5,000 frames every third is a candidate."""
    t = np.arange(5000)
    place = np.random.default_rng(0).normal(size=(1, 3, 3)) + 0.001 * t[:, None, None]
    chosen = choose_diverse_frames([Markers(place, ("A", "B", "C"), RATE)], 4000)
    assert len(chosen.frames) == 1667 and (np.diff(chosen.frames) == 3).all()


# --- markers on bones


def test_a_bone_reaches_to_the_joints_that_follow():
    bones = [
        Bone("trunk"),
        Bone("arm", parent="trunk", offset=(0.0, 0.0, 0.5), joint=Joint.revolute("z")),
        Bone("hand", parent="arm", offset=(0.3, 0.0, 0.0), joint=Joint.revolute("z")),
    ]
    figure = Skeleton.build("one arm", bones, {})
    for bone, point, distance in (
        ("trunk", (0.1, 0.0, 0.4), 0.1),
        ("arm", (0.2, 0.05, 0.0), 0.05),
        ("hand", (0.0, 0.03, 0.04), 0.05),
    ):
        assert distance_from_bone(figure, bone, np.array(point)) == pytest.approx(distance)


@pytest.mark.parametrize(("spread", "same"), [(0.05, True), (0.4, False)])
def test_a_motion_of_another_take_is_refused(spread: float, same: bool):
    """Skin moves by centimetres; half of the markers by more than 15 cm is another take."""
    chain = make_chain(3, 2)
    q = move_chain(chain, 40)
    place = chain.forward(q).markers
    place[::2] += np.array([spread, 0.0, 0.0]) * 0.5
    place[1::2] -= np.array([spread, 0.0, 0.0]) * 0.5
    markers, motion = Markers(place, tuple(chain.markers), RATE), Motion(chain, q, RATE)
    if same:
        attached = attach_markers(chain, markers, motion)
        for name, (_, point) in chain.markers.items():
            assert np.linalg.norm(np.subtract(attached.markers[name][1], point)) < 0.02
    else:
        with pytest.raises(UsageError, match="not of the same take"):
            attach_markers(chain, markers, motion)


def test_a_marker_is_on_the_bone_on_which_it_rests():
    """Not on the nearest, if it moves more there; on the nearest where no joint moves."""
    chain = make_chain(3, 1)
    q = move_chain(chain, 80, bend=0.6)
    pose = chain.forward(q)
    rng = np.random.default_rng(0)

    def place_on(bone: str, point: Array, noise: float) -> Markers:
        k = chain.bone_index(bone)
        world = pose.positions[:, k] + pose.rotations[:, k] @ point
        world = world + noise * rng.normal(size=world.shape)
        return Markers(world[:, None], ("RKNE",), RATE)

    frames = np.arange(80)
    motion = Motion(chain, q, RATE)
    for noise, expected in ((0.001, "b1"), (0.004, "b1")):
        markers = place_on("b1", np.array([0.21, 0.0, 0.015]), noise)
        found = find_marker_bones(motion, markers, frames)["RKNE"]
        assert found.bone == expected and found.spread < 0.01
    place = np.tile(pose.positions[:, 1:2], (1, 2, 1))
    place[1:, 1] = np.nan  # seen once
    assert find_marker_bones(motion, Markers(place, ("*7", "LKNE"), RATE), frames) == {}
    still = Motion(chain, np.tile(chain.neutral(), (80, 1)), RATE)
    pose = chain.forward(still.q)
    markers = place_on("b0", np.array([0.3, 0.0, 0.02]), 0.001)
    assert find_marker_bones(still, markers, frames)["RKNE"].bone == "b1"
