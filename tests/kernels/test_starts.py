"""Several descents of one problem: their order, what is kept of them, and the detour.

Against the same done once more in plain Python, one descent at a time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.descent.starts import is_on_limit, wrap_angles_into_limits
from exactik.solvers import CompiledMethod, descend, make_start_table
from exactik.typing import Array
from tests.support.adversaries import limit, random_chain
from tests.support.solver_problems import planar_chain, quaternion_arm

TURN = 2.0 * np.pi


class Expected(NamedTuple):
    """What a solve should answer."""

    q: Array
    cost: float
    slope: float
    ended: str
    counts: tuple[int, int, int]  # iterations, evaluations, attempts
    reached: bool


def on_limit(problem: ik.Problem, q: Array) -> bool:
    own = problem.skeleton.plain_q
    return bool(((q[own] <= problem.lower) | (q[own] >= problem.upper))[own >= 0].any())


def wrap(problem: ik.Problem, q: Array) -> Array:
    """Every closed range about its middle; half-open ones by whole turns into the range."""
    q = q.copy()
    for i, j in enumerate(problem.skeleton.plain_q):
        low, high = problem.lower[i], problem.upper[i]
        if j < 0 or problem.box.period[i] == 0.0 or problem.locked[i]:
            continue
        near = q[j] + TURN * np.arange(-9, 10)
        if np.isfinite(low) and np.isfinite(high):
            q[j] = near[np.abs(near - 0.5 * (low + high)).argmin()]
        elif q[j] < low or q[j] > high:
            inside = near[(near >= low - 1e-12) & (near <= high + 1e-12)]
            q[j] = inside[np.abs(inside - q[j]).argmin()]
    return q


def solve_by_hand(problem: ik.Problem, method: CompiledMethod, q0: Array, count: int) -> Expected:
    """All starts by their cost, the given one first among equals, then the detour."""
    rows = make_start_table(problem, count - 1, 0).q
    starts = [q0, *(np.where(np.isnan(row), q0, row) for row in rows)]
    costs = [problem.cost(start) for start in starts]
    ways = [(starts[k],) for k in np.argsort(costs, kind="stable")]
    best, iterations, evaluations, attempts, reached = None, 0, 0, 0, False
    detour = isinstance(method, ik.Auto) and method.detour
    for way in [*ways, *([(q0, None)] if detour else [])]:
        if len(way) == 2:
            assert best is not None
            if not on_limit(problem, best.q):
                break
            free = descend(problem, method, way[0], limited=False)
            iterations, evaluations = iterations + free.iterations, evaluations + free.evaluations
            way = (wrap(problem, free.q),)
        end = descend(problem, method, way[0])
        iterations, evaluations = iterations + end.iterations, evaluations + end.evaluations
        attempts += 1
        pose = problem.skeleton.forward(end.q)
        misses = [np.linalg.norm(pose.point(*g.watched_point(problem.skeleton)) - g.target)  # pyright: ignore
                  for g in problem.goals]  # fmt: skip
        reached = bool(np.max(misses) <= 1e-3)
        if best is None or reached or end.cost < (1 - 1e-9) * best.cost:
            best = end
        if reached:
            break
    assert best is not None
    counts = iterations, evaluations, attempts
    return Expected(best.q, best.cost, best.projected_gradient, best.ended, counts, reached)


def agree(result: ik.Result, expected: Expected) -> None:
    np.testing.assert_allclose(result.q, expected.q, atol=1e-12)
    assert result.cost == pytest.approx(expected.cost, rel=1e-12, abs=1e-30)
    assert result.projected_gradient == pytest.approx(expected.slope, rel=1e-6, abs=1e-12)
    assert result.ended == expected.ended and result.reached == expected.reached
    assert (result.iterations, result.evaluations, result.attempts) == expected.counts


@pytest.mark.parametrize("starts", [1, 2, 4])
@pytest.mark.parametrize("method", [ik.Auto(), ik.Auto(detour=False), ik.Newton(max_iterations=20)])
def test_starts_are_tried_by_their_cost_until_one_reaches(
    method: CompiledMethod, starts: int
) -> None:
    """Chains of three hinges with limits in the way; hinges that are locked stay where they are."""
    seen = {"first": 0, "later": 0, "never": 0}
    for seed in range(24 if starts == 1 else 12):
        rng = np.random.default_rng([seed, starts])
        chain = limit(rng, random_chain(rng, 3))
        pose = np.clip(rng.uniform(-2.0, 2.0, 3), chain.lower, chain.upper)
        target = chain.place(pose)[0].astype(float) if seed % 4 > 0 else chain.target
        chain = replace(chain, target=target, locked=(seed % 3 == 0, False, False))
        q0 = np.clip(rng.uniform(-2.0, 2.0, 3), chain.lower, chain.upper)
        q0[0] = pose[0]
        expected = solve_by_hand(chain.problem, method, q0, starts)
        agree(ik.solve(chain.problem, q0=q0, solver=method, starts=starts), expected)
        tries = expected.counts[2]
        seen["first" if tries == 1 else "later" if expected.reached else "never"] += 1
    assert seen["first"] > 0
    if starts > 1 or (isinstance(method, ik.Auto) and method.detour):
        assert seen["later"] + seen["never"] > 0, seen


def test_a_batch_is_its_problems_one_by_one() -> None:
    """Targets of their own, ranked anew for each; a quaternion among the dofs."""
    figure, rng = quaternion_arm(), np.random.default_rng(3)
    problem = ik.Problem(figure, ik.MarkerGoal("FINGER", (0, 0, 0)))
    targets = rng.uniform(-0.6, 0.6, size=(4, 3))
    batch = ik.solve_batch(problem, {"FINGER": targets}, starts=3)
    for k, target in enumerate(targets):
        one = problem.with_targets({"FINGER": target})
        expected = solve_by_hand(one, ik.Auto(), figure.neutral(), 3)
        np.testing.assert_allclose(batch.q[k], expected.q, atol=1e-12)
        assert batch.cost[k] == pytest.approx(expected.cost, rel=1e-12, abs=1e-30)
        assert bool(batch.reached[k]) == expected.reached
        assert int(batch.attempts[k]) == expected.counts[2]


def test_errors_are_those_of_the_answer() -> None:
    """Also where the last descent was worse than the one that is kept."""
    worse = 0
    for seed in range(30):
        rng = np.random.default_rng([seed, 9])
        chain = limit(rng, random_chain(rng, 3))
        q0 = np.clip(rng.uniform(-2.0, 2.0, 3), chain.lower, chain.upper)
        result = ik.solve(chain.problem, q0=q0, starts=3)
        r = chain.problem.residual(result.q)
        assert next(iter(result.goal_errors.values())) == pytest.approx(
            np.linalg.norm(r), rel=1e-12, abs=1e-15
        )
        worse += not result.reached
    assert worse > 3


# --- angles and limits


@pytest.mark.parametrize("limits", [(0.5, np.inf), (-np.inf, 0.5), (0.5, 1.0), (-9.0, 9.0)])
def test_angles_are_wrapped_into_their_range(limits: tuple[float, float]) -> None:
    """By as few whole turns as needed where the range is open to one side."""
    problem = ik.Problem(planar_chain(2, [limits, limits]), ik.MarkerGoal("HAND", (0.5, 0, 0)))
    for q in ((-20.0, 20.0), (0.6, -7.0), (3.0, 0.2), (0.5, 0.5), (0.5 - TURN, 0.5 + TURN)):
        actual = np.array(q)
        wrap_angles_into_limits(problem.box, actual)
        np.testing.assert_allclose(actual, wrap(problem, np.array(q)), atol=1e-12)


def test_slides_and_locked_angles_are_not_wrapped() -> None:
    bones = [
        ik.Bone("s", joint=ik.Joint.prismatic("x", limits=(0, 1))),
        ik.Bone("h", parent="s", joint=ik.Joint.revolute("z", limits=(0, np.inf))),
        ik.Bone("k", parent="h", joint=ik.Joint.revolute("z", limits=(0, 1))),
    ]
    figure = ik.Skeleton.build("slide", bones)
    goal = ik.PositionGoal("k", (1, 0, 0))
    for lock, moved in (((), True), (("h", "k"), False)):
        q = np.array([-20.0, -20.0, 20.0])
        wrap_angles_into_limits(ik.Problem(figure, goal, lock=lock).box, q)
        assert q[0] == -20.0 and (q[1:] != (-20.0, 20.0)).tolist() == [moved, moved]


@pytest.mark.parametrize(
    ("q", "touches"),
    [((0.1, 0.5), False), ((0.0, 0.5), True), ((0.5, 2.0), True), ((0.0, 2.0), True)],
)
def test_what_is_on_a_limit(q: tuple[float, float], touches: bool) -> None:
    problem = ik.Problem(planar_chain(2, [(0, 2), (0, 2)]), ik.MarkerGoal("HAND", (0.5, 0, 0)))
    assert is_on_limit(problem.box, np.array(q)) == touches
    free = ik.Problem(planar_chain(2), ik.MarkerGoal("HAND", (0.5, 0, 0)))
    assert not is_on_limit(free.box, np.array(q))
