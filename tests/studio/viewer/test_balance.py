"""Balance: the support polygon, the centre of mass inside it or not, in words."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.model import BoneMass
from exactik.studio.viewer import (
    compute_balance,
    describe_balance,
    find_convex_hull,
    measure_margin,
)


def test_the_hull_of_a_cloud_is_its_corners():
    rng = np.random.default_rng(0)
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
    inner = rng.uniform((0.01, 0.01), (1.99, 0.99), (200, 2))
    edge = np.array([[1.0, 0.0], [2.0, 0.5]])  # on an edge: no corner
    hull = find_convex_hull(np.concatenate([inner, edge, corners, corners]))
    assert {tuple(corner) for corner in hull.tolist()} == {tuple(c) for c in corners.tolist()}
    ahead = np.roll(hull, -1, axis=0)
    area = 0.5 * float((hull[:, 0] * ahead[:, 1] - hull[:, 1] * ahead[:, 0]).sum())
    assert area == pytest.approx(2.0)  # anticlockwise
    assert len(find_convex_hull(np.array([[1.0, 1.0], [1.0, 1.0]]))) == 1
    assert len(find_convex_hull(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))) == 2
    assert find_convex_hull(np.empty((0, 2))).shape == (0, 2)


def test_the_margin_is_the_way_to_the_nearest_edge():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert measure_margin(square, np.array([0.5, 0.2])) == pytest.approx(0.2)
    assert measure_margin(square, np.array([1.5, 0.5])) == pytest.approx(-0.5)
    assert measure_margin(square, np.array([2.0, 2.0])) == pytest.approx(-np.sqrt(2.0))
    assert measure_margin(square[:2], np.array([0.5, 0.3])) == pytest.approx(-0.3)  # a line
    assert measure_margin(square[:1], np.array([0.0, 0.3])) == pytest.approx(-0.3)
    assert measure_margin(square[:0], np.zeros(2)) == -np.inf


@pytest.mark.parametrize(("bare", "margin"), [(False, 0.069), (True, 0.061)])
def test_a_standing_human_is_in_balance(bare: bool, margin: float):
    figure = ik.human().with_visuals(None) if bare else ik.human()
    balance = compute_balance(figure.forward(figure.neutral()))
    assert balance is not None
    assert balance.margin == pytest.approx(margin, abs=0.003)
    low, high = balance.support.min(axis=0), balance.support.max(axis=0)
    assert (high - low)[0] < 0.30  # feet, not shins
    assert describe_balance(balance).startswith("in balance")


def test_who_leans_falls_and_who_flies_stands_nowhere():
    figure = ik.human()
    q = figure.neutral()
    q[figure.dof_names.index("pelvis.ry")] = 0.3
    q[figure.dof_names.index("pelvis.tz")] -= 0.02
    assert "out of balance" in describe_balance(compute_balance(figure.forward(q)))
    q = figure.neutral()
    q[figure.dof_names.index("pelvis.tz")] += 0.5
    assert "nothing touches the floor" in describe_balance(compute_balance(figure.forward(q)))
    assert "nothing touches" not in describe_balance(compute_balance(figure.forward(q), floor=0.5))
    hand = ik.hand()
    assert compute_balance(hand.forward(hand.neutral())) is None
    assert "no masses" in describe_balance(None)


def test_what_is_bolted_down_cannot_fall():
    bone = ik.Bone("a", joint=ik.Joint.revolute("y"))
    arm = ik.Skeleton.build("arm", [bone], masses={"a": BoneMass(2.0, (1.0, 0.0, 0.5))})
    balance = compute_balance(arm.forward(arm.neutral()))
    assert balance is not None and len(balance.support) == 0
    np.testing.assert_allclose(balance.center, (1.0, 0.0, 0.5))
    assert "fixed to the world" in describe_balance(balance)
