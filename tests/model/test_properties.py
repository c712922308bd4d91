"""Properties over random trees: batches are single calls, and the order of listing is no matter."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from exactik import Goal, PostureGoal, Problem, Skeleton, SoftLimitGoal
from exactik.lab.check import random_problem, random_skeleton
from exactik.typing import Array
from tests.support.models import EVERY_JOINT, configuration, skeletons
from tests.support.problems import goals_of_every_kind, worst_difference

Indices = NDArray[np.int64]
ANYWHERE = tuple(EVERY_JOINT)
SEEDS = st.integers(0, 2**32 - 1)
SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@st.composite
def figures(draw: st.DrawFn) -> Skeleton:
    """Trees of the tests' own making, and those of `exactik check`."""
    if draw(st.booleans()):
        return draw(skeletons(joints=ANYWHERE, roots=ANYWHERE))
    return random_skeleton(np.random.default_rng(draw(SEEDS)))


@given(figures(), SHAPES, SEEDS)
def test_a_batch_is_its_single_calls_bit_for_bit(
    skeleton: Skeleton, lead: tuple[int, ...], seed: int
):
    """Forward kinematics, integrate and difference over any leading shape."""
    count = int(np.prod(lead))
    q, other = (
        np.array([configuration(skeleton, seed + at + n) for n in range(count)]) for at in (0, 1000)
    )
    q, other = (a.reshape(*lead, skeleton.nq) for a in (q, other))
    v = np.random.default_rng(seed).normal(size=(*lead, skeleton.nv))
    pose = skeleton.forward(q)
    moved, step = skeleton.integrate(q, v), skeleton.difference(other, q)
    n = len(skeleton.bones)
    assert pose.positions.shape == (*lead, n, 3)
    assert pose.rotations.shape == (*lead, n, 3, 3)
    assert pose.markers.shape == (*lead, len(skeleton.markers), 3)
    assert moved.shape == (*lead, skeleton.nq) and step.shape == (*lead, skeleton.nv)
    for at in np.ndindex(*lead):
        single = skeleton.forward(q[at])
        assert np.array_equal(pose.positions[at], single.positions)
        assert np.array_equal(pose.rotations[at], single.rotations)
        assert np.array_equal(moved[at], skeleton.integrate(q[at], v[at]))
        assert np.array_equal(step[at], skeleton.difference(other[at], q[at]))


def shuffle_bones(
    skeleton: Skeleton, rng: np.random.Generator
) -> tuple[Skeleton, Indices, Indices]:
    """The same bones listed in another order with parents first; where its q and v come from."""
    left, taken = list(skeleton.bones), []
    placed: set[str | None] = {None}
    while len(left) > 0:
        ready = [bone for bone in left if bone.parent in placed]
        bone = ready[int(rng.integers(len(ready)))]
        left.remove(bone)
        taken.append(bone)
        placed.add(bone.name)
    other = skeleton.with_bones(taken)
    assert other.bone_names == tuple(bone.name for bone in taken)

    def places(sizes: list[int], order: list[int]) -> Indices:
        starts = np.cumsum([0, *sizes])
        actual = [np.arange(starts[k], starts[k] + sizes[k]) for k in order]
        return np.concatenate(actual).astype(int)

    order = [skeleton.bone_index(bone.name) for bone in taken]
    counts = [
        np.diff(first[1:]).tolist() for first in (skeleton.tree.first_q, skeleton.tree.first_v)
    ]
    return other, places(counts[0], order), places(counts[1], order)


def relist_goal(goal: Goal, to_q: Indices, to_v: Indices) -> Goal:
    """The goal with rest posture and weights in the other order, where it has one row per dof."""
    if not isinstance(goal, PostureGoal | SoftLimitGoal):
        return goal
    weight = np.asarray(goal.weight, dtype=float)
    if weight.ndim > 0:
        weight = weight[to_v] if weight.ndim == 1 else weight[np.ix_(to_v, to_v)]
    if isinstance(goal, PostureGoal):
        return PostureGoal(np.asarray(goal.q_rest)[to_q], weight=weight)
    return SoftLimitGoal(weight=weight)


def check_order(skeleton: Skeleton, q: Array, goals: list[Goal], seed: int, **options: Any) -> None:
    other, to_q, to_v = shuffle_bones(skeleton, np.random.default_rng(seed))
    assert [skeleton.dof_names[i] for i in to_v] == list(other.dof_names)
    one = Problem(skeleton, goals, **options)
    two = Problem(other, [relist_goal(goal, to_q, to_v) for goal in goals], **options)
    x = np.random.default_rng(seed).normal(size=skeleton.nv)
    both = np.ix_(to_v, to_v)
    expected = {
        "cost": np.asarray(one.cost(q)),
        "gradient": one.gradient(q)[to_v],
        "gauss_newton": one.gauss_newton(q)[both],
        "hessian": one.hessian(q)[both],
        "hessian_product": one.hessian_product(q, x)[to_v],
    }
    at = q[to_q]
    actual = {
        "cost": np.asarray(two.cost(at)),
        "gradient": two.gradient(at),
        "gauss_newton": two.gauss_newton(at),
        "hessian": two.hessian(at),
        "hessian_product": two.hessian_product(at, x[to_v]),
    }
    # Sums over children run in another order. A quantity that nearly cancels keeps an error of the
    # size of its parts, for which the Gauss–Newton matrix and the cost are the measure.
    scale = 1.0 + float(np.abs(expected["gauss_newton"]).max(initial=0.0)) + one.cost(q)
    ones = {name: np.append(np.ravel(a), scale) for name, a in actual.items()}
    others = {name: np.append(np.ravel(a), scale) for name, a in expected.items()}
    error, name = worst_difference(ones, others)
    assert error <= 1e-12, f"{name} differs by {error:.1e}"


@given(figures(), SEEDS)
def test_the_order_in_which_bones_are_listed_does_not_matter(skeleton: Skeleton, seed: int):
    """Cost and derivatives of goals of every kind are the same, in the other order."""
    q = configuration(skeleton, seed % 1000)
    goals = goals_of_every_kind(skeleton, q, seed % 1000)
    check_order(skeleton, q, goals, seed, lock=skeleton.bone_names[-1])


@given(st.integers(0, 10_000), SEEDS)
def test_the_order_does_not_matter_for_random_problems(tree: int, seed: int):
    case = random_problem(77, tree)
    if case.weight_matrix is None and case.largest_log < 2.9:
        check_order(case.skeleton, case.q, list(case.goals), seed, limits=case.limits)
