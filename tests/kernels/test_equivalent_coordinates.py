"""Other coordinates of the same pose: nearer, and inside the limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactik as ik
from exactik.kernels.tree.equivalent_coordinates import to_nearest_equivalent, unwrap_coordinates
from exactik.lab.check import random_coordinates
from exactik.typing import Array
from tests.support.models import EVERY_JOINT, chain_of
from tests.support.problems import menagerie

TURNING = [name for name in EVERY_JOINT if EVERY_JOINT[name].nv > 0]


def box_of(skeleton: ik.Skeleton) -> tuple[Array, Array]:
    problem = ik.Problem(skeleton, [ik.PostureGoal(skeleton.neutral())])
    return problem.box.lower, problem.box.upper


def nearer(skeleton: ik.Skeleton, q: Array, near: Array) -> Array:
    out = np.array(q[None], order="C")
    to_nearest_equivalent(skeleton.tree, *box_of(skeleton), np.ascontiguousarray(near[None]), out)
    return out[0]


def apart(one: Array, two: Array) -> float:
    return float(np.abs(one - two).sum())


def assert_same_pose(skeleton: ik.Skeleton, one: Array, two: Array) -> None:
    a, b = skeleton.forward(one), skeleton.forward(two)
    assert np.abs(a.rotations - b.rotations).max() < 1e-12
    assert np.abs(a.positions - b.positions).max() < 1e-12


def assert_inside(skeleton: ik.Skeleton, q: Array) -> None:
    own = skeleton.plain_q >= 0
    values = q[skeleton.plain_q[own]]
    assert (values >= skeleton.lower[own]).all() and (values <= skeleton.upper[own]).all()


@pytest.mark.parametrize("name", TURNING)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_near_coordinates_of_the_same_pose(name: str, seed: int):
    rng, joint = np.random.default_rng(seed), EVERY_JOINT[name]
    skeleton = chain_of([joint], seed=1)
    q, near = (random_coordinates(rng, skeleton) for _ in range(2))
    if not skeleton.quaternions:
        near = near + rng.uniform(-10.0, 10.0, skeleton.nq)  # some turns away
    actual = nearer(skeleton, q, near)
    assert_same_pose(skeleton, actual, q)
    if joint.rotation_part.kind in ("exp_map", "quaternion"):
        assert np.linalg.norm(actual - near) <= np.linalg.norm(q - near) + 1e-9
    else:
        assert apart(actual, near) <= apart(q, near) + 1e-9


@given(seed=st.integers(0, 2**32 - 1))
def test_limits_are_kept(seed: int):
    rng, skeleton = np.random.default_rng(seed), menagerie()
    q = skeleton.clip(random_coordinates(rng, skeleton))
    near = random_coordinates(rng, skeleton)
    actual = nearer(skeleton, q, near)
    assert_same_pose(skeleton, actual, q)
    assert_inside(skeleton, actual)
    assert nearer(skeleton, actual, actual) == pytest.approx(actual, abs=1e-12)


@pytest.mark.parametrize("name", TURNING)
def test_what_is_near_already_stays_to_the_last_bit(name: str):
    skeleton = chain_of([EVERY_JOINT[name]], seed=1)
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = random_coordinates(rng, skeleton)
        assert nearer(skeleton, q, q) == pytest.approx(q, abs=1e-15)


@pytest.mark.parametrize("order", ["XYZ", "ZYX", "XZX", "YXY"])
def test_both_solutions_of_euler_angles(order: str):
    skeleton = chain_of([ik.Joint.euler(order)], seed=2)
    q = np.array([0.3, -0.7, 1.1])
    middle = -q[1] if order[0] == order[2] else np.pi - q[1]
    other = np.array([q[0] + np.pi, middle, q[2] - np.pi])
    assert_same_pose(skeleton, q, other)
    assert nearer(skeleton, other, q) == pytest.approx(q, abs=1e-12)
    assert nearer(skeleton, q, other + 4 * np.pi) == pytest.approx(other + 4 * np.pi, abs=1e-12)


@pytest.mark.parametrize("name", [n for n in TURNING if EVERY_JOINT[n].rotation_part.nv > 0])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_unwrapping_leaves_no_whole_turns(name: str, seed: int):
    """A smooth way whose coordinates were taken at random from those that say the same."""
    rng, joint = np.random.default_rng(seed), EVERY_JOINT[name]
    skeleton = chain_of([joint], seed=3)
    start, way = random_coordinates(rng, skeleton), rng.uniform(-0.02, 0.02, skeleton.nv)
    if joint.rotation_part.kind in ("exp_map", "swing_twist"):  # clear of where they are singular
        start = 0.3 * start / max(1.0, float(np.linalg.norm(start)))
    q = np.array([skeleton.integrate(start, t * way) for t in range(30)])
    scrambled = q.copy()
    spots = [int(j) for j in skeleton.plain_q[skeleton.turns] if j >= 0]
    for t in range(30):
        if joint.rotation_part.kind == "quaternion":
            scrambled[t, -4:] *= rng.choice([-1.0, 1.0])
        elif joint.rotation_part.kind == "exp_map":
            size = np.linalg.norm(q[t, spots])
            scrambled[t, spots] *= 1.0 + 2 * np.pi * rng.integers(-1, 2) / max(size, 1e-3)
            if size < 1e-3:
                scrambled[t, spots] = q[t, spots]
        elif joint.rotation_part.kind == "swing_twist":
            scrambled[t, spots[2]] += 2 * np.pi * rng.integers(-2, 3)
        else:
            scrambled[t, spots] += 2 * np.pi * rng.integers(-2, 3, len(spots))
    scrambled[0] = q[0]
    unwound = np.ascontiguousarray(scrambled)
    unwrap_coordinates(skeleton.tree, *box_of(skeleton), unwound)
    assert_same_pose(skeleton, unwound, q)
    assert np.abs(np.diff(unwound, axis=0)).max() < 0.3
