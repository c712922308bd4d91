"""Paths whose dofs are no faster than they may be, and are otherwise as given."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

import exactik as ik
from exactik.errors import UnknownNameError, UsageError
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.solvers.control import find_speeds, limit_changes, limit_speeds
from tests.support.models import planar_arm

ROUNDING = 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_no_other_numbers_with_such_changes_are_nearer(seed: int) -> None:
    """Beside a solver for any linear conditions."""
    rng = np.random.default_rng(seed)
    values, largest = np.cumsum(rng.normal(size=rng.integers(2, 25))), float(rng.uniform(0.05, 1.5))
    found = limit_changes(values, largest)
    changes = np.diff(np.eye(len(values)), axis=0)
    judged = minimize(
        lambda x: 0.5 * ((x - values) ** 2).sum(),
        values,
        jac=lambda x: x - values,
        constraints=LinearConstraint(changes, -largest, largest),
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    ).x
    np.testing.assert_allclose(found, judged, atol=2e-6)
    assert np.abs(np.diff(found)).max() <= largest * (1.0 + ROUNDING)
    assert found.min() >= values.min() and found.max() <= values.max()
    np.testing.assert_array_equal(limit_changes(found, largest * (1.0 + 1e-9)), found)


def test_numbers_by_hand() -> None:
    """A step is spread to both sides; what is slow enough stays, to the bit."""
    assert limit_changes(np.array([0.0, 0.0, 3.0, 3.0]), 1.0).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert limit_changes(np.array([0.0, 1.0]), 0.5).tolist() == [0.25, 0.75]
    assert limit_changes(np.array([5.0]), 0.1).tolist() == [5.0]
    slow = np.sin(np.linspace(0.0, 3.0, 50))
    np.testing.assert_array_equal(limit_changes(slow, 0.1), slow)


def test_quaternions_keep_their_speeds_too() -> None:
    """And only dofs that were too fast are changed."""
    joint = ik.Joint.free(ik.Joint.quaternion())
    hinge = ik.Joint.revolute("x", limits=(-1, 1))
    figure = ik.Skeleton.build(
        "body", [ik.Bone("a", joint=joint), ik.Bone("b", parent="a", joint=hinge)]
    )
    rng = np.random.default_rng(3)
    steps = rng.normal(scale=0.05, size=(60, figure.nv))
    steps[20:24, 3:6] *= 8.0
    q = np.array([figure.neutral()] * 60)
    for t in range(1, 60):
        q[t] = figure.clip(figure.integrate(q[t - 1], steps[t]))
    kept, fast = limit_speeds(figure, q, 50.0, {"*": 100.0, "a.w*": 6.0})
    assert fast.tolist() == [False] * 3 + [True] * 3 + [False]
    speeds = 50.0 * np.abs(figure.difference(kept[1:], kept[:-1]))
    assert speeds[:, 3:6].max() <= 6.0 * (1.0 + 1e-9)
    np.testing.assert_allclose(kept[:, [0, 1, 2, 7]], q[:, [0, 1, 2, 7]], atol=1e-14)
    np.testing.assert_allclose(kept[:5, :7], q[:5, :7], atol=0.05)
    np.testing.assert_allclose(np.linalg.norm(kept[:, 3:7], axis=1), 1.0, atol=1e-12)


def test_a_hinge_takes_the_nearest_path() -> None:
    """As its numbers by themselves, to the rounding of its steps; the other hinge stays."""
    arm, rng = planar_arm(2), np.random.default_rng(4)
    q = np.cumsum(rng.normal(scale=0.2, size=(40, 2)), axis=0)
    kept, fast = limit_speeds(arm, q, 10.0, {"*": 100.0, arm.dof_names[0]: 1.2})
    assert fast.tolist() == [True, False]
    nearest = limit_changes(q[:, 0] - q[0, 0], 0.12) + q[0, 0]
    np.testing.assert_allclose(kept[:, 0], nearest, atol=1e-8)
    np.testing.assert_array_equal(kept[:, 1], q[:, 1])


def test_speeds_are_named_given_or_those_of_the_file() -> None:
    arm = planar_arm(2)
    with pytest.raises(UsageError, match="is known"):
        find_speeds(arm, "file")
    known = arm.with_max_speed({arm.dof_names[0]: 2.0})
    assert find_speeds(known, "file").tolist() == [2.0, np.inf]
    assert find_speeds(known, {arm.dof_names[1]: 3.0}).tolist() == [2.0, 3.0]
    assert find_speeds(known, 1.0).tolist() == [1.0, 1.0]
    for wrong, said in (("fast", "expected speeds or 'file'"), (-1.0, "above zero")):
        with pytest.raises(UsageError, match=said):
            find_speeds(arm, wrong)
    with pytest.raises(UnknownNameError):
        find_speeds(arm, {"wing": 1.0})


def test_a_recording_and_its_copy_keep_their_speeds() -> None:
    """In `track` and `retarget`: nothing is faster, and nothing else is changed."""
    motion = simulate_performance(2.0, 60.0, seed=3, acts=("punch", "kick"))
    rec = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False, seed=1)
    figure = rec.truth.skeleton
    free, bound = ik.track(figure, rec.markers), {"*": 1e3, "*forearm*": 3.0}
    kept = ik.track(figure, rec.markers, max_speed=bound)
    elbows = [k for k, name in enumerate(figure.dof_names) if "forearm" in name]
    speeds = [
        60.0 * np.abs(figure.difference(t.motion.q[1:], t.motion.q[:-1])) for t in (free, kept)
    ]
    assert speeds[0][:, elbows].max() > 4.0 > 3.0 * (1.0 + 1e-9) >= speeds[1][:, elbows].max()
    others = np.setdiff1d(np.arange(figure.nv), elbows)
    np.testing.assert_allclose(speeds[1][:, others], speeds[0][:, others], atol=1e-9)
    assert kept.mean_error > free.mean_error and kept.settings["max_speed"] == bound
    copied = ik.retarget(motion, ik.human(), max_speed=2.5)
    q, target = copied.motion.q, copied.motion.skeleton
    assert 60.0 * np.abs(target.difference(q[1:], q[:-1])).max() <= 2.5 * (1.0 + 1e-9)
    assert any("largest speeds: " in remark for remark in copied.remarks)
    assert (q >= target.lower - 1e-12).all() and (q <= target.upper + 1e-12).all()
    loop = ik.Loop("l_hand", "r_hand", kind="distance", distance=0.4)
    with pytest.raises(UsageError, match="beside closed loops"):
        ik.track(figure.with_loops(loop), rec.markers, max_speed=3.0)
